/**
 * The cross-encoder stage (`retrieval.md` §2.14, §4): the head of the fused order is read again together with the question. Where it cannot be, the order
 * stays as it was, totals untouched, and the answer says why.
 */
import { byAge } from "../../domain/retrieval/ties.ts";
import type { NoAnswerCode, Reranker } from "../../inference/port.ts";
import type { CallContext } from "../../kernel/context.ts";
import { type Deadline, deadlineIn } from "../../kernel/deadline.ts";
import type { Found, HybridRequest } from "./request.ts";

export interface RerankStage {
  readonly reranker: Pick<Reranker, "score" | "status">;
  /** Where a call says nothing. */
  readonly byDefault: boolean;
  /** Rows of the fused order that are scored. */
  readonly depth: number;
  /** Load, waiting and inference together. */
  readonly timeoutMs: number;
}

export interface Unranked {
  readonly code: NoAnswerCode;
  readonly reason: string;
}

export interface Reranked {
  readonly rows: readonly Found[];
  /** Why the order is that of the fused arms; undefined where it was reranked or there was nothing to order. */
  readonly unranked: Unranked | undefined;
}

const NO_RERANKER = "The order is that of the fused arms: no reranker is installed. Install one with 'memory-industry models reranker'.";

/** What is left of a call when the reranker gives up must still read neighbours and shape the answer. */
const SHARE = 0.8;

/** An explicit wish always wins; by default only where a model is there. Looks at the status, loads nothing. */
export function wantsRerank(stage: RerankStage | undefined, { rerank }: Pick<HybridRequest, "rerank">): boolean {
  if (rerank !== undefined || stage === undefined) return rerank === true;
  const { state } = stage.reranker.status();
  return stage.byDefault && state !== "missing" && state !== "failed";
}

/** What the model reads of a row: the piece that was found, with the entity in front; an error with its solution. */
export function passageOf({ kind, row, chunk }: Pick<Found, "kind" | "row" | "chunk">): string {
  const text = chunk ?? row.content ?? "";
  if (kind === "error") return `${row.label ?? "error"}: ${text}${row.solution === null ? "" : ` (${row.solution})`}`;
  if (text === "") return row.entity ?? "";
  return row.entity === null ? text : `${row.entity}: ${text}`;
}

/** A row that no word of the question found. */
const isUnfound = ({ shares }: Found) => shares.text === 0 && shares.bm25 === 0;

/**
 * @param unfoundOnly reads the rows that no word arm found, which then share the places that they held; for measurements.
 * @throws MemoryError `cancelled`
 */
export async function rerankRows(
  stage: RerankStage | undefined,
  ctx: Pick<CallContext, "deadline" | "signal">,
  query: string,
  rows: readonly Found[],
  unfoundOnly = false,
): Promise<Reranked> {
  if (stage === undefined) {
    return { rows, unranked: { code: "no_model", reason: NO_RERANKER } };
  }
  const ordered = [...rows].sort((a, b) => b.total - a.total || byAge(a.row, b.row));
  const pool = ordered.slice(0, stage.depth);
  const head = unfoundOnly ? pool.filter(isUnfound) : pool;
  // One row has no order, but whoever asked for a model that is not there should hear it.
  if (head.length < 2 && stage.reranker.status().state !== "missing") return { rows, unranked: undefined };
  const limits = { deadline: boundedBy(ctx.deadline, stage.timeoutMs), signal: ctx.signal };
  const answer = await stage.reranker.score(query, head.map(passageOf), limits);
  if (answer.kind === "none") {
    const reason = `The order is that of the fused arms. ${answer.reason}`;
    return { rows, unranked: { code: answer.code, reason } };
  }
  const scored = head
    .map((found, at) => ({ ...found, total: answer.values[at] ?? 0 }))
    .sort((a, b) => b.total - a.total || byAge(a.row, b.row));
  if (unfoundOnly) return { rows: inTheirPlaces(ordered, head, scored), unranked: undefined };
  return { rows: [...scored, ...behind(ordered.slice(stage.depth), scored.at(-1)?.total ?? 0)], unranked: undefined };
}

/** The rows that were read, in their new order, in the places and with the totals that they held; all others where they were. */
function inTheirPlaces(ordered: readonly Found[], read: readonly Found[], scored: readonly Found[]): Found[] {
  const places = new Map(read.map((found, at) => [found, scored[at] ?? found]));
  return ordered.map((found) => ({ ...(places.get(found) ?? found), total: found.total }));
}

/** The stage's own budget, or its share of the call where less is left. */
function boundedBy(deadline: Deadline, timeoutMs: number): Deadline {
  const left = deadline.remainingMs() * SHARE;
  return left <= timeoutMs ? deadline.share(SHARE) : deadlineIn(timeoutMs);
}

/** Rows that were not read stay behind those that were, in their own order. */
function behind(rows: readonly Found[], lowest: number): Found[] {
  const best = Math.max(...rows.map(({ total }) => total), Number.MIN_VALUE);
  return rows.map((found) => ({ ...found, total: (lowest * Math.max(0, found.total)) / best }));
}
