/** Texts that have no vector of the running model yet, and storing one, for every table that has vectors. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { int8, query, textArray, uuid, uuidArray, vectorArray } from "../codecs.ts";
import { inScope } from "./predicates.ts";
import { inSpan, type Walkable, type Window } from "./windows.ts";

export const vectorKinds = ["observation", "chunk", "episode", "procedure"] as const;
export type VectorKind = (typeof vectorKinds)[number];

/** What a vector is made of. A procedure has no entity: `subject` is its name, `subjectType` empty, `content` when to use it. */
const Text = z.object({ kind: z.enum(vectorKinds), id: uuid, content: z.string(), subject: z.string(), subjectType: z.string() });
export type TextToEmbed = z.output<typeof Text>;

/** One select a kind, over the alias `v` of its table; retired rows need no vector. */
const sources: Readonly<Record<VectorKind, SQL>> = {
  observation: sql`
    select v.id, v.content, e.name as subject, e.entity_type as "subjectType", v.created_at, v.embedding, v.embedding_model, v.importance, v.project_id
    from brain_observations as v join brain_entities as e on e.id = v.entity_id
    where v.observation_type <> 'superseded'`,
  chunk: sql`
    select v.id, v.content, e.name as subject, e.entity_type as "subjectType", v.created_at, v.embedding, v.embedding_model, o.importance, v.project_id
    from brain_observation_chunks as v
    join brain_observations as o on o.id = v.observation_id
    join brain_entities as e on e.id = o.entity_id
    where o.observation_type <> 'superseded'`,
  episode: sql`
    select v.id, v.content, e.name as subject, e.entity_type as "subjectType", v.created_at, v.embedding, v.embedding_model, v.importance, v.project_id
    from brain_episodes as v join brain_entities as e on e.id = v.entity_id
    where true`,
  procedure: sql`
    select v.id, v.trigger_context as content, v.name as subject, '' as "subjectType", v.created_at, v.embedding, v.embedding_model,
           1::float8 as importance, v.project_id
    from brain_procedures as v
    where true`,
};

const columns = (kind: VectorKind) => sql`${kind}::text as kind, t.id, t.content, t.subject, t."subjectType"`;
const order = { newest: sql`v.created_at desc, v.id`, important: sql`importance desc, v.created_at desc, v.id` };

/**
 * Rows of one kind without a vector: the newest, for a fresh write is asked for first, or the most important, for a repair of limited length.
 * Plan: the partial index over rows without a vector; `except` are those that failed.
 */
export const textsWithoutVector = query(
  Text,
  (q: { kind: VectorKind; first: "newest" | "important"; except: readonly string[]; limit: number }) => sql`
  select ${columns(q.kind)}
  from (${sources[q.kind]} and v.embedding is null and v.id <> all(${uuidArray(q.except)}) order by ${order[q.first]} limit ${q.limit}::int) as t`,
);

/** Rows of one kind whose vector is missing or of another model (`all`: every row), by id, from `after` on. */
export const staleTexts = query(
  Text,
  (q: { kind: VectorKind; label: string; all: boolean; scope: Scope; after: string; limit: number }) => sql`
  select ${columns(q.kind)}
  from (${sources[q.kind]} and v.id > ${q.after}::uuid and ${inScope("v", q.scope)}
    and (${q.all}::bool or v.embedding_model is distinct from ${q.label}::text)
    order by v.id limit ${q.limit}::int) as t
  order by t.id`,
);

/** The table of a kind, for walks by id. */
export const vectorTable = {
  observation: "observations",
  chunk: "chunks",
  episode: "episodes",
  procedure: "procedures",
} as const satisfies Readonly<Record<VectorKind, Walkable>>;

interface StaleIn {
  readonly kind: VectorKind;
  readonly label: string;
  readonly scope: Scope;
  readonly window: Window;
}

const Rank = z.object({ id: uuid, importance: z.number(), createdUs: int8 });
/** What the order of stale rows goes by: importance, then the newest (microseconds since 1970), then the id. */
export type StaleRank = z.output<typeof Rank>;

/** The stale rows of one kind in a window, without their texts. */
export const staleRanks = query(
  Rank,
  (q: StaleIn) => sql`
  select t.id, t.importance, (extract(epoch from t.created_at) * 1000000)::int8 as "createdUs"
  from (${sources[q.kind]} and ${inSpan("v", q.window)} and ${inScope("v", q.scope)} and v.embedding_model is distinct from ${q.label}::text) as t
  order by t.id`,
);

/** Those of some rows of one kind that are stale still, in the order in which they were given. */
export const staleTextsOf = query(
  Text,
  (q: { kind: VectorKind; label: string; ids: readonly string[] }) => sql`
  select ${columns(q.kind)}
  from (${sources[q.kind]} and v.id = any(${uuidArray(q.ids)}) and v.embedding_model is distinct from ${q.label}::text) as t
  order by array_position(${uuidArray(q.ids)}, t.id), t.id`,
);

/** The stale rows of one kind in a window (`all`: every row). */
export const countStale = query(
  z.object({ count: int8 }),
  (q: StaleIn & { all: boolean }) => sql`
  select count(*) as count
  from (${sources[q.kind]} and ${inSpan("v", q.window)} and ${inScope("v", q.scope)}
    and (${q.all}::bool or v.embedding_model is distinct from ${q.label}::text)) as t`,
);

/** Rows without a vector over all kinds, counted up to `limit` each. */
export const countWithoutVector = query(
  z.object({ count: z.int() }),
  (q: { limit: number }) => sql`
  select (${sql.join(
    vectorKinds.map((kind) => sql`(select count(*) from (${sources[kind]} and v.embedding is null limit ${q.limit}::int) as t)`),
    sql` + `,
  )})::int as count`,
);

export interface Embedded {
  readonly text: TextToEmbed;
  readonly vector: Float32Array;
}

/** What a row must still say for a vector to be its own: the text and the name and type that were embedded with it. */
const unchanged: Readonly<Record<VectorKind, { table: SQL; test: SQL }>> = {
  observation: {
    table: sql`brain_observations`,
    test: sql`v.content = n.content and exists (
      select from brain_entities as e where e.id = v.entity_id and e.name = n.subject and e.entity_type = n.subject_type)`,
  },
  chunk: {
    table: sql`brain_observation_chunks`,
    test: sql`v.content = n.content and exists (
      select from brain_observations as o join brain_entities as e on e.id = o.entity_id
      where o.id = v.observation_id and e.name = n.subject and e.entity_type = n.subject_type)`,
  },
  episode: {
    table: sql`brain_episodes`,
    test: sql`v.content = n.content and exists (
      select from brain_entities as e where e.id = v.entity_id and e.name = n.subject and e.entity_type = n.subject_type)`,
  },
  procedure: { table: sql`brain_procedures`, test: sql`v.trigger_context = n.content and v.name = n.subject` },
};

/** Stores vectors of one kind with their label; a row whose text changed while it was embedded keeps none. Answers how many were stored. */
export const saveVectors = (q: { kind: VectorKind; label: string; embedded: readonly Embedded[] }) => sql`
  update ${unchanged[q.kind].table} as v
  set embedding = n.embedding, embedding_model = ${q.label}::text
  from unnest(${uuidArray(q.embedded.map(({ text }) => text.id))}, ${textArray(q.embedded.map(({ text }) => text.content))},
              ${textArray(q.embedded.map(({ text }) => text.subject))}, ${textArray(q.embedded.map(({ text }) => text.subjectType))},
              ${vectorArray(q.embedded.map(({ vector }) => vector))}) as n(id, content, subject, subject_type, embedding)
  where v.id = n.id and ${unchanged[q.kind].test}`;
