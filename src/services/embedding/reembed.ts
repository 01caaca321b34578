/** Making the vectors of every row those of the running model: after a model was installed or exchanged, for the CLI and `cuba_zafra`. */
import type { Embedder } from "../../inference/port.ts";
import type { CallScope, Progress } from "../../kernel/context.ts";
import { ANSWER_RESERVE_MS, type Deadline } from "../../kernel/deadline.ts";
import { unavailable } from "../../kernel/errors.ts";
import type { Database } from "../../store/port.ts";
import {
  type StaleRank,
  staleTexts,
  staleTextsOf,
  type TextToEmbed,
  type VectorKind,
  vectorKinds,
} from "../../store/queries/observations-vectors.ts";
import { FIRST_ID } from "../../store/queries/windows.ts";
import { createStaleRows } from "./stale.ts";
import type { Vectors } from "./vectors.ts";

/** Rows read, embedded and stored at once; what an interruption costs. */
const ROUND_TEXTS = 16;
/** Rows whose order is known at once; for more the table is walked again from where they end. */
const ORDERED = 5_000;
/** Reads go on when the request is given up: the walk ends between two rounds, with a report. */
const quiet = ({ principal, scope }: CallScope): CallScope => ({ principal, scope, signal: new AbortController().signal });

export interface ReembedRequest extends CallScope {
  /** Every row, those with a vector of the running model included. */
  readonly all?: boolean;
  /** At most so many rows of each kind, the most important first; without it all, by id. */
  readonly limit?: number;
  /** Stops before it and answers what is done. */
  readonly deadline: Deadline;
  readonly progress: Progress;
  /** Rows between two progress reports; a twentieth of all by default. */
  readonly progressEvery?: number;
}

export interface ReembedReport {
  readonly model: string;
  readonly dimensions: number;
  /** Rows that were due at the start, at most `limit` a kind. */
  readonly due: number;
  readonly fetched: number;
  readonly updated: number;
  /** Rows that could not be embedded; they keep what they had. */
  readonly failed: number;
  /** Rows still without a vector of this model. */
  readonly remaining: number;
  readonly updatedByKind: Readonly<Record<VectorKind, number>>;
}

export interface Reembed {
  /**
   * Resumable: each round is stored before the next begins, and a row that is done is no longer due. An aborted signal ends it between two
   * texts and is no error. @throws MemoryError `unavailable` where no model is installed: a made-up vector never replaces a real one.
   */
  run(request: ReembedRequest): Promise<ReembedReport>;
  /** False where there is no model to compute with. */
  ready(): boolean;
}

/** The same, and tells once vectors may be others, however the run ended: what was made of the old ones must go. */
export const reembedThen = (reembed: Reembed, onChanged: () => void): Reembed => ({
  ...reembed,
  run: (request) => reembed.run(request).finally(onChanged),
});

export function createReembed({
  db,
  embedder,
  vectors,
}: {
  readonly db: Database;
  readonly embedder: Embedder;
  readonly vectors: Vectors;
}): Reembed {
  const stale = createStaleRows({ db });
  const count = async (request: ReembedRequest, all: boolean): Promise<number> => {
    let found = 0;
    for (const kind of vectorKinds)
      found += await stale.count(quiet(request), { kind, label: embedder.label, all, most: request.limit ?? Number.POSITIVE_INFINITY });
    return found;
  };

  /** The texts of one kind, the most important first, page by page. */
  async function* byImportance(request: ReembedRequest, kind: VectorKind, limit: number): AsyncGenerator<TextToEmbed[]> {
    const { label } = embedder;
    let behind: StaleRank | undefined;
    for (let left = limit; left > 0; left -= ORDERED) {
      const most = Math.min(ORDERED, left);
      const ranks = await stale.best(quiet(request), { kind, label, behind, most });
      for (let at = 0; at < ranks.length; at += ROUND_TEXTS) {
        const ids = ranks.slice(at, at + ROUND_TEXTS).map(({ id }) => id);
        const texts = await db.read(quiet(request), (tx) => tx.all(staleTextsOf({ kind, label, ids })));
        if (texts.length > 0) yield texts;
      }
      behind = ranks.at(-1);
      if (ranks.length < most) return;
    }
  }

  /** The texts of one kind, page by page. */
  async function* pages(request: ReembedRequest, kind: VectorKind): AsyncGenerator<TextToEmbed[]> {
    const { scope, limit, all = false } = request;
    const { label } = embedder;
    if (limit !== undefined && !all) return yield* byImportance(request, kind, limit);
    let after = FIRST_ID;
    for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; ) {
      const size = Math.min(ROUND_TEXTS, left);
      const from = after;
      const texts = await db.read(quiet(request), (tx) => tx.all(staleTexts({ kind, label, all, scope, after: from, limit: size })));
      const last = texts.at(-1);
      if (last === undefined) return;
      yield texts;
      after = last.id;
      left -= texts.length;
    }
  }

  const ready = () => !["missing", "failed"].includes(embedder.status().state);

  return {
    ready,
    async run(request) {
      const status = embedder.status();
      if (status.state === "missing" || status.state === "failed")
        throw unavailable(`Nothing was written, because there is no embedding model to compute with. ${status.reason}`);
      const due = await count(request, request.all ?? false);
      const every = request.progressEvery ?? Math.max(1, Math.floor(due / 20));
      const updatedByKind: Record<VectorKind, number> = { observation: 0, chunk: 0, episode: 0, procedure: 0 };
      let fetched = 0;
      let failed = 0;
      let reported = 0;
      const over = () => request.signal.aborted || request.deadline.remainingMs() < ANSWER_RESERVE_MS;
      walk: for (const kind of vectorKinds) {
        if (over()) break;
        for await (const texts of pages(request, kind)) {
          const round = await vectors.embed(request, texts);
          fetched += texts.length;
          failed += round.failed.length;
          updatedByKind[kind] += round.stored;
          if (fetched - reported >= every) {
            reported = fetched;
            request.progress(Math.min(fetched, due), due, `${kind}s`);
          }
          if (round.stopped || over()) break walk;
        }
      }
      await vectors.takeSigns();
      const updated = Object.values(updatedByKind).reduce((sum, each) => sum + each, 0);
      return {
        model: embedder.label,
        dimensions: embedder.dimensions,
        due,
        fetched,
        updated,
        failed,
        remaining: await count({ ...request, limit: Number.MAX_SAFE_INTEGER }, false),
        updatedByKind,
      };
    },
  };
}
