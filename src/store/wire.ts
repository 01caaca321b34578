/**
 * What crosses the wire, the same on both engines: parameters go as text (every parameter is cast in the statement), values come
 * as text and are read here by their type. int8, numeric, timestamps and vectors stay text; codecs give them a type.
 */

/** A parameter as the server sees it. */
export type WireValue = string | null;

/** One row before its codec: strings, numbers, booleans, parsed JSON, arrays of these, bytes. */
export type RawRow = Readonly<Record<string, unknown>>;

/**
 * A JavaScript value as parameter text. Numbers, booleans and bigints print as PostgreSQL reads them, `Date` as ISO 8601, bytes as
 * hex, float arrays as a vector literal. Lists and JSON go through `textArray`, `json` … of codecs.ts, which cast them.
 * @throws TypeError for anything else: a plain object here is a forgotten `json(…)`.
 */
export function toWire(value: unknown): WireValue {
  if (value === null || value === undefined) return null;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (typeof value === "boolean") return value ? "t" : "f";
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Float32Array || value instanceof Float64Array) return vectorLiteral(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}`;
  throw new TypeError(
    "a statement parameter must be a text, number, boolean, bigint, date, vector or bytes; use json(…) or an array helper",
  );
}

/** `[0.1,0.2]`, pgvector's text form. @throws RangeError for a component that is not finite. */
export function vectorLiteral(vector: Float32Array | Float64Array | readonly number[]): string {
  for (const component of vector) if (!Number.isFinite(component)) throw new RangeError("a vector component is not finite");
  return `[${vector.join(",")}]`;
}

/** PostgreSQL's array literal; every element quoted, null as NULL. */
export function arrayLiteral(items: readonly WireValue[]): string {
  const quoted = items.map((item) => (item === null ? "NULL" : `"${item.replace(/[\\"]/g, "\\$&")}"`));
  return `{${quoted.join(",")}}`;
}

/** Elements of a one-dimensional array literal; `null` for an unquoted NULL. */
export function parseArrayLiteral(literal: string): (string | null)[] {
  const items: (string | null)[] = [];
  let at = literal.indexOf("{") + 1;
  while (at < literal.length && literal[at] !== "}") {
    if (literal[at] === '"') {
      let item = "";
      at++;
      while (literal[at] !== '"') {
        if (literal[at] === "\\") at++;
        item += literal[at] ?? "";
        at++;
      }
      at++;
      items.push(item);
    } else {
      const end = /[,}]/.exec(literal.slice(at))?.index ?? 0;
      const item = literal.slice(at, at + end);
      items.push(item === "NULL" ? null : item);
      at += end;
    }
    if (literal[at] === ",") at++;
  }
  return items;
}

type Read = (text: string) => unknown;
const asNumber: Read = Number;
const asBoolean: Read = (text) => text === "t";
const asIs: Read = (text) => text;
const asJson: Read = (text) => JSON.parse(text);
const asBytes: Read = (text) => new Uint8Array(Buffer.from(text.slice(2), "hex"));
const listOf =
  (read: Read): Read =>
  (text) =>
    parseArrayLiteral(text).map((item) => (item === null ? null : read(item)));

/** Type oids with more than a text form (`pg_type.dat`); every other type stays text. */
export const readers: ReadonlyMap<number, Read> = new Map<number, Read>([
  [16, asBoolean],
  [17, asBytes],
  [20, asIs], // int8: beyond 2^53
  [21, asNumber],
  [23, asNumber],
  [26, asNumber],
  [700, asNumber],
  [701, asNumber],
  [114, asJson],
  [3802, asJson],
  [1082, asIs], // date, timestamp, timestamptz: a Date would cut the microseconds
  [1114, asIs],
  [1184, asIs],
  [1700, asIs],
  [1000, listOf(asBoolean)],
  [1005, listOf(asNumber)],
  [1007, listOf(asNumber)],
  [1016, listOf(asIs)],
  [1021, listOf(asNumber)],
  [1022, listOf(asNumber)],
  [1009, listOf(asIs)],
  [1003, listOf(asIs)], // name[]
  [1015, listOf(asIs)],
  [1115, listOf(asIs)],
  [1185, listOf(asIs)],
  [1231, listOf(asIs)],
  [2951, listOf(asIs)],
  [3807, listOf(asJson)],
]);

/** A column value as text, read by its type. */
export const fromWire = (text: string, oid: number): unknown => (readers.get(oid) ?? asIs)(text);
