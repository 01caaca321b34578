/** Error memory: reporting, resolving, and what is on file about the like. Only trusted rows of the scope count, in every statement. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { projectOf, type Scope } from "../../kernel/context.ts";
import { float8, floatArray, json, query, timestamp, uuid, uuidArray } from "../codecs.ts";
import { inScope, isTrusted } from "./predicates.ts";

export interface NewError {
  readonly id: string;
  readonly errorType: string;
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>>;
  /** Without one: the name of the active project, else `default`. */
  readonly label: string | undefined;
  readonly lexical: string;
  readonly projectId: string | null;
}

export const insertError = query(
  z.object({ label: z.string() }),
  (e: NewError) => sql`
  insert into brain_errors (id, error_type, error_message, context, project, lexical, project_id)
  values (${e.id}::uuid, ${e.errorType}::text, ${e.message}::text, ${json(e.context)},
          coalesce(${e.label ?? null}::text, (select p.name from brain_projects as p where p.id = ${e.projectId}::uuid), 'default'),
          ${e.lexical}::text, ${e.projectId}::uuid)
  returning project as label`,
);

interface Like {
  readonly message: string;
  /** The error itself is not its own like. */
  readonly except: string;
  readonly scope: Scope;
  readonly leastSimilarity: number;
}

/** Rows of the scope with a similar message, as `s(id, similarity)`. Plan: idx_errors_trgm inside the function (`0009`). */
const similar = (message: string, scope: Scope, leastSimilarity: number) =>
  sql`brain_similar_errors(${message}::text, ${projectOf(scope)}::uuid, ${leastSimilarity}::float8)`;

/** Raises the weight of similar errors with the same label, once at least `atLeast` of them are on file; answers how many there are. */
export const strengthenSimilar = query(
  z.object({ count: z.int() }),
  (q: Like & { label: string; atLeast: number; by: number }) => sql`
  with alike as materialized (
    select e.id
    from ${similar(q.message, q.scope, q.leastSimilarity)} as s
    join brain_errors as e on e.id = s.id
    where e.id <> ${q.except}::uuid and e.project = ${q.label}::text and ${isTrusted("e")} and ${inScope("e", q.scope)}
  ), raised as (
    update brain_errors as e set synapse_weight = least(5, e.synapse_weight + ${q.by}::float8)
    where e.id in (select id from alike) and (select count(*) from alike) >= ${q.atLeast}::int
  )
  select count(*)::int as count from alike`,
);

/** Similar errors that were solved, most similar first. */
export const knownSolutions = query(
  z.object({ id: uuid, message: z.string(), solution: z.string(), similarity: float8 }),
  (q: Like & { limit: number }) => sql`
  select e.id, e.error_message as message, e.solution, s.similarity
  from ${similar(q.message, q.scope, q.leastSimilarity)} as s
  join brain_errors as e on e.id = s.id
  where e.id <> ${q.except}::uuid and e.resolved and e.solution is not null and ${isTrusted("e")} and ${inScope("e", q.scope)}
  order by s.similarity desc, e.created_at desc, e.id
  limit ${q.limit}::int`,
);

/** Similar errors that nobody has solved, most similar first. */
export const similarOpen = query(
  z.object({ id: uuid, message: z.string(), similarity: float8 }),
  (q: Like & { limit: number }) => sql`
  select e.id, e.error_message as message, s.similarity
  from ${similar(q.message, q.scope, q.leastSimilarity)} as s
  join brain_errors as e on e.id = s.id
  where e.id <> ${q.except}::uuid and not e.resolved and ${isTrusted("e")} and ${inScope("e", q.scope)}
  order by s.similarity desc, e.created_at desc, e.id
  limit ${q.limit}::int`,
);

const jsonText = (key: string) => sql`case when jsonb_typeof(e.context -> ${key}::text) = 'string' then e.context ->> ${key}::text end`;

/** One error, locked until the transaction ends. A withheld one can be resolved too: that lets nothing of it out. */
export const errorToResolve = query(
  z.object({
    errorType: z.string(),
    message: z.string(),
    attempted: z.string().nullable(),
    action: z.string().nullable(),
    solution: z.string().nullable(),
  }),
  (q: { id: string; scope: Scope }) => sql`
  select e.error_type as "errorType", e.error_message as message, ${jsonText("attempted")} as attempted, ${jsonText("action")} as action, e.solution
  from brain_errors as e
  where e.id = ${q.id}::uuid and ${inScope("e", q.scope)}
  for update`,
);

/** Stores a solution; one that was there before goes into `context.solution_history`, the newest 20. */
export const resolveError = (q: { id: string; solution: string; lexical: string; scope: Scope }) => sql`
  update brain_errors as e
  set solution = ${q.solution}::text, resolved = true, resolved_at = now(), lexical = ${q.lexical}::text,
      context = case
        when e.solution is null or e.solution = ${q.solution}::text then e.context
        else e.context || jsonb_build_object('solution_history', brain_append_version(
          case when jsonb_typeof(e.context -> 'solution_history') = 'array' then e.context -> 'solution_history' else '[]' end,
          jsonb_build_array(jsonb_build_object('solution', e.solution, 'resolved_at', e.resolved_at))))
      end
  where e.id = ${q.id}::uuid and ${inScope("e", q.scope)}`;

/** Rows that words found, and how well. */
export interface WordFound {
  readonly id: string;
  readonly rank: number;
}

const found = (words: readonly WordFound[], text: string, scope: Scope, leastSimilarity: number) => sql`
  select f.id, max(f.rank) as rank
  from (
    select w.id, w.rank from unnest(${uuidArray(words.map(({ id }) => id))}, ${floatArray(words.map(({ rank }) => rank))}) as w(id, rank)
    union all
    select s.id, 0 from ${similar(text, scope, leastSimilarity)} as s
  ) as f
  group by f.id`;

/** What is on file about a question: found by words, or with a similar message. */
export const pastErrors = query(
  z.object({ id: uuid, similarity: float8, wordRank: float8, weight: float8, resolved: z.boolean(), createdAt: timestamp }),
  (q: {
    words: readonly WordFound[];
    text: string;
    leastSimilarity: number;
    label: string | undefined;
    resolvedOnly: boolean;
    scope: Scope;
  }) => sql`
  select e.id, similarity(e.error_message, ${q.text}::text)::float8 as similarity, f.rank as "wordRank", e.synapse_weight as weight, e.resolved,
         e.created_at as "createdAt"
  from (${found(q.words, q.text, q.scope, q.leastSimilarity)}) as f
  join brain_errors as e on e.id = f.id
  where ${isTrusted("e")} and ${inScope("e", q.scope)} and (${q.label ?? null}::text is null or e.project = ${q.label ?? null}::text)
    and (e.resolved or not ${q.resolvedOnly}::bool)`,
);

export const errorRows = query(
  z.object({
    id: uuid,
    errorType: z.string(),
    message: z.string(),
    solution: z.string().nullable(),
    resolved: z.boolean(),
    label: z.string(),
    createdAt: timestamp,
  }),
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select e.id, e.error_type as "errorType", e.error_message as message, e.solution, e.resolved, e.project as label, e.created_at as "createdAt"
  from brain_errors as e
  where e.id = any(${uuidArray(q.ids)}) and ${isTrusted("e")} and ${inScope("e", q.scope)}`,
);

/**
 * Errors that a plan resembles: in the message, in what was tried (`context.attempted`, `context.action`) or, once solved, in the solution.
 * A short plan may be a part of a long text, and what was tried a part of a long plan.
 */
export const resemblingErrors = query(
  z.object({ id: uuid, message: z.string(), solution: z.string().nullable(), resolved: z.boolean(), similarity: float8 }),
  (q: {
    words: readonly WordFound[];
    plan: string;
    candidateSimilarity: number;
    leastSimilarity: number;
    label: string | undefined;
    scope: Scope;
  }) => {
    const like = (text: ReturnType<typeof sql>) => sql`similarity(${text}, p.plan), word_similarity(p.plan, ${text})`;
    return sql`
  with p as materialized (select ${q.plan}::text as plan), seen as materialized (
    select e.id, e.error_message as message, e.solution, e.resolved, e.created_at, greatest(
      ${like(sql`e.error_message`)},
      ${like(jsonText("attempted"))}, word_similarity(${jsonText("attempted")}, p.plan),
      ${like(jsonText("action"))}, word_similarity(${jsonText("action")}, p.plan),
      ${like(sql`case when e.resolved then e.solution end`)})::float8 as similarity
    from p cross join (${found(q.words, q.plan, q.scope, q.candidateSimilarity)}) as f
    join brain_errors as e on e.id = f.id
    where ${isTrusted("e")} and ${inScope("e", q.scope)} and (${q.label ?? null}::text is null or e.project = ${q.label ?? null}::text)
  )
  select s.id, s.message, s.solution, s.resolved, s.similarity
  from seen as s
  where s.similarity > ${q.leastSimilarity}::float8
  order by s.similarity desc, s.created_at desc, s.id`;
  },
);
