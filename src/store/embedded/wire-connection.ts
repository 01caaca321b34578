/**
 * PGlite as a {@link Connection}: whole messages in, messages out. PGlite's own `query` sends five messages one by one and serialises by
 * described types; here a statement is one message batch, parameters are text as on the server driver, statements stay prepared, and the answer
 * is read by us.
 */
import { type PGlite, protocol } from "@electric-sql/pglite";
import type { Connection, RawResult } from "../connection.ts";
import type { WireValue } from "../wire.ts";
import { BYTEA, type Notification, type Reply, readReply } from "./backend-messages.ts";

const { serialize } = protocol;

/** Prepared statements kept; each holds its plan in the engine's memory (tens of kilobytes). */
const PREPARED_LIMIT = 128;

/** Statements worth keeping are those with parameters; `begin` and its like are parsed faster than looked up. */
const isWorthKeeping = (params: readonly WireValue[]) => params.length > 0;

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

/** The end of a Bind message that asks for text in all columns: a count of 0. */
const FORMATS_BYTES = 2;

/** Int16 in network order. */
const int16 = (value: number) => Uint8Array.of(value >> 8, value & 0xff);

/** `message`, which ends with the formats of no or all result columns, with one for each of them. PGlite's writer knows one format for all. */
function withFormats(message: Uint8Array, binary: readonly boolean[]): Uint8Array {
  const whole = concat([
    message.subarray(0, message.length - FORMATS_BYTES),
    int16(binary.length),
    ...binary.map((is) => int16(is ? 1 : 0)),
  ]);
  new DataView(whole.buffer).setInt32(1, whole.length - 1);
  return whole;
}

interface Prepared {
  readonly name: string;
  /** For each column whether it is `bytea`: asked for as bytes, since text would be twice as long and has to be read again. */
  readonly bytes: readonly boolean[];
}

/** The embedded engine's connection, which hears notifications as well. */
export interface EngineConnection extends Connection {
  /** Calls `listener` for each notification of a channel that is listened to. @returns what ends that. */
  onNotification(listener: (notification: Notification) => void): () => void;
}

function resultOf({ result, error }: Reply): RawResult {
  if (error !== undefined) throw error;
  return result;
}

/** What a statement fails with after the engine's crash, in place of an SQLSTATE. */
export const ENGINE_STOPPED = "ENGINE_STOPPED";

/**
 * The engine's one connection. Calls that overlap are carried out in the order in which they were made.
 * @param onCrash told once, with what the engine died of.
 */
export function wireConnection(engine: PGlite, onCrash: (cause: unknown) => void = () => {}): EngineConnection {
  /** Statement text → its name and, once it has run, which columns come as bytes, least recently used first. */
  const prepared = new Map<string, Prepared>();
  let serial = 0;

  let stopped: { readonly cause: unknown } | undefined;

  const listeners = new Set<(notification: Notification) => void>();

  const exchange = async (message: Uint8Array): Promise<Reply> => {
    if (stopped === undefined) {
      const parts: Uint8Array[] = [];
      try {
        // The engine hands out its own memory, which the next message overwrites.
        await engine.execProtocolRawStream(message, { syncToFs: false, onRawData: (bytes) => parts.push(bytes.slice()) });
        const reply = readReply(concat(parts));
        for (const notification of reply.notifications) for (const listener of listeners) queueMicrotask(() => listener(notification));
        return reply;
      } catch (error) {
        stopped = { cause: error }; // the engine reports SQL errors as messages: what it throws is a crash, and its memory is not to be trusted
        onCrash(error);
      }
    }
    throw Object.assign(new Error("the embedded engine stopped", stopped), { code: ENGINE_STOPPED });
  };

  /** PGlite keeps the answer of the call under way in one place: a second call before the first has returned would take it away. */
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };

  const runStatement = async (text: string, params: readonly WireValue[]): Promise<RawResult> => {
    const keep = isWorthKeeping(params);
    const known = keep ? prepared.get(text) : undefined;
    const name = known?.name ?? (keep ? `q${++serial}` : "");
    const batch: Uint8Array[] = [];
    if (keep) {
      prepared.delete(text);
      const [oldest] = prepared;
      if (known === undefined && prepared.size >= PREPARED_LIMIT && oldest !== undefined) {
        prepared.delete(oldest[0]);
        batch.push(serialize.close({ type: "S", name: oldest[1].name }));
      }
    }
    if (known === undefined) batch.push(serialize.parse({ text, name }));
    const bind = serialize.bind({ statement: name, values: [...params] });
    batch.push(
      known?.bytes.includes(true) ? withFormats(bind, known.bytes) : bind,
      serialize.describe({ type: "P" }),
      serialize.execute({}),
      serialize.sync(),
    );
    const reply = await exchange(concat(batch));
    if (keep && (known !== undefined || reply.parsed))
      prepared.set(text, { name, bytes: reply.types.length > 0 ? reply.types.map((type) => type === BYTEA) : (known?.bytes ?? []) });
    return resultOf(reply);
  };

  return {
    query: (text, params = []) => inOrder(() => runStatement(text, params)),
    script: (text) => inOrder(async () => void resultOf(await exchange(serialize.query(text)))),
    onNotification(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
