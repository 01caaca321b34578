/** The line in front of a serial session: questions before passages, each kind in the order it came; whoever gives up leaves at once. */
import { cancelled, timedOut } from "../../kernel/errors.ts";
import type { EmbedRole } from "../port.ts";

/** What is wanted of a text: its vector, or those of its tokens. */
export type Wanted = "vector" | "tokens";

export interface Ticket<T = Float32Array> {
  readonly text: string;
  readonly role: EmbedRole;
  readonly wanted: Wanted;
  resolve(answer: T): void;
  reject(error: unknown): void;
}

/** What a caller that gave up is told, by why its signal fired. */
export function gaveUp(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof DOMException && reason.name === "TimeoutError"
    ? timedOut("The embedding model did not answer within the time of this call; it goes on loading. Nothing was written. Ask again.", {
        cause: reason,
      })
    : cancelled();
}

export interface Lane<T = Float32Array> {
  /**
   * Stands in line for one text of a call. Rejects when the call is aborted; a text already handed out is then finished for nobody. A text that fails takes
   * the rest of its call out of the line.
   */
  enter(text: string, role: EmbedRole, call: AbortController, wanted?: Wanted): Promise<T>;
  /** The next ticket, questions first; undefined where nobody waits. */
  next(): Ticket<T> | undefined;
  /** Sends everybody away with `error`. */
  clear(error: unknown): void;
  readonly waiting: number;
}

export function createLane<T = Float32Array>(): Lane<T> {
  const lines: Readonly<Record<EmbedRole, Set<Ticket<T>>>> = { query: new Set(), passage: new Set() };
  return {
    enter(text, role, call, wanted = "vector") {
      const { signal } = call;
      // Tokens are read for a question, whatever the role of the text: it must not wait behind a backlog of writes.
      const line = lines[wanted === "tokens" ? "query" : role];
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const leave = () => signal.removeEventListener("abort", onAbort);
      const ticket: Ticket<T> = {
        text,
        role,
        wanted,
        resolve: (answer) => {
          leave();
          resolve(answer);
        },
        reject: (error) => {
          leave();
          reject(error);
          call.abort(error);
        },
      };
      const onAbort = () => {
        line.delete(ticket);
        ticket.reject(gaveUp(signal));
      };
      signal.addEventListener("abort", onAbort, { once: true });
      line.add(ticket);
      return promise;
    },
    next() {
      for (const role of ["query", "passage"] as const) {
        for (const ticket of lines[role]) {
          lines[role].delete(ticket);
          return ticket;
        }
      }
      return undefined;
    },
    clear(error) {
      for (const line of Object.values(lines)) {
        for (const ticket of line) ticket.reject(error);
        line.clear();
      }
    },
    get waiting() {
      return lines.query.size + lines.passage.size;
    },
  };
}
