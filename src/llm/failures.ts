/** How a chat backend's failure is told: slow, cancelled or broken. */
import { cancelled, MemoryError, timedOut, unavailable } from "../kernel/errors.ts";

const isTimeout = (reason: unknown): boolean => reason instanceof DOMException && reason.name === "TimeoutError";

/**
 * @param what the backend, as a sentence begins: `The chat endpoint`.
 * @returns the error to throw; one of ours passes unchanged.
 */
export function chatFailure(what: string, error: unknown, signal: AbortSignal): MemoryError {
  if (signal.aborted) {
    if (!isTimeout(signal.reason)) return cancelled();
    return timedOut(`${what} did not answer in time.`, { cause: error });
  }
  if (error instanceof MemoryError) return error;
  // The cause goes to the log; its text may hold an address with a password.
  return unavailable(`${what} could not be reached. 'memory-industry llm status' shows what is chosen.`, { cause: error });
}

/** An identifier of an error as a service gives it; anything longer or odder is somebody's prose and is not repeated. */
const IDENTIFIER = /^[a-z0-9_.-]{1,60}$/i;

/** A refusal by status and error type only: the body may repeat what was sent. */
export function refusedBy(what: string, status: number, body: unknown): MemoryError {
  const error: unknown = typeof body === "object" && body !== null ? Reflect.get(body, "error") : undefined;
  const type: unknown =
    typeof error === "object" && error !== null ? (Reflect.get(error, "type") ?? Reflect.get(error, "code")) : undefined;
  const named = typeof type === "string" && IDENTIFIER.test(type) ? ` (${type})` : "";
  return unavailable(`${what} answered with status ${status}${named}. 'memory-industry llm status' shows what is chosen.`);
}
