/** Requests of ours to the client (sampling, roots) and progress notifications; works only where the transport has a way back. */
import type { Progress, Sampling } from "../kernel/context.ts";
import { type Deadline, signalUntil } from "../kernel/deadline.ts";
import { unavailable } from "../kernel/errors.ts";
import type { OutgoingMessage } from "./connection.ts";
import type { RequestId } from "./protocol.ts";

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface ClientRequests {
  /** Sends a request and waits for its answer. An error answer rejects: it is never taken for a result. */
  ask(method: string, params: unknown, signal: AbortSignal, id?: string): Promise<unknown>;
  /** Hands an answer to whoever waits for it; one that nobody waits for is dropped. */
  take(id: RequestId, result: unknown, error: unknown): void;
  isWaiting(id: string): boolean;
  sampling(deadline: Deadline): Sampling;
  /** Progress under the client's token; does nothing without one. */
  progress(token: unknown): Progress;
  /** Everybody who waits is told that the client is gone. */
  close(): void;
}

/** What the models of clients are asked for: judging wants thought more than speed. */
const modelPreferences = { intelligencePriority: 0.6, speedPriority: 0.4 };

export function createClientRequests(send: ((message: OutgoingMessage) => void) | undefined): ClientRequests {
  const waiting = new Map<string, Waiting>();
  let counter = 0;

  const ask: ClientRequests["ask"] = (method, params, signal, id = `srv_${++counter}`) => {
    if (send === undefined) return Promise.reject(unavailable("This connection has no way to ask the client."));
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        waiting.delete(id);
        reject(signal.reason);
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      const done = (then: () => void) => {
        signal.removeEventListener("abort", onAbort);
        waiting.delete(id);
        then();
      };
      waiting.set(id, { resolve: (result) => done(() => resolve(result)), reject: (error) => done(() => reject(error)) });
      send({ jsonrpc: "2.0", id, method, params });
    });
  };

  return {
    ask,
    take(id, result, error) {
      const asked = typeof id === "string" ? waiting.get(id) : undefined;
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(unavailable("The client refused or failed the request."));
    },
    isWaiting: (id) => waiting.has(id),
    sampling: (deadline) => ({
      async complete({ prompt, maxTokens }, signal) {
        using limit = signalUntil(deadline, signal);
        const messages = [{ role: "user", content: { type: "text", text: prompt } }];
        return sampledText(await ask("sampling/createMessage", { messages, maxTokens, modelPreferences }, limit.signal));
      },
    }),
    progress(token) {
      if (send === undefined || (typeof token !== "string" && typeof token !== "number")) return () => {};
      let last = Number.NEGATIVE_INFINITY;
      return (done, total, message) => {
        if (done <= last) return;
        last = done;
        const params = {
          progressToken: token,
          progress: done,
          ...(total === undefined ? {} : { total }),
          ...(message === undefined ? {} : { message }),
        };
        send({ jsonrpc: "2.0", method: "notifications/progress", params });
      };
    },
    close() {
      for (const { reject } of [...waiting.values()]) reject(unavailable("The client is gone."));
    },
  };
}

/** The text of a sampling result; several text parts are joined. */
function sampledText(result: unknown): string {
  const content: unknown = typeof result === "object" && result !== null ? Reflect.get(result, "content") : undefined;
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  const texts = parts.flatMap((part) => {
    const text: unknown = typeof part === "object" && part !== null ? Reflect.get(part, "text") : undefined;
    return typeof text === "string" ? [text] : [];
  });
  if (texts.length === 0) throw unavailable("The client's model answered without text.");
  return texts.join("\n");
}
