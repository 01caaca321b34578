/** A walk over a table by id, one transaction a window. */
import type { CallScope } from "../kernel/context.ts";
import type { Database, Tx } from "../store/port.ts";
import { FIRST_ID, type Walkable, type Window, windowEnd } from "../store/queries/windows.ts";
import { inSlices, type Pace } from "./pace.ts";

export interface Walk {
  readonly table: Walkable;
  /** Rows of the first window, and of the largest. */
  readonly first: number;
  readonly most: number;
  readonly writes: boolean;
}

/** What a step answers; nothing where its window is done and there is nothing to add up. */
export interface Step {
  /** Up to where it came, where it could not finish its window. */
  readonly upTo?: string | undefined;
  readonly stop?: boolean;
  /** Adds up what it did. Called once, after its transaction: the step itself runs again where that collides with another. */
  readonly committed?: () => void;
}

/**
 * Calls `step` for one window after the other, until the table ends or it answers `stop`. A step changes nothing outside of its transaction but in `committed`.
 */
export async function walk(
  ctx: CallScope & { readonly pace: Pace },
  { db }: { readonly db: Database },
  { table, first, most, writes }: Walk,
  step: (tx: Tx, window: Window, size: number) => Promise<Step | undefined>,
): Promise<void> {
  let after = FIRST_ID;
  await inSlices(ctx.pace, ctx.signal, { first, most }, async (size) => {
    const work = async (tx: Tx) => {
      const end = (await tx.first(windowEnd({ table, after, size })))?.id;
      return { end, done: await step(tx, { after, upTo: end }, size) };
    };
    const { end, done } = await (writes ? db.write(ctx, work) : db.read(ctx, work));
    done?.committed?.();
    const reached = done?.upTo ?? end;
    if (reached === undefined || done?.stop === true) return false;
    after = reached;
    return true;
  });
}
