/** The way out of a process that owns a database: answer, drain, close, in that order, and never longer than its cap. */
import { causeChain } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { ServedApp } from "./served-app.ts";

/** From the decision to stop to the end of the process (`cli-daemon.md` §4.9). */
export const LEAVE_WITHIN_MS = 30_000;

/** Queued embeddings get at most this (`cli-daemon.md` §1). */
const DRAIN_MS = 10_000;

/** Kept for closing the database and releasing the lock. */
const CLOSE_MS = 4_000;

/** What is left of the cap for requests in flight. */
export const ANSWER_WITHIN_MS = LEAVE_WITHIN_MS - DRAIN_MS - CLOSE_MS;

/** Resolves with the value, or with undefined after `ms`. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Drains background writes and closes the product. Failures are logged: the caller is on its way out and must reach its end. */
export async function drainAndClose(app: ServedApp, log: Logger): Promise<void> {
  try {
    const lost = await within(DRAIN_MS + 1_000, app.drain(DRAIN_MS));
    if (lost === undefined) log.error("background writes did not finish; their vectors are missing. Repair with cuba_zafra action=reembed");
    else if (lost > 0)
      log.error("background writes did not finish; their vectors are missing. Repair with cuba_zafra action=reembed", { lost });
  } catch (error) {
    log.error("draining failed", { cause: causeChain(error) });
  }
  try {
    const closed = await within(
      CLOSE_MS,
      app.close().then(() => true),
    );
    if (closed === undefined) log.error("closing the database took too long and was given up; the next start recovers it");
  } catch (error) {
    log.error("closing failed", { cause: causeChain(error) });
  }
}
