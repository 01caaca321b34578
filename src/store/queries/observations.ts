/** Observations: what the duplicate gate looks at, storing, retiring and deleting. Lists are in observations-lists.ts. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { RECENT_ROWS } from "../../domain/duplicate-gate.ts";
import type { Scope } from "../../kernel/context.ts";
import { json, query, textArray, timestamp, uuid, uuidArray } from "../codecs.ts";
import { fixed, keyedInScope } from "./predicates.ts";

/** Rows of one mark that are looked at, newest first: a template repeated a thousand times costs no more than five of them. */
const SAME_MARK_ROWS = 5;
/** Rows less similar than this can be neither refused, reinforced nor flagged (the lowest threshold of the gate is 0.80). */
const GATE_SIMILARITY = 0.75;

/** A new text and the entity it is meant for. */
export interface GateItem {
  readonly index: number;
  readonly entityId: string;
  readonly content: string;
}

const marked = (scope: Scope, mark: "words_mark" | "head_mark" | "tail_mark") => sql`(
      select o.id, o.content, o.trust, o.embedding is not null as embedded
      from brain_observations as o
      where o.entity_id = i.entity_id and o.${sql.raw(mark)} = m.${sql.raw(mark)} and o.observation_type <> 'superseded' and ${keyedInScope("o", scope)}
      order by o.created_at desc, o.id
      limit ${fixed(SAME_MARK_ROWS)})`;

/**
 * Live rows of the same entity that could be the same as a new text, or close to it, with their trigram similarity.
 * Plan: three index scans of five rows a text, whatever the size of the entity (`0070`), and no other visit to the table; `entity_id = …`
 * and `…_mark = …` are leakproof, so row security lets them use the index. Kept honest by observations-plans.test.ts.
 */
export const gateCandidates = query(
  z.object({
    index: z.int(),
    id: uuid,
    content: z.string(),
    trust: z.enum(["trusted", "quarantined"]),
    similarity: z.number(),
    ready: z.boolean(),
  }),
  (q: { items: readonly GateItem[]; scope: Scope }) => sql`
  select c.index, c.id, c.content, c.trust, c.similarity,
         c.embedded and not exists (select from brain_observation_chunks as s where s.observation_id = c.id and s.embedding is null) as ready
  from (
    select i.index, near.id, near.content, near.trust, near.embedded, similarity(near.content, i.content)::float8 as similarity
    from jsonb_to_recordset(${json(q.items.map((item) => ({ index: item.index, entity_id: item.entityId, content: item.content })))})
      as i(index int, entity_id uuid, content text)
    cross join lateral brain_text_marks(i.content) as m
    cross join lateral (
      select distinct on (u.id) u.id, u.content, u.trust, u.embedded
      from (${marked(q.scope, "words_mark")} union all ${marked(q.scope, "head_mark")} union all ${marked(q.scope, "tail_mark")}) as u
      order by u.id
    ) as near
  ) as c
  where c.similarity > ${GATE_SIMILARITY}::float8
  order by c.index, c.similarity desc, c.id`,
);

/**
 * Similarities of a text with the newest live rows of an entity. `onlyTrusted` leaves the withheld ones out: they may not influence the gate.
 * Ordered by time alone: with the id behind it, a planner without statistics sorts the whole entity instead of following the index.
 */
export const recentSimilarities = query(
  z.object({ similarity: z.number() }),
  (q: { entityId: string; content: string; scope: Scope; onlyTrusted: boolean }) => sql`
  select similarity(r.content, ${q.content}::text)::float8 as similarity
  from (
    select o.content from brain_observations as o
    where o.entity_id = ${q.entityId}::uuid and o.observation_type <> 'superseded' and ${keyedInScope("o", q.scope)}
      and (not ${q.onlyTrusted}::bool or o.trust = 'trusted')
    order by o.created_at desc
    limit ${fixed(RECENT_ROWS)}
  ) as r`,
);

/** Writers of one entity take turns, so that each sees what the other stored. Keys in one order, or two batches would wait for each other. */
export const lockEntities = (entityIds: readonly string[]) => sql`
  select count(pg_advisory_xact_lock(k.key))
  from (select distinct hashtextextended(id::text, 0) as key from unnest(${uuidArray(entityIds)}) as e(id) order by 1) as k`;

export interface NewObservation {
  readonly id: string;
  readonly entityId: string;
  readonly content: string;
  readonly observationType: string;
  readonly importance: number;
  readonly source: string;
  readonly trust: string;
  readonly tags: readonly string[];
  readonly lexical: string;
  readonly sessionId: string | null;
  readonly projectId: string | null;
}

/** Stores observations in order: a microsecond apart, so that the order of a batch can be read back. A session that is gone is no session. */
export const insertObservations = (rows: readonly NewObservation[]) => sql`
  insert into brain_observations
    (id, entity_id, content, observation_type, importance, source, trust, tags, lexical, session_id, project_id, created_at, updated_at)
  select n.id, n.entity_id, n.content, n.observation_type, n.importance, n.source, n.trust,
         array(select jsonb_array_elements_text(n.tags)), n.lexical, s.id, n.project_id, t.at, t.at
  from jsonb_to_recordset(${json(
    rows.map((row, at) => ({
      at,
      id: row.id,
      entity_id: row.entityId,
      content: row.content,
      observation_type: row.observationType,
      importance: row.importance,
      source: row.source,
      trust: row.trust,
      tags: row.tags,
      lexical: row.lexical,
      session_id: row.sessionId,
      project_id: row.projectId,
    })),
  )}) as n(at int, id uuid, entity_id uuid, content text, observation_type text, importance float8, source text, trust text, tags jsonb,
           lexical text, session_id uuid, project_id uuid)
  cross join lateral (select now() + n.at * interval '1 microsecond' as at) as t
  left join brain_sessions as s on s.id = n.session_id
  order by n.at`;

/** A text that adds nothing was written again: the row it repeats gains weight. Version and clock stay. */
export const reinforceObservation = (q: { id: string; by: number; scope: Scope }) => sql`
  update brain_observations as o
  set importance = least(1, o.importance + ${q.by}::float8), access_count = o.access_count + 1, last_accessed = now()
  where o.id = ${q.id}::uuid and ${keyedInScope("o", q.scope)}`;

/** How far live rows are counted: it happens on every write. */
export const COUNTED_ROWS = 101;

/** Live rows of each entity, counted up to {@link COUNTED_ROWS} and no further. */
export const countLive = query(
  z.object({ entityId: uuid, live: z.int() }),
  (q: { entityIds: readonly string[]; scope: Scope }) => sql`
  select e.id as "entityId", (
    select count(*) from (
      select 1 from brain_observations as o
      where o.entity_id = e.id and o.observation_type <> 'superseded' and ${keyedInScope("o", q.scope)}
      limit ${fixed(COUNTED_ROWS)}) as n)::int as live
  from unnest(${uuidArray(q.entityIds)}) as e(id)
  order by e.id`,
);

/** Retires the faded rows of entities: hidden, never deleted. The limits are those of the index that finds them (`0007`). */
export const retireFaded = query(
  z.object({ id: uuid, entityId: uuid }),
  (q: { entityIds: readonly string[]; scope: Scope }) => sql`
  update brain_observations as o set observation_type = 'superseded'
  where o.entity_id = any(${uuidArray(q.entityIds)}) and ${keyedInScope("o", q.scope)}
    and o.importance < 0.05 and o.observation_type not in ('decision', 'lesson', 'superseded')
  returning o.id, o.entity_id as "entityId"`,
);

/** A row that may be merged with another of its entity. */
export const MergeableRow = z.object({
  id: uuid,
  content: z.string(),
  observationType: z.string(),
  trust: z.enum(["trusted", "quarantined"]),
  importance: z.number(),
  projectId: uuid.nullable(),
  createdAt: timestamp,
});
export const mergeableColumns = sql`o.id, o.content, o.observation_type as "observationType", o.trust, o.importance, o.project_id as "projectId", o.created_at as "createdAt"`;

/** Live rows of an entity that share their words' mark with another one: what may be a pair of the same text. */
export const sameMarkRows = query(
  MergeableRow,
  (q: { entityId: string; scope: Scope; groups: number; limit: number }) => sql`
  select ${mergeableColumns}
  from brain_observations as o
  where o.entity_id = ${q.entityId}::uuid and ${keyedInScope("o", q.scope)} and o.observation_type <> 'superseded' and o.words_mark = any(array(
    select m.words_mark from brain_observations as m
    where m.entity_id = ${q.entityId}::uuid and ${keyedInScope("m", q.scope)} and m.observation_type <> 'superseded'
    group by m.words_mark having count(*) > 1
    order by m.words_mark limit ${q.groups}::int))
  order by o.words_mark, o.created_at, o.id
  limit ${q.limit}::int`,
);

/** Retires one row in favour of another of its entity, as long as both still say what was compared. */
export const retireFor = (q: { id: string; content: string; keeper: string; keeperContent: string }) => sql`
  update brain_observations as o set observation_type = 'superseded', superseded_by = ${q.keeper}::uuid
  where o.id = ${q.id}::uuid and o.content = ${q.content}::text and o.observation_type not in ('decision', 'lesson', 'superseded')
    and exists (
      select from brain_observations as k
      where k.id = ${q.keeper}::uuid and k.content = ${q.keeperContent}::text and k.observation_type <> 'superseded'
        and k.entity_id = o.entity_id and k.project_id is not distinct from o.project_id and (k.trust = 'trusted' or o.trust = 'quarantined'))`;

/** New text of an observation with everything made from it, in one statement: one correction, one version. Vector and slices go by trigger. */
export const rewriteObservation = (q: { id: string; content: string; tags: readonly string[]; lexical: string; scope: Scope }) => sql`
  update brain_observations as o
  set content = ${q.content}::text, tags = ${textArray(q.tags)}, lexical = ${q.lexical}::text, last_accessed = now(),
      extracted_at = null, extraction_attempts = 0
  where o.id = ${q.id}::uuid and ${keyedInScope("o", q.scope)}`;

/** Retires a trusted live row in favour of another trusted one of its entity; with `content` only while it says that. */
export const supersedeObservation = (q: { id: string; content: string | undefined; successor: string; scope: Scope }) => sql`
  update brain_observations as o set observation_type = 'superseded', superseded_by = ${q.successor}::uuid
  where o.id = ${q.id}::uuid and o.observation_type <> 'superseded' and o.trust = 'trusted' and ${keyedInScope("o", q.scope)}
    and (${q.content ?? null}::text is null or o.content = ${q.content ?? null}::text)
    and exists (
      select from brain_observations as n
      where n.id = ${q.successor}::uuid and n.id <> o.id and n.entity_id = o.entity_id and n.trust = 'trusted' and n.observation_type <> 'superseded'
        and n.project_id is not distinct from o.project_id)`;

export const deleteObservation = (q: { id: string; scope: Scope }) => sql`
  delete from brain_observations as o where o.id = ${q.id}::uuid and ${keyedInScope("o", q.scope)}`;
