/** The live bus for viewers (`cli-daemon.md` §4.8; kinds in `sync.md` §15.4): published after the commit, kept nowhere. */
import { newId } from "../kernel/ids.ts";

export interface BusEvent {
  readonly kind: string;
  /** RFC 3339. */
  readonly at: string;
  readonly payload: unknown;
}

export interface EventBus {
  publish(kind: string, payload: unknown): void;
  /** A stream of server-sent events; ends with {@link EventBus.close} or when its reader goes. */
  stream(): ReadableStream<string>;
  /** A single-use key for one stream, so that the long-lived token appears in no address. */
  ticket(): string;
  /** Uses a ticket up; false where it is unknown, used or too old. */
  redeem(ticket: string): boolean;
  readonly readers: number;
  /** Ends every stream at once. */
  close(): void;
}

/** Events kept for a reader that does not keep up; then it is told that it lags. */
const BUFFERED = 256;
export const TICKET_SECS = 120;
/** Tickets not yet used; more are nobody's honest need. */
const MAX_TICKETS = 1_000;
/** Comments that keep proxies and idle timers from cutting a quiet stream. */
const KEEP_ALIVE_MS = 15_000;

interface Reader {
  readonly send: (text: string) => void;
  readonly end: () => void;
}

export function createEventBus(now: () => Date = () => new Date()): EventBus {
  const readers = new Set<Reader>();
  const tickets = new Map<string, number>();

  const openStream = (): ReadableStream<string> => {
    let missed = 0;
    let timer: ReturnType<typeof setInterval> | undefined;
    let reader: Reader | undefined;
    const leave = () => {
      clearInterval(timer);
      if (reader !== undefined) readers.delete(reader);
    };
    return new ReadableStream<string>(
      {
        start(controller) {
          const send = (text: string) => {
            if ((controller.desiredSize ?? 0) <= 0) missed++;
            else controller.enqueue(text);
          };
          reader = {
            send,
            end() {
              leave();
              controller.close();
            },
          };
          readers.add(reader);
          controller.enqueue(": connected\n\n");
          timer = setInterval(() => send(": keep-alive\n\n"), KEEP_ALIVE_MS);
        },
        pull(controller) {
          if (missed === 0) return;
          controller.enqueue(`event: lagged\ndata: ${JSON.stringify({ missed })}\n\n`);
          missed = 0;
        },
        cancel: leave,
      },
      new CountQueuingStrategy({ highWaterMark: BUFFERED }),
    );
  };
  const prune = () => {
    for (const [ticket, until] of tickets) {
      if (tickets.size <= MAX_TICKETS && until > now().getTime()) break;
      tickets.delete(ticket);
    }
  };
  return {
    publish(kind, payload) {
      if (readers.size === 0) return;
      const event: BusEvent = { kind, at: now().toISOString(), payload };
      const text = `data: ${JSON.stringify(event)}\n\n`;
      for (const { send } of readers) send(text);
    },
    stream: openStream,
    ticket() {
      const ticket = newId();
      tickets.set(ticket, now().getTime() + TICKET_SECS * 1000);
      prune();
      return ticket;
    },
    redeem(ticket) {
      prune();
      const until = tickets.get(ticket);
      tickets.delete(ticket);
      return until !== undefined && until > now().getTime();
    },
    get readers() {
      return readers.size;
    },
    close() {
      for (const { end } of [...readers]) end();
    },
  };
}
