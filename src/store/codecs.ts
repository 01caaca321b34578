/**
 * Types at the SQL border: what a row decodes to, and how a value becomes a cast parameter. The only place with `as`.
 * Decoders take what wire.ts yields on both engines.
 */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Query } from "./port.ts";
import { arrayLiteral, toWire, vectorLiteral, type WireValue } from "./wire.ts";

/**
 * A statement with the schema that decodes each of its rows. Inside the template every `${value}` becomes a parameter: cast it, give lists
 * to {@link uuidArray} and its sisters, JSON to {@link json}.
 */
export function query<Row>(schema: z.ZodType<Row>, build: () => SQL): (input?: unknown) => Query<Row>;
export function query<Input, Row>(schema: z.ZodType<Row>, build: (input: Input) => SQL): (input: Input) => Query<Row>;
export function query<Input, Row>(schema: z.ZodType<Row>, build: (input: Input) => SQL): (input: Input) => Query<Row> {
  return (input) => ({ schema, statement: build(input) });
}

/** int8 and count(*): a number, refused beyond 2^53. */
export const int8 = z.union([z.string(), z.number()]).transform((raw, context) => {
  const value = Number(raw);
  if (Number.isSafeInteger(value)) return value;
  context.addIssue({ code: "custom", message: "an integer beyond 2^53" });
  return z.NEVER;
});

/** float8; the engine prints the shortest text that reads back as the same number. */
export const float8 = z.union([z.number(), z.string().transform(Number), z.nan()]);

/** numeric as a number, where a rounded one will do. */
export const numeric = z.string().transform(Number);

export const uuid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

const timestampForm = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00(?::?00)?$/;

/**
 * timestamptz as UTC text with six digits, `2026-05-04T03:02:01.000123+00:00`: sorts as time, keeps the microseconds that a `Date`
 * would cut, and is what bundles and the audit chain hash. Every connection runs in UTC.
 */
export const timestamp = z.string().transform((raw, context) => {
  const parts = timestampForm.exec(raw);
  if (parts !== null) return `${parts[1]}T${parts[2]}.${(parts[3] ?? "").padEnd(6, "0")}+00:00`;
  context.addIssue({ code: "custom", message: "not a UTC timestamp" });
  return z.NEVER;
});

/** `[1,2,3]` as numbers. Float32 is what pgvector stores. */
export const vector = z.string().transform((raw) => Float32Array.from(raw.slice(1, -1).split(","), Number));

export const bytes = z.instanceof(Uint8Array);

const list = (items: readonly unknown[], type: string): SQL =>
  sql`${arrayLiteral(items.map((item): WireValue => toWire(item)))}::${sql.raw(type)}[]`;

/** `$n::uuid[]`, for `= any(…)` and `unnest(…)`. One parameter whatever the length. */
export const uuidArray = (items: readonly (string | null)[]): SQL => list(items, "uuid");
export const textArray = (items: readonly (string | null)[]): SQL => list(items, "text");
export const intArray = (items: readonly (number | null)[]): SQL => list(items, "int");
export const floatArray = (items: readonly (number | null)[]): SQL => list(items, "float8");
export const timestampArray = (items: readonly (string | null)[]): SQL => list(items, "timestamptz");
/** `$n::jsonb[]`; each element any JSON value. */
export const jsonArray = (items: readonly unknown[]): SQL =>
  list(
    items.map((item) => JSON.stringify(item)),
    "jsonb",
  );
/** `$n::text[]::vector[]`: pgvector's type cannot be quoted element by element otherwise. */
export const vectorArray = (items: readonly (Float32Array | null)[]): SQL =>
  list(
    items.map((item) => (item === null ? null : vectorLiteral(item))),
    "vector",
  );

/** `$n::vector`, or NULL. */
export const vectorParam = (value: Float32Array | null): SQL => sql`${value === null ? null : vectorLiteral(value)}::vector`;

/** `$n::jsonb`. @throws TypeError for `undefined` and functions, which JSON does not know. */
export function json(value: unknown): SQL {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError("the value has no JSON form");
  return sql`${text}::jsonb`;
}
