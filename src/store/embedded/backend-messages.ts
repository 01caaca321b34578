/**
 * Messages of the server (PostgreSQL's protocol 3.0, "message formats") as a {@link RawResult}. Read here and not by PGlite's own parser, whose decoder takes
 * a byte-order mark at the head of a value for the mark of a file and drops it: a text that began with U+FEFF came back as another text, so that
 * nothing that compares with what is stored (a vector's text, a bundle's digest) could ever agree.
 */
import type { RawResult } from "../connection.ts";
import { fromWire, type RawRow } from "../wire.ts";

export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

export interface Reply {
  readonly result: RawResult;
  /** The first error among the messages; what came before it counts for nothing. */
  readonly error: Error | undefined;
  /** A statement of this exchange was parsed, so its name is taken. */
  readonly parsed: boolean;
  /** Types of the rows' columns. */
  readonly types: readonly number[];
  readonly notifications: readonly Notification[];
}

const DATA_ROW = 0x44; // D
const ROW_DESCRIPTION = 0x54; // T
const COMMAND_COMPLETE = 0x43; // C
const ERROR_RESPONSE = 0x45; // E
const NOTIFICATION_RESPONSE = 0x41; // A
const PARSE_COMPLETE = 0x31; // 1

/** Type byte and length, the length counting itself. */
const HEADER_BYTES = 5;
const TYPE_BYTES = 1;
/** Of a column in RowDescription: table oid, column number and, behind the type oid, size and modifier, then the format. */
const BEFORE_TYPE_BYTES = 6;
const AFTER_TYPE_BYTES = 6;
/** The format of a value that comes as it is, not as text; asked for where the type is {@link BYTEA} alone. */
const BINARY = 1;
/** Type oid of `bytea`. */
export const BYTEA = 17;
const PROCESS_ID_BYTES = 4;

/** Fields of ErrorResponse that errors are told apart by, under the names that failures.ts reads. */
const errorFields: ReadonlyMap<string, string> = new Map([
  ["C", "code"],
  ["t", "table"],
  ["c", "column"],
  ["n", "constraint"],
]);

interface Column {
  readonly name: string;
  readonly oid: number;
  readonly isBinary: boolean;
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Reads one exchange's messages, whole. */
export function readReply(bytes: Uint8Array): Reply {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;

  const text = (length: number): string => {
    const start = at;
    at += length;
    return utf8.decode(bytes.subarray(start, at));
  };
  const terminated = (): string => {
    const value = text(bytes.indexOf(0, at) - at);
    at++;
    return value;
  };
  const int16 = (): number => {
    at += 2;
    return view.getInt16(at - 2);
  };
  const int32 = (): number => {
    at += 4;
    return view.getInt32(at - 4);
  };

  const readColumns = (): Column[] =>
    Array.from({ length: int16() }, () => {
      const name = terminated();
      at += BEFORE_TYPE_BYTES;
      const oid = int32();
      at += AFTER_TYPE_BYTES;
      return { name, oid, isBinary: int16() === BINARY };
    });

  const readRow = (columns: readonly Column[]): RawRow => {
    const row: Record<string, unknown> = {};
    at += 2; // the number of values, which is that of the columns
    for (const { name, oid, isBinary } of columns) {
      const length = int32();
      if (length >= 0 && isBinary) {
        row[name] = bytes.subarray(at, at + length);
        at += length;
      } else row[name] = length < 0 ? null : fromWire(text(length), oid);
    }
    return row;
  };

  const readError = (end: number): Error => {
    let message = "";
    const fields: Record<string, string> = {};
    while (at < end && bytes[at] !== 0) {
      const type = text(1);
      const value = terminated();
      const name = errorFields.get(type);
      if (type === "M") message = value;
      else if (name !== undefined) fields[name] = value;
    }
    return Object.assign(new Error(message), fields);
  };

  let columns: readonly Column[] = [];
  const rows: RawRow[] = [];
  let command = "";
  let count = 0;
  let error: Error | undefined;
  let parsed = false;
  const notifications: Notification[] = [];

  for (let start = 0; start + HEADER_BYTES <= bytes.byteLength; ) {
    const end = start + TYPE_BYTES + view.getInt32(start + TYPE_BYTES);
    at = start + HEADER_BYTES;
    switch (bytes[start]) {
      case ROW_DESCRIPTION:
        columns = readColumns();
        break;
      case DATA_ROW:
        rows.push(readRow(columns));
        break;
      case COMMAND_COMPLETE: {
        const words = terminated().split(" ");
        command = words[0] ?? "";
        const last = Number(words.at(-1));
        count = Number.isNaN(last) ? 0 : last;
        break;
      }
      case ERROR_RESPONSE: {
        const failure = readError(end);
        error ??= failure;
        break;
      }
      case NOTIFICATION_RESPONSE:
        at += PROCESS_ID_BYTES;
        notifications.push({ channel: terminated(), payload: terminated() });
        break;
      case PARSE_COMPLETE:
        parsed = true;
        break;
      // The others carry nothing that is asked for here: completion of bind and close, readiness, notices, parameter status.
    }
    start = end;
  }
  return { result: { rows, command, count }, error, parsed, types: columns.map(({ oid }) => oid), notifications };
}
