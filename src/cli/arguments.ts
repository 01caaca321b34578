/**
 * Arguments of a command: declared once, checked strictly, typed. citty parses the values and renders the help; what it tolerates (unknown flags,
 * a flag taken for a value, `--no-anything`) is refused here before it looks.
 */

import type { ArgsDef } from "citty";
import { parseArgs as parseWithCitty } from "citty";
import { usage } from "../kernel/errors.ts";
import type { Kind } from "../kernel/kinds.ts";

interface Described {
  readonly doc: string;
}

/** `--name`: on when it is there. */
export interface Flag extends Described {
  readonly form: "flag";
  readonly short: string | undefined;
}

/** `--name VALUE` or `--name=VALUE`. */
export interface Option<T> extends Described {
  readonly form: "option";
  readonly kind: Kind<T>;
  readonly hint: string;
  readonly short: string | undefined;
  readonly fallback: string | undefined;
}

/** A word by its place. */
export interface Positional<T> extends Described {
  readonly form: "positional";
  readonly kind: Kind<T>;
  readonly required: boolean;
}

/** All remaining words, joined by one space. */
export interface Words extends Described {
  readonly form: "words";
}

export type Arg = Flag | Option<unknown> | Positional<unknown> | Words;
export type Args = Readonly<Record<string, Arg>>;

/** What a command's `run` receives for its declaration. */
export type Values<A extends Args> = {
  readonly [K in keyof A]: A[K] extends Flag
    ? boolean
    : A[K] extends Words
      ? string
      : A[K] extends Option<infer T> & { readonly fallback: infer F }
        ? T | (F extends string ? never : undefined)
        : A[K] extends Positional<infer T> & { readonly required: infer R }
          ? T | (R extends true ? never : undefined)
          : never;
};

export const flag = (doc: string, short?: string): Flag => ({ form: "flag", doc, short });

interface OptionWords {
  readonly hint: string;
  readonly short?: string;
}
/** An option that may be left out. */
export const option = <T>(kind: Kind<T>, doc: string, words: OptionWords): Option<T> & { readonly fallback: undefined } => ({
  form: "option",
  kind,
  doc,
  hint: words.hint,
  short: words.short,
  fallback: undefined,
});
/** An option with a value of its own where it is left out. */
export const optionOr = <T>(
  kind: Kind<T>,
  fallback: string | number,
  doc: string,
  words: OptionWords,
): Option<T> & { readonly fallback: string } => ({
  ...option(kind, doc, words),
  fallback: String(fallback),
});
export const positional = <T>(kind: Kind<T>, doc: string): Positional<T> & { readonly required: true } => ({
  form: "positional",
  kind,
  doc,
  required: true,
});
export const maybePositional = <T>(kind: Kind<T>, doc: string): Positional<T> & { readonly required: false } => ({
  form: "positional",
  kind,
  doc,
  required: false,
});
export const words = (doc: string): Words => ({ form: "words", doc });

/** `maxTokens` → `max-tokens`: how an argument is typed. */
export const typedName = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The declaration in citty's terms, for its parser and its help. */
export const cittyArgs = (args: Args): ArgsDef =>
  Object.fromEntries(Object.entries(args).map(([key, arg]) => [typedName(key), cittyArg(arg)]));

function cittyArg(arg: Arg): ArgsDef[string] {
  const description = arg.doc;
  if (arg.form === "words") return { type: "positional", description, required: true };
  if (arg.form === "positional") return { type: "positional", description, required: arg.required };
  const alias = arg.short === undefined ? {} : { alias: arg.short };
  if (arg.form === "flag") return { type: "boolean", description, ...alias };
  return { type: "string", description, valueHint: arg.hint, ...alias, ...(arg.fallback === undefined ? {} : { default: arg.fallback }) };
}

/** Finds the declaration behind `--name` or `-x`. */
function findOption(args: Args, typed: string): [string, Flag | Option<unknown>] | undefined {
  for (const [key, arg] of Object.entries(args)) {
    if (arg.form !== "flag" && arg.form !== "option") continue;
    if (typed === `--${typedName(key)}` || (arg.short !== undefined && typed === `-${arg.short}`)) return [key, arg];
  }
  return undefined;
}

/** A negative number is a value; everything else that starts with a dash is meant as a flag. A lone `-` is the standard input. */
const looksLikeFlag = (typed: string): boolean => typed.length > 1 && typed.startsWith("-") && !/^-\.?\d/.test(typed);

/** Refuses what citty would let pass. `hint` is added where a word could have been meant. */
function refuseLooseEnds(args: Args, raw: readonly string[], hint: string): void {
  for (let at = 0; at < raw.length; at++) {
    const typed = raw[at] ?? "";
    if (typed === "--") return;
    if (!looksLikeFlag(typed)) continue;
    const equals = typed.indexOf("=");
    const name = equals === -1 ? typed : typed.slice(0, equals);
    const known = findOption(args, name);
    if (known === undefined) throw usage(`Unknown flag ${name}.${hint}`, { field: name });
    const [, arg] = known;
    if (arg.form === "flag") {
      if (equals !== -1) throw usage(`${name} takes no value.`, { field: name });
      continue;
    }
    if (equals === -1 && name.startsWith("--") === false && typed.length > 2)
      throw usage(`Unknown flag ${typed}.${hint}`, { field: typed });
    const value = equals === -1 ? raw[++at] : typed.slice(equals + 1);
    if (value === undefined || (equals === -1 && looksLikeFlag(value)))
      throw usage(`${name} needs a value: ${arg.kind.expected}.`, { field: name });
  }
}

function readKind<T>(kind: Kind<T>, name: string, typed: string): T {
  const reading = kind.read(typed.trim());
  if (!reading.ok || (typed.trim() === "" && kind.keepsEmpty !== true))
    throw usage(`${name} must be ${kind.expected}; got '${typed}'.`, { field: name });
  return reading.value;
}

/**
 * Reads the words behind a command.
 * @param raw what follows the command's name
 * @param hint said where a flag is unknown, for commands that take free text
 * @throws MemoryError `usage`, naming the flag or argument
 */
export function readArguments<A extends Args>(args: A, raw: readonly string[], hint = ""): Values<A> {
  refuseLooseEnds(args, raw, hint);
  const flagsOnly = Object.fromEntries(Object.entries(cittyArgs(args)).filter(([, def]) => def.type !== "positional"));
  const parsed = parseWithCitty([...raw], flagsOnly);
  const rest = [...parsed._];
  const values: Record<string, unknown> = {};
  for (const [key, arg] of Object.entries(args)) {
    const name = typedName(key);
    switch (arg.form) {
      case "flag":
        // citty reads `--no-x` as "x is off", also where the flag is called no-x.
        values[key] = name.startsWith("no-") ? parsed[name.slice("no-".length)] === false : parsed[name] === true;
        break;
      case "option": {
        const typed: unknown = parsed[name];
        values[key] = typeof typed === "string" ? readKind(arg.kind, `--${name}`, typed) : undefined;
        break;
      }
      case "positional": {
        const typed = rest.shift();
        if (typed === undefined && arg.required) throw usage(`<${name}> is missing: ${arg.doc}.`, { field: name });
        values[key] = typed === undefined ? undefined : readKind(arg.kind, `<${name}>`, typed);
        break;
      }
      case "words": {
        const joined = rest.splice(0).join(" ").trim();
        if (joined === "") throw usage(`<${name}> is missing: ${arg.doc}.`, { field: name });
        values[key] = joined;
        break;
      }
    }
  }
  if (rest.length > 0) throw usage(`Unexpected argument '${rest[0]}'.`);
  // A codec: every entry was read by the declaration that `Values` is computed from.
  return values as Values<A>;
}
