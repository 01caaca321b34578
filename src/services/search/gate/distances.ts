/** The distribution of a memory's vectors, fitted once in a while and shared by all questions of a project. */
import { setImmediate } from "node:timers/promises";
import { type Distribution, fitSteps } from "../../../domain/retrieval/abstention/shrinkage.ts";
import { type CallScope, projectOf } from "../../../kernel/context.ts";
import type { Clock } from "../../../kernel/deadline.ts";
import type { Database } from "../../../store/port.ts";
import { vectorSample } from "../../../store/queries/abstention.ts";
import { FIRST_ID } from "../../../store/queries/windows.ts";
import { createRemembered } from "./remembered.ts";

/** Fewer vectors say nothing about where a memory lies. */
export const LEAST_SAMPLES = 50;
/** Distributions kept, a d×d triangle each: 0.6 MB at 384 dimensions, 4 MB at 1,024. Fewer than two would refit for ever between two projects. */
const KEPT = 8;
/** Rows of one read: others get the database in between. */
const PAGE_ROWS = 500;
/** Longest stretch of arithmetic without letting others run, milliseconds. */
const SLICE_MS = 4;

export interface Distances {
  /** Undefined where there are too few vectors of this model. @throws MemoryError where the database does not answer. */
  of(scope: CallScope, label: string): Promise<Distribution | undefined>;
  forget(): void;
}

export function createDistances({ db, limit, clock }: { readonly db: Database; readonly limit: number; readonly clock: Clock }): Distances {
  const kept = createRemembered<Distribution | undefined>(KEPT, clock);
  // Two fits at once would take twice the memory and be no faster.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  };
  return {
    of(scope, label) {
      // Others wait for the same fit, so the one that asked first must not end it for all.
      const quiet: CallScope = { principal: scope.principal, scope: scope.scope, signal: new AbortController().signal };
      return kept.of(`${projectOf(scope.scope) ?? "all"} ${label}`, () =>
        inTurn(async () => fitted(await sampleOf(db, quiet, label, limit), clock)),
      );
    },
    forget: kept.forget,
  };
}

/** The first `limit` vectors by id. */
export async function sampleOf(db: Database, scope: CallScope, label: string, limit: number): Promise<Float32Array[]> {
  const samples: Float32Array[] = [];
  let after = FIRST_ID;
  while (samples.length < limit) {
    const from = after;
    const size = Math.min(PAGE_ROWS, limit - samples.length);
    const rows = await db.read(scope, (tx) => tx.all(vectorSample({ scope: scope.scope, label, after: from, limit: size })));
    for (const { vector } of rows) samples.push(vector);
    const end = rows.at(-1);
    if (end === undefined || rows.length < size) break;
    after = end.id;
  }
  return samples;
}

/** Fits in small slices, so that whoever else lives in this process is not held up. */
export async function fitted(samples: readonly Float32Array[], clock: Clock): Promise<Distribution | undefined> {
  if (samples.length < LEAST_SAMPLES) return undefined;
  const steps = fitSteps(samples);
  for (let until = clock() + SLICE_MS; ; ) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (clock() < until) continue;
    await setImmediate();
    until = clock() + SLICE_MS;
  }
}
