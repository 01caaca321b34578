/** Entities: finding one by a name, making, renaming and deleting it, and what hangs on it. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { query, timestamp, uuid } from "../codecs.ts";
import { fixed, inScope, keyedInScope } from "./predicates.ts";

const Found = z.object({
  id: uuid,
  name: z.string(),
  entityType: z.string(),
  projectId: uuid.nullable(),
  projectName: z.string().nullable(),
});
export type FoundEntity = z.output<typeof Found>;

const found = sql`e.id, e.name, e.entity_type as "entityType", e.project_id as "projectId", p.name as "projectName"`;

/** Most namesakes that an answer could list; more are as ambiguous. */
const NAMESAKES = 20;

/** Entities of exactly this name in scope: at most one in a project; without one, the unscoped first, then the oldest. */
export const entitiesNamed = query(
  Found,
  (q: { name: string; scope: Scope }) => sql`
  select ${found}
  from brain_entities as e
  left join brain_projects as p on p.id = e.project_id
  where e.name = ${q.name}::text and ${keyedInScope("e", q.scope)}
  order by e.project_id is not null, e.created_at, e.id
  limit ${fixed(NAMESAKES)}`,
);

/**
 * Entities in scope that an alias or the key of a name leads to.
 * Plan: the alias or the key first. The order begins with what no index holds, and the entity of an alias is looked up one by one: the index by
 * date, walked until it meets the name, is a plan that suits an empty table and reads every entity of a full one.
 */
export const entitiesAlsoNamed = query(
  Found.extend({ by: z.enum(["alias", "normalized"]) }),
  (q: { name: string; nameKey: string; scope: Scope }) => sql`
  select ${found}, e.by
  from (
    (select e.id, e.name, e.entity_type, e.project_id, e.created_at, 'alias' as by
     from brain_entity_aliases as a
     cross join lateral (select n.* from brain_entities as n where n.id = a.entity_id and ${keyedInScope("n", q.scope)} offset 0) as e
     where a.alias_text = ${q.name}::text
     order by e.project_id is not null, e.created_at, e.id
     limit ${fixed(NAMESAKES)})
    union all
    (select e.id, e.name, e.entity_type, e.project_id, e.created_at, 'normalized'
     from brain_entities as e
     where e.name_key = ${q.nameKey}::text and e.name_key <> '' and ${keyedInScope("e", q.scope)}
     order by e.project_id is not null, e.created_at, e.id
     limit ${fixed(NAMESAKES)})
  ) as e
  left join brain_projects as p on p.id = e.project_id
  order by e.by, e.project_id is not null, e.created_at, e.id`,
);

/** Other entities in scope whose name has the same key. */
export const entitiesWithKey = query(
  z.object({ name: z.string() }),
  (q: { nameKey: string; except: string; scope: Scope }) => sql`
  select e.name from brain_entities as e
  where e.name_key = ${q.nameKey}::text and e.name_key <> '' and e.name <> ${q.except}::text and ${inScope("e", q.scope)}
  order by e.created_at, e.id
  limit ${NAMESAKES}::int`,
);

/**
 * False for an entity whose every observation and episode is withheld: it came into being through text that nobody vouches for, so it is
 * no suggestion and no node of a metric until one of them is promoted (`tools-graph.md` §3.5).
 */
export function isVouchedFor(alias: string): SQL {
  const id = sql.raw(`${alias}.id`);
  // Not `exists`: the planner may answer that from a table of every entity, read whole for each page of a walk (100 ms at 100,000 observations).
  const found = (table: string, trust: string) => sql`(
    select true from ${sql.raw(table)} as w where w.entity_id = ${id} and w.trust = ${sql.raw(`'${trust}'`)} limit 1)`;
  const has = (trust: string) => sql`coalesce(${found("brain_observations", trust)}, ${found("brain_episodes", trust)}, false)`;
  return sql`(${has("trusted")} or not ${has("quarantined")})`;
}

/** A name at least this similar is worth suggesting (`tools-graph.md` §3.3). */
const SUGGESTION_SIMILARITY = 0.4;
const SUGGESTIONS = 5;

/** Names of entities in scope whose name or alias resembles a name, best first. */
export const suggestNames = query(
  z.object({ name: z.string() }),
  (q: { name: string; scope: Scope }) => sql`
  select near.name
  from (
    select e.name, similarity(e.name, ${q.name}::text) as similarity from brain_entities as e where ${inScope("e", q.scope)} and ${isVouchedFor("e")}
    union all
    select e.name, similarity(a.alias_text, ${q.name}::text)
    from brain_entity_aliases as a join brain_entities as e on e.id = a.entity_id
    where ${inScope("e", q.scope)} and ${isVouchedFor("e")}
  ) as near
  where near.similarity > ${SUGGESTION_SIMILARITY}::float8
  group by near.name
  order by max(near.similarity) desc, near.name
  limit ${SUGGESTIONS}::int`,
);

export interface NewEntity {
  readonly name: string;
  readonly nameKey: string;
  readonly entityType: string;
  readonly projectId: string | null;
  readonly lexical: string;
}

/** Makes an entity; no row where another has the name in this project by now: two writers that meet here both go on with the one row. */
export const insertEntity = query(
  z.object({ id: uuid }),
  (q: NewEntity) => sql`
  insert into brain_entities (name, name_key, entity_type, project_id, lexical)
  values (${q.name}::text, ${q.nameKey}::text, ${q.entityType}::text, ${q.projectId}::uuid, ${q.lexical}::text)
  on conflict on constraint uq_brain_entities_name_project do nothing
  returning id`,
);

/** The entity of this name in exactly this project (null: in none). */
export const entityOf = query(
  z.object({ id: uuid, entityType: z.string() }),
  (q: { name: string; projectId: string | null }) => sql`
  select e.id, e.entity_type as "entityType" from brain_entities as e
  where e.name = ${q.name}::text and e.project_id is not distinct from ${q.projectId}::uuid`,
);

export const entityDetails = query(
  z.object({
    importance: z.number(),
    accessCount: z.int(),
    createdAt: timestamp,
    aliases: z.array(z.string()),
  }),
  (q: { id: string }) => sql`
  select e.importance, e.access_count as "accessCount", e.created_at as "createdAt",
         array(select a.alias_text from brain_entity_aliases as a where a.entity_id = e.id order by a.created_at, a.alias_text limit 50) as aliases
  from brain_entities as e
  where e.id = ${q.id}::uuid`,
);

/** New name and type of an entity; `lexical` prepared from both. */
export const updateEntity = (q: { id: string; name: string; nameKey: string; entityType: string; lexical: string }) => sql`
  update brain_entities
  set name = ${q.name}::text, name_key = ${q.nameKey}::text, entity_type = ${q.entityType}::text, lexical = ${q.lexical}::text, updated_at = now()
  where id = ${q.id}::uuid`;

export const insertAlias = (q: { entityId: string; alias: string }) => sql`
  insert into brain_entity_aliases (entity_id, alias_text) values (${q.entityId}::uuid, ${q.alias}::text)
  on conflict (entity_id, alias_text) do nothing`;

export const deleteAlias = (q: { entityId: string; alias: string }) => sql`
  delete from brain_entity_aliases where entity_id = ${q.entityId}::uuid and alias_text = ${q.alias}::text`;

/** Vectors carry the entity's name and type as a prefix: after a change of either they stand for a text that is no longer there. */
export const clearVectorsOf = (entityId: string): SQL[] => [
  sql`
  update brain_observation_chunks as c set embedding = null, embedding_model = null
  from brain_observations as o
  where o.id = c.observation_id and o.entity_id = ${entityId}::uuid and c.embedding is not null`,
  sql`update brain_observations set embedding = null, embedding_model = null where entity_id = ${entityId}::uuid and embedding is not null`,
  sql`update brain_episodes set embedding = null, embedding_model = null where entity_id = ${entityId}::uuid and embedding is not null`,
];

/** What goes with an entity when it is deleted. */
export const attachedTo = query(
  z.object({ observations: z.int(), episodes: z.int(), relations: z.int(), facts: z.int(), aliases: z.int() }),
  (q: { id: string }) => sql`
  select (select count(*) from brain_observations where entity_id = ${q.id}::uuid)::int as observations,
         (select count(*) from brain_episodes where entity_id = ${q.id}::uuid)::int as episodes,
         (select count(*) from brain_relations where ${q.id}::uuid in (from_entity, to_entity))::int as relations,
         (select count(*) from brain_facts as f where f.subject_entity_id = ${q.id}::uuid)::int as facts,
         (select count(*) from brain_entity_aliases where entity_id = ${q.id}::uuid)::int as aliases`,
);

export const deleteEntity = (q: { id: string; scope: Scope }) => sql`
  delete from brain_entities as e where e.id = ${q.id}::uuid and ${keyedInScope("e", q.scope)}`;
