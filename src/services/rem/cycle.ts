/**
 * The consolidation cycle (REM, `tools-maintenance.md` §18): the phases of the registry one after another, each on its own, under a lock that one
 * process holds. Its row stands in the record from its first moment: a killed cycle leaves what it had done, and the next one simply runs again, since
 * every phase is idempotent.
 */
import type { CallScope } from "../../kernel/context.ts";
import { causeChain, MemoryError, present } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import {
  type CycleProgress,
  type CycleRow,
  cycleById,
  insertCycle,
  llmCallsToday,
  recentCycles,
  saveCycle,
  secondsSinceCycle,
  takeLlmCall,
} from "../../store/queries/rem-cycles.ts";
import type { Pace } from "../pace.ts";
import type { Phase, PhaseContext, PhaseOutcome, RemParts } from "./phase.ts";

/** `data-model.md` §12. */
const REM_LOCK = 917_222_295_528_144_948n;

export type CycleOutcome =
  | { readonly kind: "ran"; readonly cycle: CycleRow }
  /** Another cycle runs, here or in another process on this database. */
  | { readonly kind: "busy" }
  /** One has come to its end lately. */
  | { readonly kind: "recent"; readonly secondsAgo: number };

export interface CycleRequest {
  /** Ends the cycle between two slices; what was done stays and is recorded as interrupted. */
  readonly signal: AbortSignal;
  /** Runs only where no cycle has come to its end within so many seconds; without it, in any case. */
  readonly unlessWithinSecs?: number;
  readonly onPhase?: (done: number, total: number, name: string) => void;
}

export interface Rem {
  /** One cycle. @throws MemoryError where the database cannot be reached; a phase that fails is in the record. */
  run(request: CycleRequest): Promise<CycleOutcome>;
  /** Resolves when the cycle that runs in this process has ended; at once where none does. Never throws. */
  settled(): Promise<void>;
  recent(ctx: CallScope, limit: number): Promise<readonly CycleRow[]>;
  /** Questions that were put to a language model in this UTC day. */
  llmCallsToday(ctx: CallScope): Promise<number>;
}

export interface RemOptions extends RemParts {
  readonly phases: readonly Phase[];
  readonly pace: Pace;
  readonly log: Logger;
}

/** What the record says of a cycle that has not come to its end. */
const unfinished = (phase: string) => `unfinished: in phase ${phase} when this was written; it still runs, or its process ended there`;

const NOTHING: CycleProgress = {
  decayedCount: 0,
  autolinkEdges: 0,
  embeddingsBackfilled: 0,
  entitiesScanned: 0,
  factsExtracted: 0,
  communities: 0,
  duplicateCandidates: 0,
  relationScanFailed: 0,
  extractionFailed: 0,
  llmCalls: 0,
  phases: {},
  error: null,
};

type PhaseEntry = CycleProgress["phases"][string];

function withPhase(before: CycleProgress, { name, columns }: Phase, outcome: PhaseOutcome, entry: PhaseEntry): CycleProgress {
  return {
    ...before,
    ...(columns === undefined ? {} : { [columns.count]: outcome.count }),
    ...(columns?.failed === undefined ? {} : { [columns.failed]: outcome.failed ?? 0 }),
    phases: { ...before.phases, [name]: entry },
  };
}

export function createRem(options: RemOptions): Rem {
  const { db, phases, pace, log, settings } = options;
  let running: Promise<CycleOutcome> | undefined;
  /** Recording goes on when the cycle is told to stop. */
  const recorder: CallScope = {
    principal: { kind: "system", id: "rem" },
    scope: { kind: "everything" },
    signal: new AbortController().signal,
  };

  const runPhase = async (phase: Phase, ctx: PhaseContext): Promise<{ readonly outcome: PhaseOutcome; readonly entry: PhaseEntry }> => {
    const startedAt = pace.now();
    const took = () => Math.round(pace.now() - startedAt);
    try {
      const outcome = await phase.run(ctx, options);
      const { count, skipped, note } = outcome;
      return {
        outcome,
        entry: { count, ms: took(), ...(skipped === undefined ? {} : { skipped }), ...(note === undefined ? {} : { note }) },
      };
    } catch (cause) {
      if (ctx.signal.aborted) throw cause;
      log.warn("a phase of the consolidation cycle failed", { phase: phase.name, cause: causeChain(cause) });
      return { outcome: { count: 0 }, entry: { count: 0, ms: took(), error: present(cause).text } };
    }
  };

  const cycle = async ({ signal, onPhase }: CycleRequest): Promise<CycleRow> => {
    const made = await db.write(recorder, (tx) => tx.first(insertCycle({ error: unfinished(phases[0]?.name ?? "none") })));
    if (made === undefined) throw new Error("an insert returned no row");
    const { id } = made;
    let progress = NOTHING;
    const save = (error: string | null) => db.write(recorder, (tx) => tx.run(saveCycle(id, { ...progress, error })));
    const budget = {
      take: async () => {
        return (await db.write(recorder, (tx) => tx.first(takeLlmCall({ id, cap: settings.llmDailyCap })))) !== undefined;
      },
    };
    const ctx: PhaseContext = { ...recorder, signal, pace, budget, log };
    let error: string | null = null;
    for (const [at, phase] of phases.entries()) {
      onPhase?.(at, phases.length, phase.name);
      if (error === null && signal.aborted) error = `interrupted before phase ${phase.name}: the program was told to stop`;
      if (error !== null) break;
      if (at > 0) await save(unfinished(phase.name));
      try {
        const { outcome, entry } = await runPhase(phase, ctx);
        progress = withPhase(progress, phase, outcome, entry);
      } catch (cause) {
        log.debug("the consolidation cycle was interrupted", { phase: phase.name, cause: causeChain(cause) });
        error = `interrupted in phase ${phase.name}: the program was told to stop`;
      }
    }
    onPhase?.(phases.length, phases.length, "done");
    const failures = Object.entries(progress.phases).flatMap(([name, entry]) =>
      entry.error === undefined ? [] : [`${name}: ${entry.error}`],
    );
    const errors = [...failures, ...(error === null ? [] : [error])];
    await save(errors.length === 0 ? null : errors.join(" | "));
    const row = await db.read(recorder, (tx) => tx.first(cycleById({ id })));
    if (row === undefined) throw new MemoryError("conflict", "The record of the cycle was deleted while it ran. Its work stays.");
    return row;
  };

  const once = async (request: CycleRequest): Promise<CycleOutcome> => {
    await using lock = await db.tryLock(REM_LOCK);
    if (lock === undefined) return { kind: "busy" };
    if (request.unlessWithinSecs !== undefined) {
      const last = await db.read(recorder, (tx) => tx.first(secondsSinceCycle({ lastPhase: phases.at(-1)?.name ?? "none" })));
      if (last !== undefined && last.seconds < request.unlessWithinSecs) return { kind: "recent", secondsAgo: last.seconds };
    }
    const row = await cycle(request);
    log.info("consolidation cycle", { ms: row.durationMs, error: row.error ?? undefined, phases: Object.keys(row.phases).length });
    return { kind: "ran", cycle: row };
  };

  return {
    async run(request) {
      if (running !== undefined) return { kind: "busy" };
      const mine = once(request).finally(() => {
        running = undefined;
      });
      running = mine;
      return await mine;
    },
    settled: async () => {
      await running?.then(
        () => undefined,
        () => undefined,
      );
    },
    recent: (ctx, limit) => db.read(ctx, (tx) => tx.all(recentCycles({ limit }))),
    llmCallsToday: async (ctx) => (await db.read(ctx, (tx) => tx.first(llmCallsToday())))?.count ?? 0,
  };
}
