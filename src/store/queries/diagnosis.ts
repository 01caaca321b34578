/** What `doctor` asks the database. Reads catalogues and counts; none of it changes a row. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { float8, int8, query, textArray } from "../codecs.ts";
import { VECTOR_COLUMNS } from "../vectors.ts";

/** Versions of the extensions that we need; null where one is not there. */
export const installedExtensions = query(
  z.object({ name: z.string(), version: z.string().nullable() }),
  (q: { readonly names: readonly string[] }) => sql`
  select wanted.name, e.extversion as version
  from unnest(${textArray(q.names)}) as wanted(name)
  left join pg_extension as e on e.extname = wanted.name
  order by wanted.name`,
);

/** Encoding and character classes of this database. */
export const databaseLocale = query(
  z.object({ server: z.string(), encoding: z.string(), ctype: z.string() }),
  () => sql`
  select current_setting('server_version') as server, pg_encoding_to_char(encoding) as encoding, coalesce(datlocale, datctype)::text as ctype
  from pg_database where datname = current_database()`,
);

/** The same for servers before 17, where the provider's locale is called otherwise. */
export const databaseLocaleBefore17 = query(
  z.object({ server: z.string(), encoding: z.string(), ctype: z.string() }),
  () => sql`
  select current_setting('server_version') as server, pg_encoding_to_char(encoding) as encoding, datctype::text as ctype
  from pg_database where datname = current_database()`,
);

/** Trigrams of a Chinese word: none where the locale knows ASCII letters only. */
export const chineseTrigrams = query(z.object({ n: int8 }), () => sql`select coalesce(array_length(show_trgm('数据库'), 1), 0) as n`);

/** Those of `names` that are tables of the schema. */
export const existingTables = query(
  z.object({ name: z.string() }),
  (q: { readonly names: readonly string[] }) => sql`
  select relname::text as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname = any(${textArray(q.names)})
  order by relname`,
);

/** The function that makes a question of many words an OR; without it such a question finds nothing, silently. */
export const orQuery = query(
  z.object({ words: z.string().nullable() }),
  () => sql`
  select case when to_regproc('public.cuba_or_tsquery') is null then null
              else (select cuba_or_tsquery('alpha beta')::text) end as words`,
);

/** Every vector column, with its length; -1 where it has none. */
export const vectorColumns = query(
  z
    .object({ table_name: z.string(), column_name: z.string(), dimensions: int8 })
    .transform((row) => ({ column: `${row.table_name}.${row.column_name}`, dimensions: row.dimensions })),
  () => sql.raw(VECTOR_COLUMNS),
);

/** Rows that search serves by vector: how many wait for one, and how many have another model's. */
export const embeddingCounts = query(
  z.object({ total: int8, missing: int8, foreign: int8 }),
  (q: { readonly model: string }) => sql`
  select count(*) as total,
         count(*) filter (where embedding is null) as missing,
         count(*) filter (where embedding_model <> ${q.model}::text) as foreign
  from brain_observations
  where observation_type <> 'superseded'`,
);

/** Vectors of a model that search serves and its signs do not have, and signs of what it does not serve; no row before signs are taken. */
export const signCounts = query(
  z.object({ signed: int8, missing: int8, strange: int8 }),
  (q: { readonly model: string }) => sql`
  select (select count(*) from brain_vector_signs as s where s.center = c.id) as signed,
         (select count(*) from brain_served_vectors(c.label) as v where not exists (
           select from brain_vector_signs as s
           where s.center = c.id and s.kind = v.kind and s.project_key = v.project_key and s.row_id = v.id)) as missing,
         (select count(*) from brain_vector_signs as s where s.center = c.id and not exists (
           select from brain_served_vectors(c.label) as v where v.kind = s.kind and v.project_key = s.project_key and v.id = s.row_id)) as strange
  from brain_vector_centers as c where c.label = ${q.model}::text`,
);

/** Facts whose validity ends before it begins. Equal bounds are legal: known and refuted in one moment. */
export const invertedFacts = query(z.object({ n: int8 }), () => sql`select count(*) as n from brain_facts where valid_to < valid_from`);

/** Columns that exist, of those asked for as `table.column`. */
export const existingColumns = query(
  z.object({ column: z.string() }),
  (q: { readonly names: readonly string[] }) => sql`
  select c.relname || '.' || a.attname as column
  from pg_attribute as a
  join pg_class as c on c.oid = a.attrelid and c.relnamespace = 'public'::regnamespace
  where a.attnum > 0 and not a.attisdropped and c.relname || '.' || a.attname = any(${textArray(q.names)})
  order by 1`,
);

/** The role that statements run as, the one that logged in, and whether the unprivileged role stands ready. */
export const roleFacts = query(
  z.object({ name: z.string(), login: z.string(), superuser: z.boolean(), bypasses: z.boolean(), appReady: z.boolean() }),
  () => sql`
  select r.rolname::text as name, session_user::text as login, r.rolsuper as superuser, r.rolbypassrls as bypasses,
         exists (select from pg_roles as app where app.rolname = 'cuba_app' and app.rolcanlogin and not app.rolsuper and not app.rolbypassrls)
           as "appReady"
  from pg_roles as r where r.rolname = current_user`,
);

/** The audit log as the runtime role may write it; false is right. */
export const auditPrivileges = query(
  z.object({ changes: z.boolean() }),
  () => sql`
  select has_table_privilege('brain_audit_log', 'update') or has_table_privilege('brain_audit_log', 'delete') as changes`,
);

/** Principals that may log in. */
export const principalCount = query(z.object({ n: int8 }), () => sql`select count(*) as n from brain_principals where disabled_at is null`);

/** How much there is. */
export const corpusSize = query(
  z.object({ entities: int8, observations: int8, relations: int8, episodes: int8, errors: int8, bytes: int8 }),
  () => sql`
  select (select count(*) from brain_entities) as entities,
         (select count(*) from brain_observations) as observations,
         (select count(*) from brain_relations) as relations,
         (select count(*) from brain_episodes) as episodes,
         (select count(*) from brain_errors) as errors,
         pg_database_size(current_database()) as bytes`,
);

/** Entities without any relation, in [0, 1]; null where there is no entity. */
export const isolatedShare = query(
  z.object({ entities: int8, share: float8.nullable() }),
  () => sql`
  select count(*) as entities,
    avg(case when exists (select from brain_relations as r where r.from_entity = e.id or r.to_entity = e.id) then 0 else 1 end)::float8 as share
  from brain_entities as e`,
);
