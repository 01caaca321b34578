/**
 * Requests of the daemon to the client (sampling, roots) as they pass a bridge. Each daemon numbers from `srv_1`; the client sees every number once,
 * so a late answer to a daemon that is gone is never taken for an answer to its successor.
 */
import { type RequestId, readEnvelope } from "../mcp/protocol.ts";
import type { DaemonLink } from "./daemon-link.ts";

export interface ServerRequests {
  /** Passes a request on, under another id where this one was used before. */
  forward(of: DaemonLink, id: RequestId, text: string): void;
  /** The daemon that asked, also one that is on its way out, and the client's answer as that one wants it; undefined where nobody waits any more. */
  answerFor(text: string): { readonly link: DaemonLink; readonly text: string } | undefined;
  /** That daemon is gone. @param tell cancel the requests at the client */
  forget(of: DaemonLink, tell: boolean): void;
}

const numbered = /^srv_(\d{1,15})$/;

export function createServerRequests(toClient: (line: string) => void): ServerRequests {
  const open = new Map<RequestId, { readonly link: DaemonLink; readonly id: RequestId }>();
  let highest = 0;

  const outward = (id: RequestId): RequestId => {
    const number = typeof id === "string" ? Number(numbered.exec(id)?.[1] ?? 0) : 0;
    if (number > highest) {
      highest = number;
      return id;
    }
    return number === 0 && !open.has(id) ? id : `srv_${++highest}`;
  };
  return {
    forward(of, id, text) {
      const seen = outward(id);
      open.set(seen, { link: of, id });
      toClient(seen === id ? text : withId(text, seen));
    },
    answerFor(text) {
      const envelope = readEnvelope(JSON.parse(text));
      if (envelope.kind !== "response") return undefined;
      const asked = open.get(envelope.id);
      open.delete(envelope.id);
      if (asked === undefined) return undefined;
      return { link: asked.link, text: asked.id === envelope.id ? text : withId(text, asked.id) };
    },
    forget(of, tell) {
      for (const [seen, { link }] of open) {
        if (link !== of) continue;
        open.delete(seen);
        if (!tell) continue;
        const params = { requestId: seen, reason: "the memory daemon that asked is gone" };
        toClient(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params }));
      }
    },
  };
}

function withId(text: string, id: RequestId): string {
  const message: unknown = JSON.parse(text);
  return JSON.stringify({ ...(typeof message === "object" ? message : {}), id });
}
