/** What `dedupe` looks at and changes besides the fold itself (`entity-merge.ts`). */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { int8, query, textArray, uuid, uuidArray } from "../codecs.ts";
import { codeTypes } from "./codegraph.ts";
import { isVouchedFor } from "./entities.ts";
import { inScope, isServed } from "./predicates.ts";
import { inSpan, type Window } from "./windows.ts";

const Candidate = z.object({
  id: uuid,
  name: z.string(),
  nameKey: z.string(),
  projectId: uuid.nullable(),
  projectName: z.string().nullable(),
  observations: int8,
});
/** An entity as somebody who looks for doubles sees it. */
export type EntityCandidate = z.output<typeof Candidate>;

const columns = (counted: SQL) => sql`e.id, e.name, e.name_key as "nameKey", e.project_id as "projectId",
  (select p.name from brain_projects as p where p.id = e.project_id) as "projectName",
  (select count(*) from brain_observations as o where o.entity_id = e.id and ${counted}) as observations`;
/** What a person is shown and what decides who stays are the rows that can be seen; what moves are all. */
const seen = columns(isServed("o"));
const all = columns(sql`true`);

/**
 * Names of code are exact: `getName` and `get_name` are two functions. A name that only withheld text speaks of was written by a stranger, who would
 * choose so what is proposed; it waits with that text.
 */
export const candidatesIn = query(
  Candidate,
  (q: Window & { scope: Scope }) => sql`
  select ${seen} from brain_entities as e
  where ${inSpan("e", q)} and e.entity_type <> all(${textArray(codeTypes)}) and ${inScope("e", q.scope)} and ${isVouchedFor("e")} order by e.id`,
);

export const candidatesNamed = query(
  Candidate,
  (q: { name: string; scope: Scope }) => sql`
  select ${seen} from brain_entities as e where e.name = ${q.name}::text and ${inScope("e", q.scope)} order by e.id`,
);

/** Two entities, locked: nobody writes to them while one is folded into the other. */
export const lockedPair = query(
  Candidate,
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select ${all} from brain_entities as e where e.id = any(${uuidArray(q.ids)}) and ${inScope("e", q.scope)} order by e.id for update of e`,
);

/** Everything that a fold moves or drops, as it stands: the rows by id, and whole where they go. Of the winner what tells its own from what it is given. */
export const foldSnapshot = query(
  z.object({
    entity: z.unknown(),
    aliases: z.unknown(),
    relations: z.unknown(),
    observations: z.unknown(),
    episodes: z.unknown(),
    facts: z.unknown(),
    syncAliases: z.unknown(),
    winnerAliases: z.unknown(),
  }),
  (q: { loser: string; winner: string; scope: Scope }) => sql`
  select to_jsonb(e) - 'search_vector' - 'lexical_length' as entity,
    (select coalesce(jsonb_agg(a.alias_text order by a.alias_text), '[]') from brain_entity_aliases as a where a.entity_id = e.id) as aliases,
    (select coalesce(jsonb_agg(to_jsonb(r) order by r.id), '[]') from brain_relations as r where e.id in (r.from_entity, r.to_entity)) as relations,
    (select coalesce(jsonb_agg(o.id order by o.id), '[]') from brain_observations as o where o.entity_id = e.id) as observations,
    (select coalesce(jsonb_agg(s.id order by s.id), '[]') from brain_episodes as s where s.entity_id = e.id) as episodes,
    (select coalesce(jsonb_agg(f.fact_id order by f.fact_id), '[]') from brain_facts as f where f.subject_entity_id = e.id) as facts,
    (select coalesce(jsonb_agg(s.old_id order by s.old_id), '[]') from brain_sync_id_aliases as s
      where s.table_name = 'brain_entities' and s.new_id = e.id) as "syncAliases",
    (select coalesce(jsonb_agg(a.alias_text order by a.alias_text), '[]') from brain_entity_aliases as a
      where a.entity_id = ${q.winner}::uuid) as "winnerAliases"
  from brain_entities as e where e.id = ${q.loser}::uuid and ${inScope("e", q.scope)}`,
);

/** Peers learn from it that the loser's rows are the winner's; what once led to the loser leads to the winner. */
export const rememberFold = (q: { loser: string; winner: string }) => [
  sql`
  update brain_sync_id_aliases set new_id = ${q.winner}::uuid
  where table_name = 'brain_entities' and new_id = ${q.loser}::uuid and old_id <> ${q.winner}::uuid`,
  sql`
  insert into brain_sync_id_aliases (table_name, old_id, new_id) values ('brain_entities', ${q.loser}::uuid, ${q.winner}::uuid)
  on conflict (table_name, old_id) do update set new_id = excluded.new_id`,
];

/** For the test that every key to an entity is moved: the columns that refer to it, from the catalogue. */
export const keysToEntities = query(
  z.object({ column: z.string() }),
  () => sql`
  select c.relname || '.' || a.attname as column
  from pg_constraint as k
  join pg_class as c on c.oid = k.conrelid
  join pg_attribute as a on a.attrelid = k.conrelid and a.attnum = any(k.conkey)
  where k.contype = 'f' and k.confrelid = 'brain_entities'::regclass
  order by 1`,
);
