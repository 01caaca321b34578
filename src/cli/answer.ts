/**
 * Reads what the owner of the memories answered by a shape, from which its type follows; what the shape does not name is left out. Not zod: help and
 * usage errors load this too, and a session waits for `recall` (decision 0060).
 */
import { unavailable } from "../kernel/errors.ts";
import { isRecord } from "../kernel/is-record.ts";

/** @param at where the value stands in the answer, "" for the whole. @throws Unfit */
export type Shape<T> = (value: unknown, at: string) => T;
export type Shaped<S> = S extends Shape<infer T> ? T : never;

class Unfit extends Error {
  constructor(at: string, wanted: string, value: unknown) {
    super(
      `${at === "" ? "the answer" : `'${at}'`} ${value === undefined ? "is missing" : "is something else"} where ${wanted} was expected`,
    );
  }
}

const plain =
  <T>(wanted: string, fits: (value: unknown) => value is T): Shape<T> =>
  (value, at) => {
    if (fits(value)) return value;
    throw new Unfit(at, wanted, value);
  };

export const string = plain("a text", (value) => typeof value === "string");
export const number = plain("a number", (value) => typeof value === "number");
export const boolean = plain("true or false", (value) => typeof value === "boolean");
/** Passed on as it is. */
export const anything: Shape<unknown> = (value) => value;

/** Null, also where the member is missing. */
export const orNull =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (value, at) =>
    value === null || value === undefined ? null : shape(value, at);

export const listOf =
  <T>(shape: Shape<T>): Shape<readonly T[]> =>
  (value, at) => {
    if (!Array.isArray(value)) throw new Unfit(at, "a list", value);
    return value.map((each: unknown, index) => shape(each, `${at}[${index}]`));
  };

/** An object with any names, such as counts by table. */
export const byName =
  <T>(shape: Shape<T>): Shape<Readonly<Record<string, T>>> =>
  (value, at) => {
    if (!isRecord(value)) throw new Unfit(at, "an object", value);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shape(each, below(at, name))]));
  };

type Members = Readonly<Record<string, Shape<unknown>>>;

export function object<M extends Members>(members: M): Shape<{ readonly [K in keyof M]: Shaped<M[K]> }>;
export function object(members: Members): Shape<Readonly<Record<string, unknown>>> {
  return (value, at) => {
    if (!isRecord(value)) throw new Unfit(at, "an object", value);
    return Object.fromEntries(Object.entries(members).map(([name, shape]) => [name, shape(value[name], below(at, name))]));
  };
}

const below = (at: string, name: string) => (at === "" ? name : `${at}.${name}`);

/** @throws MemoryError `unavailable` for an answer that this program does not understand. */
export function readAnswer<T>(shape: Shape<T>, answer: unknown): T {
  try {
    return shape(answer, "");
  } catch (cause) {
    if (!(cause instanceof Unfit)) throw cause;
    throw unavailable(
      `The memory service gave an answer that this command does not understand: ${cause.message}. A service of another version may still be running; ` +
        "'memory-industry doctor' says so.",
      { cause },
    );
  }
}
