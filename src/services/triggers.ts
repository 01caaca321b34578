/** Prospective memory (`tools-cognition.md` §13) as its owners see it: set a reminder, leave a note, list, delete, check. */
import { parseInstant } from "../domain/timestamps.ts";
import { type CallContext, everywhere, projectOf } from "../kernel/context.ts";
import { invalid, notFound } from "../kernel/errors.ts";
import type { Database, RowOf } from "../store/port.ts";
import { type FiredReminder, fireForAddress, fireForSubject, lookForAddress, lookForSubject } from "../store/queries/reminders.ts";
import { deleteTrigger, insertTrigger, triggerCount, triggerList, type Viewer } from "../store/queries/triggers.ts";
import type { Page } from "./observations/observations.ts";
import { addressesOf } from "./reminders.ts";

export const triggerConditions = ["on_access", "on_session_start", "on_error_match"] as const;
export type TriggerCondition = (typeof triggerConditions)[number];

export interface NewTrigger {
  readonly pattern: string;
  readonly condition: TriggerCondition;
  readonly message: string;
  /** −1 = unlimited, else 1–10,000. */
  readonly maxFires: number;
  /** RFC 3339, in the future. */
  readonly expiresAt: string | undefined;
}

type TriggerRow = RowOf<typeof triggerList>;

export interface Triggers {
  /** @throws MemoryError `invalid` for an expiry that has passed. */
  create(ctx: CallContext, trigger: NewTrigger): Promise<{ readonly id: string }>;
  /** Active ones, newest first: reminders in scope, and notes from or to this client. */
  list(ctx: CallContext, page: Page): Promise<{ readonly rows: readonly TriggerRow[]; readonly total: number }>;
  /** @throws MemoryError `not_found`, also for what this client may not see. */
  remove(ctx: CallContext, id: string): Promise<void>;
  /** What waits for a subject, at most 10, oldest first; it has fired then, unless `dryRun`. */
  check(ctx: CallContext, asked: { condition: TriggerCondition; subject: string; dryRun: boolean }): Promise<readonly FiredReminder[]>;
}

export interface TriggersParts {
  readonly db: Database;
  readonly now: () => Date;
}

/** Reminders of the project, and notes that carry this client as sender or address. */
const viewerOf = (ctx: CallContext): Viewer => {
  const addresses = addressesOf(ctx.client);
  // Whoever cannot be recognised again owns no note: all such clients are called the same.
  return ctx.bound ? { scope: ctx.scope, sender: addresses[0] ?? ctx.client, addresses } : { scope: ctx.scope, sender: "", addresses: [] };
};

export function createTriggers({ db, now }: TriggersParts): Triggers {
  return {
    async create(ctx, { pattern, condition, message, maxFires, expiresAt }) {
      const expiry = expiresAt === undefined ? undefined : parseInstant(expiresAt);
      if (expiry !== undefined && expiry.epochMicros <= BigInt(now().getTime()) * 1_000n)
        throw invalid("expires_at has passed, so this could never fire. Give an instant in the future. Nothing was written.", {
          field: "expires_at",
        });
      const isNote = condition === "on_session_start";
      const made = await db.write(ctx, (tx) =>
        tx.first(
          insertTrigger({
            pattern,
            condition,
            message,
            maxFires,
            expiresAt: expiry?.text,
            fromAgent: ctx.bound ? (addressesOf(ctx.client)[0] ?? null) : null,
            projectId: isNote ? null : projectOf(ctx.scope),
          }),
        ),
      );
      if (made === undefined) throw new Error("an insert returned no row");
      return made;
    },

    list: (ctx, page) =>
      db.read(ctx, async (tx) => ({
        rows: await tx.all(triggerList({ ...viewerOf(ctx), ...page })),
        total: (await tx.first(triggerCount(viewerOf(ctx))))?.count ?? 0,
      })),

    async remove(ctx, id) {
      const removed = await db.write(ctx, (tx) => tx.run(deleteTrigger({ ...viewerOf(ctx), id })));
      if (removed === 0)
        throw notFound("trigger", id, {
          where: "(within current project scope)",
          next: "Nothing was deleted. cuba_centinela action=list shows the reminders in scope and the notes from and to this client.",
        });
    },

    async check(ctx, { condition, subject, dryRun }) {
      if (subject === "") return [];
      if (condition === "on_session_start") {
        // A note is addressed, not scoped. This client's own names count as at the start of a session.
        const addresses = [...new Set([subject, ...(ctx.bound ? addressesOf(ctx.client) : [])])];
        const scope = { ...ctx, scope: everywhere };
        return dryRun
          ? await db.read(scope, (tx) => tx.all(lookForAddress({ addresses })))
          : await db.write(scope, (tx) => tx.all(fireForAddress({ addresses })));
      }
      const about = { condition, subject, scope: ctx.scope };
      return dryRun
        ? await db.read(ctx, (tx) => tx.all(lookForSubject(about)))
        : await db.write(ctx, (tx) => tx.all(fireForSubject(about)));
    },
  };
}
