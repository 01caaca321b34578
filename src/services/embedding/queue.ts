/**
 * The embedding queue (`tools-graph.md` §3.13): vectors are computed after the answer, from what the database says is missing, so a
 * restart loses nothing. Small rounds, one text at a time; between two rounds whoever waits for the database or the model has a turn.
 */
import type { Embedder } from "../../inference/port.ts";
import type { CallScope } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Database } from "../../store/port.ts";
import { countWithoutVector, type TextToEmbed, textsWithoutVector, vectorKinds } from "../../store/queries/observations-vectors.ts";
import type { Vectors } from "./vectors.ts";

/** Texts of one round: its write holds the embedded database for some 10 ms. */
const ROUND_TEXTS = 8;
/** Tries of one text before it waits for the next start or `reembed`. */
const MAX_TRIES = 3;
/** Rounds in a row that neither stored nor failed (texts that change under the model) before the queue pauses. */
const MAX_IDLE_ROUNDS = 5;
/** Texts remembered as failing; beyond, the oldest is tried again. */
const REMEMBERED_FAILURES = 500;
/** Pauses after a round that failed as a whole, milliseconds. */
const PAUSES_MS = [1_000, 5_000, 30_000, 300_000];
/** What a drain reports at most. */
const COUNTED_ROWS = 10_000;

export interface EmbeddingQueue {
  /** Something was stored, or a model appeared: look for texts without a vector. Returns at once, never throws. */
  poke(): void;
  /**
   * Embeds up to `limit` texts that have no vector, kind after kind, the most important of each first (the consolidation cycle).
   * @param signal ends it after the text that the model has; what was embedded is stored.
   * @returns vectors stored.
   */
  backfill(limit: number, signal: AbortSignal): Promise<number>;
  /** Waits until no text is left to embed, at most `limitMs`. @returns how many have no vector yet; 0 where no model is there to make one. */
  drain(limitMs: number): Promise<number>;
  /**
   * Waits for the vectors of the last few writes, at most `limitMs`: whoever reads its own write finds it ranked as it will be. Returns at once where
   * nothing waits, and where more waits than one round: nobody's question waits for a backlog. Never throws.
   */
  caughtUp(limitMs: number): Promise<void>;
  /** Rounds end; what runs is given up. Texts without a vector wait in the database. */
  stop(): Promise<void>;
}

export interface EmbeddingQueueParts {
  readonly db: Database;
  readonly embedder: Embedder;
  readonly vectors: Vectors;
  readonly log: Logger;
  /** Runs `work` after `ms`; a test passes its own. */
  readonly later?: (work: () => void, ms: number) => void;
}

const unreferenced = (work: () => void, ms: number) => void setTimeout(work, ms).unref();

export function createEmbeddingQueue({ db, embedder, vectors, log, later = unreferenced }: EmbeddingQueueParts): EmbeddingQueue {
  const ending = new AbortController();
  const ctx: CallScope = { principal: { kind: "system", id: "embedding" }, scope: { kind: "everything" }, signal: ending.signal };
  /** Failed tries by row; a row that is out of tries is left alone. */
  const tries = new Map<string, number>();
  let running: Promise<void> | undefined;
  let again = false;
  let failures = 0;
  let pausing = false;
  /** More texts wait than the round that runs takes. */
  let behind = false;
  /** Told when `behind` turns true. */
  const waiting = new Set<() => void>();

  const canEmbed = () => {
    const { state } = embedder.status();
    return state !== "missing" && state !== "failed" && !ending.signal.aborted;
  };

  const spent = () => [...tries].filter(([, count]) => count >= MAX_TRIES).map(([id]) => id);

  const next = (first: "newest" | "important", limit: number): Promise<TextToEmbed[]> =>
    db.read(ctx, async (tx) => {
      const found: TextToEmbed[] = [];
      for (const kind of vectorKinds) {
        if (found.length >= limit) break;
        found.push(...(await tx.all(textsWithoutVector({ kind, first, except: spent(), limit: limit - found.length }))));
      }
      return found;
    });

  const remember = (failed: readonly string[]) => {
    for (const id of failed) {
      const count = (tries.get(id) ?? 0) + 1;
      tries.delete(id);
      tries.set(id, count);
    }
    for (const id of tries.keys()) {
      if (tries.size <= REMEMBERED_FAILURES) break;
      tries.delete(id);
    }
  };

  /** Rounds until nothing is left or the model is gone. */
  const work = async () => {
    let idle = 0;
    behind = false;
    do {
      again = false;
      while (canEmbed()) {
        const texts = await next("newest", ROUND_TEXTS);
        behind = texts.length === ROUND_TEXTS;
        if (behind) for (const giveUp of waiting) giveUp();
        if (texts.length === 0) break;
        const round = await vectors.embed(ctx, texts);
        remember(round.failed);
        if (round.stopped) return;
        idle = round.stored + round.failed.length > 0 ? 0 : idle + 1;
        if (idle === MAX_IDLE_ROUNDS) throw new Error("no vector could be stored");
        failures = 0;
        // A turn for everybody else, requests that came in meanwhile included.
        await new Promise((resolve) => setImmediate(resolve));
      }
    } while (again && canEmbed());
  };

  const start = (): Promise<void> => {
    running ??= work()
      .catch((cause: unknown) => {
        if (ending.signal.aborted) return;
        const pauseMs = PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)] ?? 0;
        failures++;
        log.warn("the embedding queue pauses", { pauseMs, cause: causeChain(cause) });
        pausing = true;
        later(() => {
          pausing = false;
          poke();
        }, pauseMs);
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  };

  const poke = () => {
    again = true;
    if (!pausing && canEmbed()) void start();
  };

  return {
    poke,

    async backfill(limit, signal) {
      const mine: CallScope = { ...ctx, signal: AbortSignal.any([ending.signal, signal]) };
      let stored = 0;
      let left = limit;
      for (const kind of vectorKinds) {
        while (left > 0 && canEmbed() && !signal.aborted) {
          const want = Math.min(left, ROUND_TEXTS);
          const texts = await db.read(mine, (tx) => tx.all(textsWithoutVector({ kind, first: "important", except: spent(), limit: want })));
          if (texts.length === 0) break;
          const round = await vectors.embed(mine, texts);
          remember(round.failed);
          stored += round.stored;
          left -= texts.length;
          if (round.stopped) return stored;
        }
      }
      return stored;
    },

    async drain(limitMs) {
      if (!canEmbed()) return 0;
      const timer = Promise.withResolvers<"late">();
      const handle = setTimeout(() => timer.resolve("late"), limitMs);
      try {
        // A text stored while the last round ran starts another; the first look finds out.
        again = true;
        const done = await Promise.race([start().then(() => (again && !pausing && canEmbed() ? start() : undefined)), timer.promise]);
        if (!canEmbed() || (done !== "late" && !pausing && spent().length === 0)) return 0;
        const left = await db.read(ctx, (tx) => tx.first(countWithoutVector({ limit: COUNTED_ROWS })));
        return left?.count ?? 0;
      } finally {
        clearTimeout(handle);
      }
    },

    async caughtUp(limitMs) {
      if (running === undefined || pausing || behind) return;
      const given = Promise.withResolvers<void>();
      const handle = setTimeout(given.resolve, limitMs);
      waiting.add(given.resolve);
      try {
        await Promise.race([running, given.promise]);
      } finally {
        clearTimeout(handle);
        waiting.delete(given.resolve);
      }
    },

    async stop() {
      ending.abort();
      await running?.catch(() => undefined);
    },
  };
}
