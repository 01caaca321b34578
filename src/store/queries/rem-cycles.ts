/** The record of consolidation cycles. A cycle's row is there from its first moment, so that a killed one leaves what it had done and what it had asked. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { int8, json, query, timestamp, uuid } from "../codecs.ts";

const PhaseRow = z.object({
  count: z.number(),
  ms: z.number(),
  error: z.string().optional(),
  skipped: z.string().optional(),
  note: z.string().optional(),
});

export const CycleRow = z.object({
  id: uuid,
  startedAt: timestamp,
  finishedAt: timestamp,
  durationMs: int8,
  decayedCount: int8,
  autolinkEdges: int8,
  embeddingsBackfilled: int8,
  entitiesScanned: int8,
  factsExtracted: int8,
  communities: int8,
  duplicateCandidates: int8,
  relationScanFailed: int8,
  extractionFailed: int8,
  llmCalls: int8,
  phases: z.record(z.string(), PhaseRow),
  error: z.string().nullable(),
});
export type CycleRow = z.output<typeof CycleRow>;

/** What a cycle has done so far; `error` null only where it came to its end and nothing failed. */
export type CycleProgress = Omit<CycleRow, "id" | "startedAt" | "finishedAt" | "durationMs">;

const columns = sql`c.id, c.started_at as "startedAt", c.finished_at as "finishedAt", c.duration_ms as "durationMs", c.decayed_count as "decayedCount",
  c.autolink_edges as "autolinkEdges", c.embeddings_backfilled as "embeddingsBackfilled", c.entities_scanned as "entitiesScanned",
  c.facts_extracted as "factsExtracted", c.communities, c.duplicate_candidates as "duplicateCandidates", c.relation_scan_failed as "relationScanFailed",
  c.extraction_failed as "extractionFailed", c.llm_calls as "llmCalls", c.phases, c.error`;

export const insertCycle = query(
  z.object({ id: uuid }),
  (q: { error: string }) => sql`
  insert into brain_rem_cycles (started_at, finished_at, duration_ms, error) values (now(), now(), 0, ${q.error}::text) returning id`,
);

export const saveCycle = (id: string, progress: CycleProgress) => sql`
  update brain_rem_cycles as c
  set finished_at = now(), duration_ms = (extract(epoch from now() - c.started_at) * 1000)::bigint, decayed_count = ${progress.decayedCount}::bigint,
      autolink_edges = ${progress.autolinkEdges}::bigint, embeddings_backfilled = ${progress.embeddingsBackfilled}::bigint,
      entities_scanned = ${progress.entitiesScanned}::bigint, facts_extracted = ${progress.factsExtracted}::bigint,
      communities = ${progress.communities}::bigint, duplicate_candidates = ${progress.duplicateCandidates}::bigint,
      relation_scan_failed = ${progress.relationScanFailed}::bigint, extraction_failed = ${progress.extractionFailed}::bigint,
      phases = ${json(progress.phases)}, error = ${progress.error}::text
  where c.id = ${id}::uuid`;

const usedToday = sql`(
    select coalesce(sum(t.llm_calls), 0) from brain_rem_cycles as t
    where t.finished_at >= date_trunc('day', now() at time zone 'UTC') at time zone 'UTC')`;

/**
 * Counts one question to a language model, before it is put: no row where the cap of this UTC day is reached. What a killed cycle asked is counted.
 */
export const takeLlmCall = query(
  z.object({ llmCalls: int8 }),
  (q: { id: string; cap: number }) => sql`
  update brain_rem_cycles as c
  set llm_calls = c.llm_calls + 1, finished_at = now()
  where c.id = ${q.id}::uuid and ${usedToday} < ${q.cap}::bigint
  returning c.llm_calls as "llmCalls"`,
);

/** Questions that cycles have put to a language model in this UTC day. */
export const llmCallsToday = query(z.object({ count: int8 }), () => sql`select ${usedToday}::bigint as count`);

/** Newest first. */
export const recentCycles = query(
  CycleRow,
  (q: { limit: number }) => sql`
  select ${columns} from brain_rem_cycles as c order by c.finished_at desc, c.id desc limit ${q.limit}::int`,
);

export const cycleById = query(
  CycleRow,
  (q: { id: string }) => sql`select ${columns} from brain_rem_cycles as c where c.id = ${q.id}::uuid`,
);

/** A cycle that ends while this is asked is ahead of the transaction's clock by a moment. */
const FUTURE_MINUTES = 10;

/**
 * Whole seconds since the last cycle that came to its end; no row where there was none. Phases are recorded in order, so the one that has the last of
 * them went through all, whatever failed on the way: a phase that always fails must not make every start run a whole cycle. What ended in the future does not
 * count: after a clock is set back there would be no cycle until it has caught up.
 */
export const secondsSinceCycle = query(
  z.object({ seconds: int8 }),
  (q: { lastPhase: string }) => sql`
  select greatest(0, extract(epoch from now() - c.finished_at))::bigint as seconds
  from brain_rem_cycles as c
  where c.finished_at <= now() + make_interval(mins => ${FUTURE_MINUTES}::int)
    and (c.error is null or jsonb_exists(c.phases, ${q.lastPhase}::text))
  order by c.finished_at desc, c.id limit 1`,
);
