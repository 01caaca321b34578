/** A walk over a table by id, one transaction a window. */
import type { CallScope } from "../../kernel/context.ts";
import type { Tx } from "../../store/port.ts";
import { FIRST_ID, type Walkable, type Window, windowEnd } from "../../store/queries/windows.ts";
import { inSlices, type Pace } from "./pace.ts";
import type { RemParts } from "./phase.ts";

export interface Walk {
  readonly table: Walkable;
  /** Rows of the first window, and of the largest. */
  readonly first: number;
  readonly most: number;
  readonly writes: boolean;
}

/**
 * Calls `step` for one window after the other, until the table ends or it answers `stop`. A step that could not finish its window answers the id up to
 * which it came.
 */
export async function walk(
  ctx: CallScope & { readonly pace: Pace },
  { db }: Pick<RemParts, "db">,
  { table, first, most, writes }: Walk,
  step: (tx: Tx, window: Window, size: number) => Promise<{ readonly upTo?: string | undefined; readonly stop?: boolean } | undefined>,
): Promise<void> {
  let after = FIRST_ID;
  await inSlices(ctx.pace, ctx.signal, { first, most }, async (size) => {
    const work = async (tx: Tx) => {
      const end = (await tx.first(windowEnd({ table, after, size })))?.id;
      return { end, done: await step(tx, { after, upTo: end }, size) };
    };
    const { end, done } = await (writes ? db.write(ctx, work) : db.read(ctx, work));
    const reached = done?.upTo ?? end;
    if (reached === undefined || done?.stop === true) return false;
    after = reached;
    return true;
  });
}
