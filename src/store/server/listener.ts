/** One dedicated connection for LISTEN. It comes back by itself after a failure; what was notified meanwhile is lost, as NOTIFY promises nothing more. */
import type { Channel } from "../port.ts";
import type { Client } from "./client.ts";

/** First pause before a reconnection, milliseconds, doubled up to the last. */
const FIRST_PAUSE_MS = 2_000;
const LAST_PAUSE_MS = 300_000;

export interface ListenerOptions {
  readonly connect: (onNotification: (channel: string, payload: string) => void, onClose: () => void) => Promise<Client>;
  readonly firstPauseMs?: number;
}

export interface Listener extends AsyncDisposable {
  /** Resolves when the first LISTEN is in force. */
  listen(channel: Channel, onPayload: (payload: string) => void): Promise<AsyncDisposable>;
}

export function createListener(options: ListenerOptions): Listener {
  const handlers = new Map<Channel, Set<(payload: string) => void>>();
  const firstPauseMs = options.firstPauseMs ?? FIRST_PAUSE_MS;
  let client: Client | undefined;
  let connecting: Promise<Client> | undefined;
  let pauseMs = firstPauseMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;

  const dispatch = (channel: string, payload: string) => {
    for (const [name, set] of handlers) if (name === channel) for (const handler of set) handler(payload);
  };

  const open = async (): Promise<Client> => {
    const opened = await options.connect(dispatch, () => {
      client = undefined;
      reconnectLater();
    });
    for (const channel of handlers.keys()) await opened.script(`listen ${channel}`);
    client = opened;
    pauseMs = firstPauseMs;
    return opened;
  };

  const ensure = (): Promise<Client> => {
    connecting ??= open().finally(() => {
      connecting = undefined;
    });
    return connecting;
  };

  function reconnectLater(): void {
    if (closed || handlers.size === 0 || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      ensure().catch(reconnectLater);
    }, pauseMs);
    timer.unref();
    pauseMs = Math.min(pauseMs * 2, LAST_PAUSE_MS);
  }

  return {
    async listen(channel, onPayload) {
      const set = handlers.get(channel) ?? new Set();
      const isNew = set.size === 0;
      handlers.set(channel, set.add(onPayload));
      if (client === undefined) await ensure();
      else if (isNew) await client.script(`listen ${channel}`);
      return {
        async [Symbol.asyncDispose]() {
          set.delete(onPayload);
          if (set.size > 0 || handlers.get(channel) !== set) return;
          handlers.delete(channel);
          if (client?.alive) await client.script(`unlisten ${channel}`).catch(() => undefined);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      handlers.clear();
      clearTimeout(timer);
      const last = client ?? (await connecting?.catch(() => undefined));
      await last?.close();
    },
  };
}
