/** Taking a fold apart again: the rows that the snapshot names go back to the entity that went. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { json, query, textArray, uuid, uuidArray } from "../codecs.ts";

/** Losers that are not there, and whether their name is free in their project. */
export const foldedAway = query(
  z.object({ id: uuid, taken: z.boolean(), left: z.boolean() }),
  (q: { entities: readonly unknown[] }) => sql`
  select was.id,
    exists (select from brain_entities as e where e.name = was.name and e.project_id is not distinct from was.project_id) as taken,
    exists (
      select from brain_tombstones as t join brain_sync_exports as s on s.exported_at >= t.deleted_at
      where t.table_name = 'brain_entities' and t.row_id = was.id) as left
  from jsonb_populate_recordset(null::brain_entities, ${json(q.entities)}) as was
  where not exists (select from brain_entities as e where e.id = was.id)
  order by was.id`,
);

/** Locked: nobody writes to them while something is taken out. */
export const lockedWinners = query(
  z.object({ id: uuid, name: z.string(), aliases: z.array(z.string()) }),
  (q: { ids: readonly string[] }) => sql`
  select e.id, e.name, array(select a.alias_text from brain_entity_aliases as a where a.entity_id = e.id order by a.alias_text) as aliases
  from brain_entities as e where e.id = any(${uuidArray(q.ids)}) order by e.id for update of e`,
);

export interface Unfold {
  readonly loser: string;
  readonly name: string;
  /** The entities that its rows may lie under now: the one it went into, and those that one went into. */
  readonly holders: readonly string[];
  readonly aliases: readonly string[];
  /** Names that led to the winner before the fold: they stay its own. */
  readonly winnerAliases: readonly string[];
  readonly observations: readonly string[];
  readonly episodes: readonly string[];
  readonly facts: readonly string[];
  readonly relations: readonly unknown[];
  /** What had become the loser by an earlier fold. */
  readonly syncAliases: readonly string[];
}

/** Statements in the order in which they run. */
export interface Unfolding {
  readonly before: readonly SQL[];
  /** Takes the observations back; touches as many as are still there. */
  readonly observations: SQL;
  readonly after: readonly SQL[];
}

/** For one loser that is there again, in one transaction. What was moved on or deleted since stays as it is. */
export function unfoldEntity(q: Unfold): Unfolding {
  const holders = uuidArray(q.holders);
  const mine = sql`entity_id = any(${holders})`;
  const names = [q.name, ...q.aliases].filter((name) => !q.winnerAliases.includes(name));
  const before = [
    sql`delete from brain_entity_aliases where ${mine} and alias_text = any(${textArray(names)})`,
    sql`
  insert into brain_entity_aliases (entity_id, alias_text)
  select ${q.loser}::uuid, a.name from unnest(${textArray(q.aliases)}) as a(name) on conflict (entity_id, alias_text) do nothing`,
    // Vectors carry the entity's name as a prefix.
    sql`
  update brain_observation_chunks as c set embedding = null, embedding_model = null
  from brain_observations as o
  where c.observation_id = o.id and o.id = any(${uuidArray(q.observations)}) and o.entity_id = any(${holders})`,
  ];
  const observations = sql`
  update brain_observations set entity_id = ${q.loser}::uuid, embedding = null, embedding_model = null
  where id = any(${uuidArray(q.observations)}) and ${mine}`;
  const after = [
    sql`
  update brain_episodes set entity_id = ${q.loser}::uuid, embedding = null, embedding_model = null
  where id = any(${uuidArray(q.episodes)}) and ${mine}`,
    sql`
  update brain_facts set subject_entity_id = ${q.loser}::uuid, subject = ${q.name}::text
  where fact_id = any(${uuidArray(q.facts)}) and subject_entity_id = any(${holders})`,
    // A relation that was redirected goes back under its own id; one that was dropped for an equal one comes back beside it.
    sql`
  delete from brain_relations as r using jsonb_populate_recordset(null::brain_relations, ${json(q.relations)}) as was
  where r.id = was.id and (r.from_entity = any(${holders}) or r.to_entity = any(${holders}))`,
    sql`
  insert into brain_relations (id, from_entity, to_entity, relation_type, strength, bidirectional, provenance, project_id, last_traversed, created_at)
  select was.id, was.from_entity, was.to_entity, was.relation_type, was.strength, was.bidirectional, was.provenance, was.project_id,
         was.last_traversed, was.created_at
  from jsonb_populate_recordset(null::brain_relations, ${json(q.relations)}) as was
  where exists (select from brain_entities as e where e.id = was.from_entity) and exists (select from brain_entities as e where e.id = was.to_entity)
  on conflict do nothing`,
    sql`delete from brain_sync_id_aliases where table_name = 'brain_entities' and old_id = ${q.loser}::uuid`,
    sql`
  update brain_sync_id_aliases set new_id = ${q.loser}::uuid
  where table_name = 'brain_entities' and old_id = any(${uuidArray(q.syncAliases)}) and new_id = any(${holders})`,
    sql`
  delete from brain_tombstones
  where (table_name = 'brain_entities' and row_id = ${q.loser}::uuid)
     or (table_name = 'brain_relations' and row_id in (select was.id from jsonb_populate_recordset(null::brain_relations, ${json(q.relations)}) as was))`,
  ];
  return { before, observations, after };
}
