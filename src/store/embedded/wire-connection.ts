/**
 * PGlite as a {@link Connection}: whole messages in, messages out. PGlite's own `query` sends five messages one by one and serialises by
 * described types; here a statement is one message batch, parameters are text as on the server driver, and statements stay prepared.
 */
import { messages, type PGlite, protocol } from "@electric-sql/pglite";
import type { Connection, RawResult } from "../connection.ts";
import { fromWire, type RawRow, type WireValue } from "../wire.ts";

const { serialize } = protocol;

/** Prepared statements kept; each holds its plan in the engine's memory (tens of kilobytes). */
const PREPARED_LIMIT = 128;

/** Statements worth keeping are those with parameters; `begin` and its like are parsed faster than looked up. */
const isWorthKeeping = (params: readonly WireValue[]) => params.length > 0;

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

/** Reads the messages of one statement; throws the first error among them. */
function readReply(reply: readonly { readonly name: string }[]): RawResult {
  let fields: readonly { readonly name: string; readonly dataTypeID: number }[] = [];
  const rows: RawRow[] = [];
  let command = "";
  let count = 0;
  for (const message of reply) {
    if (message instanceof messages.DatabaseError) throw message;
    if (message instanceof messages.RowDescriptionMessage) fields = message.fields;
    else if (message instanceof messages.DataRowMessage) {
      const row: Record<string, unknown> = {};
      fields.forEach((field, index) => {
        const text = message.fields[index];
        row[field.name] = text === null || text === undefined ? null : fromWire(text, field.dataTypeID);
      });
      rows.push(row);
    } else if (message instanceof messages.CommandCompleteMessage) {
      const words = message.text.split(" ");
      command = words[0] ?? "";
      const last = Number(words.at(-1));
      count = Number.isNaN(last) ? 0 : last;
    }
  }
  return { rows, command, count };
}

/** The engine's one connection. Calls that overlap are carried out in the order in which they were made. */
export function wireConnection(engine: PGlite): Connection {
  /** Statement text → its name, least recently used first. */
  const prepared = new Map<string, string>();
  let serial = 0;

  let stopped: unknown;

  const exchange = async (message: Uint8Array) => {
    if (stopped === undefined) {
      try {
        return (await engine.execProtocol(message, { syncToFs: false, throwOnError: false })).messages;
      } catch (error) {
        stopped = error; // the engine reports SQL errors as messages: what it throws is a crash, and its memory is not to be trusted
      }
    }
    throw Object.assign(new Error("the embedded engine stopped", { cause: stopped }), { code: "ENGINE_STOPPED" });
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
    const name = known ?? (keep ? `q${++serial}` : "");
    const batch: Uint8Array[] = [];
    if (keep) {
      prepared.delete(text);
      const [oldest] = prepared;
      if (known === undefined && prepared.size >= PREPARED_LIMIT && oldest !== undefined) {
        prepared.delete(oldest[0]);
        batch.push(serialize.close({ type: "S", name: oldest[1] }));
      }
    }
    if (known === undefined) batch.push(serialize.parse({ text, name }));
    batch.push(
      serialize.bind({ statement: name, values: [...params] }),
      serialize.describe({ type: "P" }),
      serialize.execute({}),
      serialize.sync(),
    );
    const reply = await exchange(concat(batch));
    const parsed = known !== undefined || reply.some((message) => message.name === "parseComplete");
    if (keep && parsed) prepared.set(text, name);
    return readReply(reply);
  };

  return {
    query: (text, params = []) => inOrder(() => runStatement(text, params)),
    script: (text) => inOrder(async () => void readReply(await exchange(serialize.query(text)))),
  };
}
