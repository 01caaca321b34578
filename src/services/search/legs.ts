/**
 * Legs of a search in one transaction, each of which may fail without taking the others along. A failed statement spoils its transaction,
 * and a savepoint a leg costs two round trips; so everything runs without, and only a search that failed runs once more with them.
 */
import type { CallContext, CallScope } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import type { Database, Tx } from "../../store/port.ts";

/** Every leg there is; what is lost with each stands in `degraded.ts`. */
export type Leg =
  | "words"
  | "text"
  | "vector"
  | "unseen"
  | "entity"
  | "associative"
  | "connections"
  | "session"
  | "neighbours"
  | "gate"
  | "peers";

export interface FailedLeg {
  readonly leg: Leg;
  readonly cause: unknown;
}

/**
 * Runs one leg; undefined where it failed, and then it is in the list of failures. Legs that need nothing of each other are asked for together: their
 * statements share round trips.
 */
export type RunLeg = <T>(leg: Leg, work: (tx: Tx) => Promise<T>) => Promise<T | undefined>;

export interface LegResult<T> {
  readonly value: T;
  readonly failed: readonly FailedLeg[];
}

/** Every statement of a search finds its rows by index; planning all of them anew took as long as running them (`0071`). */
const plans = { byKey: true } as const;

/** @throws what the database throws where no transaction is possible at all, and where the call is over. */
export async function runLegs<T>(
  db: Database,
  ctx: CallScope & Pick<CallContext, "log">,
  work: (run: RunLeg, tx: Tx) => Promise<T>,
): Promise<LegResult<T>> {
  try {
    return { value: await db.read(ctx, (tx) => work((_leg, part) => part(tx), tx), plans), failed: [] };
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    // What fails once and not again leaves no other trace.
    ctx.log.debug("a search failed and runs once more, each part by itself", { cause: causeChain(error) });
  }
  const again = async (tx: Tx) => {
    const failed: FailedLeg[] = [];
    /** Legs that are asked for together run one after another here: savepoints are a stack. */
    let last: Promise<unknown> = Promise.resolve();
    const run: RunLeg = (leg, part) => {
      const done = last.then(async () => {
        try {
          return await tx.savepoint(part);
        } catch (cause) {
          if (ctx.signal.aborted) throw cause;
          failed.push({ leg, cause });
          return undefined;
        }
      });
      last = done.catch(() => undefined);
      return done;
    };
    return { value: await work(run, tx), failed };
  };
  return db.read(ctx, again, plans);
}
