/** A daemon that is this very process (`MEMORY_INDUSTRY_DAEMON=off`): the same link, without a socket. What a bridge does for its client is then done here too. */
import { unavailable } from "../kernel/errors.ts";
import type { Connection, OutgoingMessage } from "../mcp/connection.ts";
import type { DaemonLink, LinkHandlers } from "./daemon-link.ts";
import { readLine } from "./lines.ts";

/** @param connect opens the conversation; called once */
export function linkInProcess(version: string, connect: (send: (message: OutgoingMessage) => void) => Connection): DaemonLink {
  const pending = new Set<Promise<void>>();
  const closed = Promise.withResolvers<void>();
  let handlers: LinkHandlers | undefined;
  let open = true;

  const say = (message: OutgoingMessage) => handlers?.onLine(JSON.stringify(message));
  const connection = connect(say);
  const close = () => {
    if (!open) return;
    open = false;
    connection.close();
    closed.resolve();
    handlers?.onClosed(undefined);
  };
  return {
    welcome: { version, pid: process.pid, owner: "serve", command: [], differs: [] },
    ready: Promise.resolve(),
    attach(to) {
      handlers = to;
    },
    send(text) {
      const incoming = readLine({ kind: "text", text });
      if (incoming.kind === "fault") return say(incoming.answer);
      const work = connection.handle(incoming.message).then((answer) => {
        if (answer !== undefined) say(answer);
      });
      pending.add(work);
      void work.finally(() => pending.delete(work));
    },
    ask: () => Promise.reject(unavailable("There is no daemon: everything runs in this process.")),
    async finish(limitMs) {
      const timer = setTimeout(close, limitMs);
      while (open && pending.size > 0) await Promise.race([Promise.allSettled(pending), closed.promise]);
      clearTimeout(timer);
      close();
    },
    abort: close,
    closed: closed.promise,
    farewell: () => undefined,
  };
}
