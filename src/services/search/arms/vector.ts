/** The vector arm: the question's vector, and the rows nearest to it. */
import { byScoreThenId, type Hit } from "../../../domain/retrieval/hits.ts";
import type { Embedder } from "../../../inference/port.ts";
import type { CallContext } from "../../../kernel/context.ts";
import { signalUntil } from "../../../kernel/deadline.ts";
import { present } from "../../../kernel/errors.ts";
import { capitalised } from "../../../kernel/text.ts";
import type { Tx } from "../../../store/port.ts";
import { type Filters, kindOf, type RowKind } from "../../../store/queries/search-filters.ts";
import { fittedVectors, nearestBySigns, nearestRows } from "../../../store/queries/search-vectors.ts";
import type { Ages } from "../ages.ts";

/** Share of the time a call has left that the question's vector may take; loading the model is part of it. */
const EMBED_SHARE = 0.4;

/**
 * Longest wait of a question for its vector, milliseconds, where a caller names no other. A loaded model needs milliseconds (5 with multilingual-e5-small); one that
 * is not loaded yet is worth a short wait: without it a question is searched by words alone, which is said.
 */
const EMBED_WAIT_MS = 2_000;

/** How long a question waits for the vectors of the writes before it, milliseconds: some eight short texts (13 ms each with multilingual-e5-small), or one long. */
const CATCH_UP_MS = 200;

/** The queue that computes vectors after a write was answered. */
export interface FreshVectors {
  /** Waits for the last few of them, at most `limitMs`; never throws. */
  caughtUp(limitMs: number): Promise<void>;
}

const LOADING =
  "Meaning was not searched, only words: the embedding model was still loading when the time to wait for it was over. It goes on loading; ask again in a moment.";

/** The command that says what is the matter. */
export const CHECK = "memory-industry doctor";

/** `isLoading`: the model will be there in a moment, so that asking again helps. */
export type QuestionVector = { readonly vector: Float32Array } | { readonly lost: string; readonly isLoading: boolean };

/**
 * The vector of a question, or a sentence that says why there is none. Never throws but for a call that is over. A row without a vector has no voice in
 * the vector arm: a correction once ranked behind an unrelated row for as long as its vector was on the way, so the last few are waited for.
 *
 * @param waitMs longest wait; a load that takes longer goes on for the questions after this one. Never more than {@link EMBED_SHARE} of the call.
 */
export async function embedQuestion(
  ctx: Pick<CallContext, "deadline" | "signal">,
  embedder: Embedder,
  query: string,
  fresh?: FreshVectors,
  waitMs = EMBED_WAIT_MS,
): Promise<QuestionVector> {
  const state = embedder.status();
  if (state.state === "missing") return lost(`Meaning was not searched, only words. ${capitalised(state.reason)}`);
  const deadline = ctx.deadline.share(EMBED_SHARE).atMost(waitMs);
  using limit = signalUntil(deadline, ctx.signal);
  try {
    const [vector] = await embedder.embed([query], "query", limit.signal);
    await fresh?.caughtUp(Math.min(CATCH_UP_MS, deadline.remainingMs()));
    return vector === undefined ? lost(`Meaning was not searched: the model gave no vector. Run '${CHECK}'.`) : { vector };
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    if (limit.signal.aborted && embedder.status().state === "loading") return { lost: LOADING, isLoading: true };
    const why = limit.signal.aborted ? "the embedding model was not ready in time." : present(error).text;
    return lost(`Meaning was not searched, only words: ${why} Run '${CHECK}'.`);
  }
}

const lost = (why: string): QuestionVector => ({ lost: why, isLoading: false });

export interface VectorHits {
  readonly kinds: ReadonlyMap<string, RowKind>;
  /** Cosine similarity, best first, each row once. */
  readonly hits: readonly Hit[];
  /** For observations that a piece found: the index of the piece. */
  readonly chunks: ReadonlyMap<string, number>;
}

/**
 * Rows whose signs lie nearest, which are then compared exactly. Of real vectors (multilingual-e5-small) the pool holds .990 of the ten nearest of
 * 10,000 rows, .984 of 36,000 (decision 0130).
 */
const SIGN_POOL = 400;

/** Rows nearest to a vector; observations by their own vector or the best of their pieces. */
export async function searchVectors(
  tx: Tx,
  q: {
    readonly vector: Float32Array;
    readonly label: string;
    readonly depth: number;
    readonly filters: Filters;
    readonly withEpisodes: boolean;
    readonly ages: Ages;
  },
): Promise<VectorHits> {
  const best = new Map<string, Hit>();
  const kinds = new Map<string, RowKind>();
  const chunks = new Map<string, number>();
  const isSigned = (await tx.first(fittedVectors({ label: q.label }))) !== undefined;
  const rows = await tx.all(isSigned ? nearestBySigns({ ...q, pool: Math.max(SIGN_POOL, q.depth) }) : nearestRows(q));
  for (const { kind, id, distance, chunk } of rows) {
    if (best.has(id)) continue;
    best.set(id, { id, score: 1 - distance });
    kinds.set(id, kindOf(kind));
    if (chunk !== null) chunks.set(id, chunk);
  }
  const [hits = []] = await q.ages.first(
    tx,
    [{ kindOf: (id) => kinds.get(id) ?? "observation", hits: [...best.values()].sort(byScoreThenId) }],
    q.depth,
  );
  return { kinds, hits, chunks };
}
