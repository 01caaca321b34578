/** From zod to the JSON Schema dialect that every client accepts, and from a zod issue to a sentence a model can act on. */
import { z } from "zod";
import { invalid, invalidChoice, type MemoryError, shown } from "../kernel/errors.ts";
import { charCount, isBlank } from "../kernel/text.ts";

const inFull = Symbol("in full");
const underAnyKey = Symbol("under any key");

/** The subset of JSON Schema that we publish: no `$ref`, unions, `const`, `pattern` or `additionalProperties` (some clients refuse a whole catalogue for one). */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly format?: string;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  /** What is wanted in full where the listing says it only once, elsewhere: for error texts; a symbol, so no listing carries it. */
  readonly [inFull]?: JsonSchema;
  /** Of an object with any keys: what stands under them. Not published either. */
  readonly [underAnyKey]?: JsonSchema;
}

const kept = new Set([
  "type",
  "description",
  "enum",
  "default",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "format",
  "required",
]);

/** `.meta({ hidden: true })`: an older name of an argument, understood and not advertised. */
const isHidden = (member: unknown): boolean => typeof member === "object" && member !== null && Reflect.get(member, "hidden") === true;

function publish(raw: unknown): JsonSchema {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(raw ?? {})) {
    if (key === "const") out.enum = [value];
    else if (key === "items") out.items = publish(value);
    else if (key === "properties")
      out.properties = Object.fromEntries(
        Object.entries(value ?? {}).flatMap(([name, member]) => (isHidden(member) ? [] : [[name, publish(member)]])),
      );
    else if ((key === "minimum" || key === "maximum") && Math.abs(Number(value)) >= Number.MAX_SAFE_INTEGER) continue;
    else if (key === "additionalProperties" && typeof value === "object") Reflect.set(out, underAnyKey, publish(value));
    else if (kept.has(key)) out[key] = value;
  }
  const full: unknown = typeof raw === "object" && raw !== null ? Reflect.get(raw, "inFull") : undefined;
  if (full !== undefined) Reflect.set(out, inFull, publish(full));
  if (out.type === "array" && out.items === undefined) out.items = { type: "string" };
  return out;
}

/** The published schema of a tool input. */
export const jsonSchema = (input: z.ZodType): JsonSchema =>
  publish(z.toJSONSchema(input, { target: "draft-7", io: "input", unrepresentable: "any" }));

/** What a schema wants: in words, and of a list or an object an example beside them. */
export function expectation(schema: JsonSchema): string {
  const isOpen = schema.type === "array" || schema.type === "object";
  return isOpen ? `${wording(schema)}, like ${JSON.stringify(exampleOf(schema))}` : wording(schema);
}

/** In words alone: `an integer from 1 to 50`. */
function wording(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum } = schema;
  switch (schema.type) {
    case "integer":
    case "number": {
      const noun = schema.type === "integer" ? "an integer" : "a number";
      if (minimum !== undefined && maximum !== undefined) return `${noun} from ${minimum} to ${maximum}`;
      if (minimum !== undefined) return `${noun} of at least ${minimum}`;
      if (exclusiveMinimum !== undefined) return `${noun} above ${exclusiveMinimum}`;
      return maximum === undefined ? noun : `${noun} of at most ${maximum}`;
    }
    case "boolean":
      return "the boolean true or false";
    case "array":
      return `an array${schema.minItems === undefined && schema.maxItems === undefined ? "" : ` of ${schema.minItems ?? 0} to ${schema.maxItems ?? "any number of"} items`}`;
    case "object":
      return `an object${keysOf(schema[inFull] ?? schema)}`;
    default:
      if (schema.enum !== undefined) return `one of ${schema.enum.join("/")}`;
      if (schema.format === "uuid") return "a UUID";
      if (schema.format === "date-time") return "an RFC 3339 instant with its zone, like 2026-03-29T10:00:00+02:00";
      return schema.maxLength === undefined ? "text" : `text of ${schema.minLength ?? 0} to ${schema.maxLength} characters`;
  }
}

/** Stands for any text in an example. */
const SOME_TEXT = "…";

/** The least value that a schema takes: of an object what it needs, or its first key where it needs none; of an array one item. */
export function exampleOf(schema: JsonSchema): unknown {
  const { type, properties = {}, required = [], items } = schema[inFull] ?? schema;
  switch (type) {
    case "integer":
    case "number":
      return schema.minimum ?? (schema.exclusiveMinimum === undefined ? 1 : schema.exclusiveMinimum + 1);
    case "boolean":
      return true;
    case "array":
      return [exampleOf(items ?? {})];
    case "object": {
      const keys = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
      return keys.length === 0
        ? { key: exampleOf(schema[underAnyKey] ?? {}) }
        : Object.fromEntries(keys.map((key) => [key, exampleOf(properties[key] ?? {})]));
    }
    default:
      if (schema.enum?.[0] !== undefined) return schema.enum[0];
      return schema.format === "date-time"
        ? "2026-03-29T10:00:00+02:00"
        : schema.format === "uuid"
          ? "00000000-0000-4000-8000-000000000000"
          : SOME_TEXT;
  }
}

/** What an object holds, in words: ` with do, optionally run, expect`. Nothing where any key will do. */
function keysOf({ properties = {}, required = [] }: JsonSchema): string {
  const optional = Object.keys(properties).filter((key) => !required.includes(key));
  const named = [required.join(", "), optional.length === 0 ? "" : `optionally ${optional.join(", ")}`].filter((part) => part !== "");
  return named.length === 0 ? "" : ` with ${named.join(", ")}`;
}

type Path = readonly PropertyKey[];

const fieldName = (path: Path): string =>
  path.reduce<string>(
    (name, step) => (typeof step === "number" ? `${name}[${step}]` : name === "" ? String(step) : `${name}.${String(step)}`),
    "",
  );

function schemaAt(root: JsonSchema, path: Path): JsonSchema {
  let at: JsonSchema = root;
  for (const step of path) at = (typeof step === "number" ? at.items : at.properties?.[String(step)]) ?? {};
  return at;
}

function valueAt(root: unknown, path: Path): unknown {
  let at: unknown = root;
  for (const step of path) at = typeof at === "object" && at !== null ? Reflect.get(at, step) : undefined;
  return at;
}

function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object") return "an object";
  if (typeof value === "string") {
    const length = charCount(value);
    return length > 60 ? `text of ${length} characters` : isBlank(value) ? "blank text" : `the text ${JSON.stringify(shown(value))}`;
  }
  return `the ${typeof value} ${shown(value)}`;
}

/** Arguments that no tool of ours has stand beside the one that is missing: one of them is often meant for it. */
const MOST_UNKNOWN = 3;
const unknownOf = (unknown: readonly string[]): string =>
  unknown.length === 0
    ? ""
    : ` Unknown: ${unknown
        .slice(0, MOST_UNKNOWN)
        .map((name) => `'${shown(name)}'`)
        .join(", ")}.`;

/**
 * The first issue as our error: names the field, what came and what is wanted.
 * @param tool names the call where no issue does
 * @param unknown arguments that the tool does not have
 */
export function issueError(
  tool: string,
  issues: readonly z.core.$ZodIssue[],
  args: unknown,
  schema: JsonSchema,
  unknown: readonly string[] = [],
): MemoryError {
  const issue = issues[0];
  if (issue === undefined) return invalid(`${tool}: the arguments do not fit its schema. Nothing was written.`);
  const field = fieldName(issue.path);
  const wanted = schemaAt(schema, issue.path);
  const value = valueAt(args, issue.path);
  if (value === undefined)
    return invalid(
      `${field} is required (${expectation(wanted)}). Nothing was written.${issue.path.length === 1 ? unknownOf(unknown) : ""}`,
      {
        field,
      },
    );
  if (wanted.enum !== undefined && (typeof value === "string" || typeof value === "number"))
    return invalidChoice(field, value, wanted.enum);
  // Where only the number of items is wrong the shape is known.
  const isCount = issue.code === "too_big" || issue.code === "too_small";
  const own = issue.code === "custom" && issue.message !== "length" ? issue.message : isCount ? wording(wanted) : expectation(wanted);
  if (value === "") return invalid(`${field} is required (${own}); it came empty. Nothing was written.`, { field });
  return invalid(`${field} must be ${own}; got ${describeValue(value)}. Nothing was written.`, { field });
}
