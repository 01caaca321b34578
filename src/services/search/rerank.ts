/**
 * The cross-encoder stage (`retrieval.md` §2.14, §4): the head of the fused order is read again together with the question. Where it cannot be, the order
 * stays as it was, totals untouched, and the answer says why.
 */
import { byAge } from "../../domain/retrieval/ties.ts";
import type { NoAnswerCode, Reranker } from "../../inference/port.ts";
import type { CallContext } from "../../kernel/context.ts";
import type { Deadline } from "../../kernel/deadline.ts";
import type { Found, HybridRequest } from "./request.ts";

export interface RerankStage {
  readonly reranker: Pick<Reranker, "score" | "status" | "warm">;
  /** Where a call says nothing. */
  readonly byDefault: boolean;
  /** Rows of the fused order that are scored. */
  readonly depth: number;
  /** Longest time of a search that is reranked, from its beginning: what it waits for, whichever model, is part of it. */
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

/** The moment by which a search that begins now has its order. Nobody cuts the reading of rows short: the fused order is what is served after it. */
export const rerankBudget = (stage: Pick<RerankStage, "timeoutMs">, { deadline }: Pick<CallContext, "deadline">): Deadline =>
  deadline.share(SHARE).atMost(stage.timeoutMs);

/**
 * @param budget as of the beginning of the search, {@link rerankBudget}
 * @param unfoundOnly reads the rows that no word arm found, which then share the places that they held; for measurements.
 * @throws MemoryError `cancelled`
 */
export async function rerankRows(
  stage: RerankStage | undefined,
  { signal }: Pick<CallContext, "signal">,
  query: string,
  rows: readonly Found[],
  budget: Deadline,
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
  const answer = await stage.reranker.score(query, head.map(passageOf), { deadline: budget, signal });
  if (answer.kind === "none") {
    // What ate the time is loaded now; the next question would spend its own on the reranker.
    if (answer.code === "no_budget") stage.reranker.warm();
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

/** Rows that were not read stay behind those that were, in their own order. */
function behind(rows: readonly Found[], lowest: number): Found[] {
  const best = Math.max(...rows.map(({ total }) => total), Number.MIN_VALUE);
  return rows.map((found) => ({ ...found, total: (lowest * Math.max(0, found.total)) / best }));
}
