/** What a consolidation cycle may put to a language model, and marking what came of it. Only what somebody vouches for is ever shown to a model. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { int8, query, textArray, timestamp, uuid, uuidArray } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { isServed } from "./predicates.ts";

/** A row that failed so often is parked: shown by `doctor`, asked about no more until its text changes. */
export const MOST_ATTEMPTS = 8;
/** Candidates that are looked at for one batch; the queue is ordered by an index up to here. */
const CANDIDATES = 500;

/** Entities without any relation, of which something is known that no scan has seen. Fewest attempts first, then never scanned, then longest ago. */
const unscanned: SQL = sql`
  select e.id, e.name, e.entity_type, e.project_id, e.relation_scan_attempts as attempts, e.relations_scanned_at as scanned_at
  from brain_entities as e
  where e.relation_scan_attempts < ${MOST_ATTEMPTS}::int
    and not exists (select from brain_relations as r where r.from_entity = e.id)
    and not exists (select from brain_relations as r where r.to_entity = e.id)
    and exists (select from brain_observations as o where o.entity_id = e.id and ${isServed("o")}
                and (e.relations_scanned_at is null or o.created_at > e.relations_scanned_at))
  order by e.relation_scan_attempts, e.relations_scanned_at nulls first, e.created_at desc, e.id
  limit ${CANDIDATES}::int`;

export const entitiesToScan = query(
  z.object({ id: uuid, name: z.string(), entityType: z.string(), projectId: uuid.nullable() }),
  (q: { limit: number }) => sql`
  select c.id, c.name, c.entity_type as "entityType", c.project_id as "projectId"
  from (${unscanned}) as c
  order by c.attempts, c.scanned_at nulls first, (select count(*) from brain_observations as o where o.entity_id = c.id and ${isServed("o")}) desc, c.id
  limit ${q.limit}::int`,
);

/** How many wait, counted up to the candidates of one batch. */
export const entitiesWaiting = query(z.object({ count: int8 }), () => sql`select count(*) as count from (${unscanned}) as c`);

/** The newest trusted texts of an entity, and the moment of this look: what is written after it has not been seen. */
export const textsToScan = query(
  z.object({ id: uuid, content: z.string(), seenAt: timestamp }),
  (q: { entityId: string; limit: number }) => sql`
  select o.id, o.content, now() as "seenAt" from brain_observations as o
  where o.entity_id = ${q.entityId}::uuid and ${isServed("o")}
  order by o.created_at desc, o.id
  limit ${q.limit}::int`,
);

/** The best linked names of a project, for a model to use again; a name that only withheld text speaks of is none. */
export const bestLinkedNames = query(
  z.object({ name: z.string() }),
  (q: { projectId: string | null; limit: number }) => sql`
  select e.name
  from (select u.id, count(*) as degree
        from (select from_entity as id from brain_relations union all select to_entity from brain_relations) as u group by u.id) as d
  join brain_entities as e on e.id = d.id
  where e.project_id is not distinct from ${q.projectId}::uuid and ${isVouchedFor("e")}
  order by d.degree desc, e.name, e.id
  limit ${q.limit}::int`,
);

/**
 * Those of the texts that were read which are there as they were, kept so until the transaction ends. Their entity first, which is written too, as whoever
 * forgets it does: held the other way round, the two would wait for each other.
 */
export const keptTexts = query(
  z.object({ id: uuid }),
  (q: { ids: readonly string[]; contents: readonly string[] }) => sql`
  select o.id from brain_observations as o
  join unnest(${uuidArray(q.ids)}, ${textArray(q.contents)}) as seen(id, content) on seen.id = o.id and seen.content = o.content
  join brain_entities as e on e.id = o.entity_id
  where ${isServed("o")}
  order by o.id
  for no key update of e for share of o`,
);

/** Which of these names an entity of the project has. */
export const namesThere = query(
  z.object({ name: z.string() }),
  (q: { names: readonly string[]; projectId: string | null }) => sql`
  select e.name from brain_entities as e
  where e.project_id is not distinct from ${q.projectId}::uuid and e.name = any(${textArray(q.names)})
  order by e.name`,
);

export const markScanned = (q: { id: string; seenAt: string }) => sql`
  update brain_entities set relations_scanned_at = ${q.seenAt}::timestamptz, relation_scan_attempts = 0 where id = ${q.id}::uuid`;

export const scanFailed = (id: string) => sql`
  update brain_entities set relation_scan_attempts = relation_scan_attempts + 1 where id = ${id}::uuid`;

/** Trusted texts that no model has read yet, fewest attempts first, then oldest. What a model wrote is never read again. Plan: idx_obs_unextracted. */
export const textsToExtract = query(
  z.object({ id: uuid, content: z.string(), subject: z.string(), projectId: uuid.nullable() }),
  (q: { limit: number }) => sql`
  select o.id, o.content, e.name as subject, o.project_id as "projectId"
  from brain_observations as o
  join brain_entities as e on e.id = o.entity_id
  where o.extracted_at is null and ${isServed("o")} and o.source not in ('inference', 'consolidation')
    and o.extraction_attempts < ${MOST_ATTEMPTS}::int
  order by o.extraction_attempts, o.created_at, o.id
  limit ${q.limit}::int`,
);

/** Whether a text may still be shown to a model: it may have been forgotten, withheld or rewritten since its batch was read. */
export const isStillThere = query(
  z.object({ id: uuid }),
  (q: { id: string; content: string }) => sql`
  select o.id from brain_observations as o where o.id = ${q.id}::uuid and o.content = ${q.content}::text and ${isServed("o")}`,
);

/** Only while it says what was read: a text that was changed meanwhile waits again. */
export const markExtracted = (q: { id: string; content: string }) => sql`
  update brain_observations as o set extracted_at = now() where o.id = ${q.id}::uuid and o.content = ${q.content}::text and ${isServed("o")}`;

export const extractionFailed = (id: string) => sql`
  update brain_observations set extraction_attempts = extraction_attempts + 1 where id = ${id}::uuid`;

/** Rows that a model failed on too often. */
export const parked = query(
  z.object({ entities: int8, observations: int8 }),
  () => sql`
  select (select count(*) from brain_entities where relation_scan_attempts >= ${MOST_ATTEMPTS}::int) as entities,
         (select count(*) from brain_observations where extraction_attempts >= ${MOST_ATTEMPTS}::int and extracted_at is null) as observations`,
);
