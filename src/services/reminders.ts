/** Fires reminders. What is delivered was recorded as fired in the same statement; where that fails nothing is shown. */
import { type CallContext, everywhere, type Scope } from "../kernel/context.ts";
import { causeChain } from "../kernel/errors.ts";
import type { Database, Query } from "../store/port.ts";
import { type FiredReminder, fireForAddress, fireForSubject } from "../store/queries/reminders.ts";

export type { FiredReminder };

type Asking = Pick<CallContext, "principal" | "scope" | "signal" | "log">;

export interface Reminders {
  /**
   * @param text a longer text about the subject: a reminder fires also where it holds the pattern's words, or is nearly the pattern.
   * @returns what fired, oldest first; empty where nothing did or the store failed: a reminder never fails the call that meets it.
   */
  onSubject(ctx: Asking, condition: "on_access" | "on_error_match", subject: string, text?: string): Promise<readonly FiredReminder[]>;
  /** Notes to a session's name or to a client: bare label, `label@machine`, full key. */
  onSessionStart(ctx: Asking, sessionName: string, client: string): Promise<readonly FiredReminder[]>;
}

/** Every name a note may be addressed by to reach this client. */
export const addressesOf = (client: string): readonly string[] => {
  const withMachine = client.split("::")[0] ?? client;
  const label = withMachine.split("@")[0] ?? withMachine;
  return [...new Set([label, withMachine, client])];
};

export function createReminders({ db }: { readonly db: Database }): Reminders {
  const fire = async (ctx: Asking, scope: Scope, due: Query<FiredReminder>) => {
    try {
      return await db.write({ ...ctx, scope }, (tx) => tx.all(due));
    } catch (cause) {
      ctx.log.warn("reminders could not be fired", { cause: causeChain(cause) });
      return [];
    }
  };
  return {
    onSubject: (ctx, condition, subject, text) => fire(ctx, ctx.scope, fireForSubject({ condition, subject, text, scope: ctx.scope })),
    // A note is addressed, not scoped: it is delivered whatever project is active there.
    onSessionStart: (ctx, sessionName, client) =>
      fire(ctx, everywhere, fireForAddress({ addresses: [...new Set([sessionName, ...addressesOf(client)])] })),
  };
}
