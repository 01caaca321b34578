/** Architecture decisions: trusted observations of type `decision` in the scope, whatever entity they hang from. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { float8, query, timestamp, uuid, uuidArray } from "../codecs.ts";
import { inScope, keyedInScope } from "./predicates.ts";

/** Decisions in force. Plan: idx_obs_type, the one condition here that an index may serve under row security. */
const inForce = (scope: SQL) => sql`o.observation_type = 'decision' and o.trust = 'trusted' and ${scope}`;

/** Decisions of an entity with this first line, in any case, with their similarity to a text, most similar first. */
export const decisionsTitled = query(
  z.object({ id: uuid, similarity: float8 }),
  (q: { entityId: string; firstLine: string; content: string; except: string; scope: Scope; limit: number }) => sql`
  select o.id, similarity(o.content, ${q.content}::text)::float8 as similarity
  from brain_observations as o
  where o.entity_id = ${q.entityId}::uuid and o.id <> ${q.except}::uuid and ${inForce(keyedInScope("o", q.scope))}
    and lower(split_part(o.content, chr(10), 1)) = lower(${q.firstLine}::text)
  order by similarity desc, o.created_at desc, o.id
  limit ${q.limit}::int`,
);

/** Below it two texts share no more than chance (`tools-cognition.md` §5). */
const LEAST_SIMILARITY = 0.1;

/**
 * Decisions that a question finds by its words, by standing in the text as asked, or by trigrams; best first.
 * @param lexemes the question's selecting words with blanks between.
 */
export const matchingDecisions = query(
  z.object({ id: uuid, similarity: float8 }),
  (q: { text: string; lexemes: string; scope: Scope }) => sql`
  with w as materialized (select cuba_or_tsquery(${q.lexemes}::text) as q), seen as materialized (
    select o.id, o.created_at, o.search_vector @@ w.q as by_words, strpos(lower(o.content), lower(${q.text}::text)) > 0 as as_asked,
           ts_rank(o.search_vector, w.q)::float8 as rank, similarity(o.content, ${q.text}::text)::float8 as trigrams
    from w cross join brain_observations as o
    where ${inForce(inScope("o", q.scope))}
  )
  select s.id, s.rank + s.trigrams as similarity
  from seen as s
  where s.by_words or s.as_asked or s.trigrams > ${LEAST_SIMILARITY}::float8
  order by similarity desc, s.created_at desc, s.id`,
);

const Decision = z.object({ id: uuid, content: z.string(), entityName: z.string(), createdAt: timestamp });
export type Decision = z.output<typeof Decision>;

export const decisionsById = query(
  Decision,
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select o.id, o.content, e.name as "entityName", o.created_at as "createdAt"
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  where o.id = any(${uuidArray(q.ids)}) and ${inForce(inScope("o", q.scope))}`,
);

export const newestDecisions = query(
  Decision,
  (q: { scope: Scope; limit: number; offset: number }) => sql`
  select o.id, o.content, e.name as "entityName", o.created_at as "createdAt"
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  where ${inForce(inScope("o", q.scope))}
  order by o.created_at desc, o.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

export const decisionCount = query(
  z.object({ count: z.int() }),
  (q: { scope: Scope }) => sql`select count(*)::int as count from brain_observations as o where ${inForce(inScope("o", q.scope))}`,
);
