/**
 * Kinds of typed text: what a variable or a command-line argument may be. Each reads text and says in words what it accepts.
 * Not zod: the stdio bridge and the help read these too, and must start without it (`docs/decisions/0060`).
 */

import { isUuid } from "./ids.ts";

/** What reading gave: a value, perhaps with a remark for the log, or nothing where the text is not acceptable. */
export type Reading<T> = { readonly ok: true; readonly value: T; readonly remark?: string } | { readonly ok: false };

export interface Kind<T> {
  /** The accepted values in words, for warnings and the documentation: `an integer from 1 to 600`. */
  readonly expected: string;
  /** The empty string is a value here; everywhere else it means unset. */
  readonly keepsEmpty?: true;
  /** For `server.json`. */
  readonly format: "string" | "number" | "boolean" | "filepath";
  /** @param text trimmed, unless the kind keeps the empty string. */
  read(text: string): Reading<T>;
}

const accept = <T>(value: T): Reading<T> => ({ ok: true, value });
const reject = { ok: false } as const;

const wordsForOn = new Set(["1", "true", "on", "yes", "sí", "si"]);
const wordsForOff = new Set(["0", "false", "off", "no"]);

/** On or off, in any of the ways people write it. One parser for every switch. */
export const onOff: Kind<boolean> = {
  expected: "on or off (also 1, true, yes, sí; 0, false, no)",
  format: "boolean",
  read: (text) => {
    const word = text.normalize("NFC").toLowerCase();
    if (wordsForOn.has(word)) return accept(true);
    return wordsForOff.has(word) ? accept(false) : reject;
  },
};

/** On only where it is clearly said: whatever else stands there is off. For what reaches out of the machine. */
export const onlyOn: Kind<boolean> = {
  expected: "1, true, on, yes, si or sí; anything else is off",
  format: "boolean",
  read: (text) => accept(wordsForOn.has(text.normalize("NFC").toLowerCase())),
};

/** Any text that is not blank. */
export const text: Kind<string> = { expected: "text", format: "string", read: accept };

/** A path; `~/` at its start is the home directory, a relative one counts from the working directory. */
export const path: Kind<string> = { expected: "a path", format: "filepath", read: accept };

/** Text of which also the empty string is a value. */
export const textOrEmpty: Kind<string> = { expected: "text, the empty text included", format: "string", keepsEmpty: true, read: accept };

/** Digits only: `Number` would also take `0x10`, `1e3` and blanks. */
const integerForm = /^[+-]?\d+$/;

/** A whole number in [least, most]. */
export const integer = (least: number, most: number = Number.MAX_SAFE_INTEGER): Kind<number> => ({
  expected: most === Number.MAX_SAFE_INTEGER ? `an integer of at least ${least}` : `an integer from ${least} to ${most}`,
  format: "number",
  read: (raw) => {
    const value = integerForm.test(raw) ? Number(raw) : Number.NaN;
    return value >= least && value <= most ? accept(value) : reject;
  },
});

/** A whole number of at least 0, or `auto`: the program decides by what waits. */
export const countOrAuto: Kind<number | "auto"> = {
  expected: "an integer of at least 0, or auto",
  format: "string",
  read: (raw) => (raw.toLowerCase() === "auto" ? accept("auto") : integer(0).read(raw)),
};

/** A whole number that is raised to `floor` where it is smaller, with a remark. */
export const integerWithFloor = (floor: number): Kind<number> => ({
  expected: `an integer of at least ${floor}`,
  format: "number",
  read: (raw) => {
    const reading = integer(1).read(raw);
    if (!reading.ok || reading.value >= floor) return reading;
    return { ok: true, value: floor, remark: `is below the floor; ${floor} is used` };
  },
});

/** 0 (pad to the longest), or a power of two up to `most`. */
export const powerOfTwoOrZero = (most: number): Kind<number> => ({
  expected: `0 or a power of two up to ${most}`,
  format: "number",
  read: (raw) => {
    const value = integerForm.test(raw) ? Number(raw) : Number.NaN;
    return value === 0 || (value >= 1 && value <= most && Number.isInteger(Math.log2(value))) ? accept(value) : reject;
  },
});

/** Seconds, whole. */
export const seconds = (least: number, most: number): Kind<number> => {
  const whole = integer(least, most);
  return { ...whole, expected: `whole seconds from ${least} to ${most}` };
};

/** Seconds, where 0 and `off` both mean "never". */
export const secondsOrOff = (most: number): Kind<number> => ({
  expected: `whole seconds from 1 to ${most}; 0 or off switches it off`,
  format: "number",
  read: (raw) => (raw.toLowerCase() === "off" ? accept(0) : integer(0, most).read(raw)),
});

/** A decimal number in [least, most]. */
export const decimal = (least: number, most: number): Kind<number> => ({
  // The ends of what a number can be are no bounds that a person knows.
  expected: least === Number.MIN_VALUE && most === Number.MAX_VALUE ? "a number above 0" : `a number from ${least} to ${most}`,
  format: "number",
  read: (raw) => {
    const value = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(raw) ? Number(raw) : Number.NaN;
    return value >= least && value <= most ? accept(value) : reject;
  },
});

/** One of `words`, in any case; `aliases` are other spellings of them. */
export const oneOf = <const W extends string>(words: readonly W[], aliases: Readonly<Record<string, W>> = {}): Kind<W> => {
  const others = Object.keys(aliases);
  return {
    expected: `one of ${words.join(", ")}${others.length === 0 ? "" : ` (also ${others.join(", ")})`}`,
    format: "string",
    read: (raw) => {
      const word = raw.toLowerCase();
      const found = words.find((candidate) => candidate === word) ?? (Object.hasOwn(aliases, word) ? aliases[word] : undefined);
      return found === undefined ? reject : accept(found);
    },
  };
};

/** A comma list; blanks around the items do not count, empty items neither. */
export const list: Kind<readonly string[]> = {
  expected: "a comma list",
  format: "string",
  read: (raw) =>
    accept(
      raw
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== ""),
    ),
};

/** A comma list of these words, each once, at least one. */
export const someOf = <const W extends string>(words: readonly W[], aliases: Readonly<Record<string, W>> = {}): Kind<readonly W[]> => {
  const one = oneOf(words, aliases);
  return {
    expected: `one or more of ${words.join(", ")}, separated by commas`,
    format: "string",
    read: (raw) => {
      const read = raw.split(",").map((item) => one.read(item.trim()));
      const values = read.flatMap((each) => ("value" in each ? [each.value] : []));
      return values.length === read.length ? accept([...new Set(values)]) : reject;
    },
  };
};

/** An http or https address. */
export const webUrl: Kind<string> = {
  expected: "an http or https URL",
  format: "string",
  read: (raw) => (URL.canParse(raw) && /^https?:$/.test(new URL(raw).protocol) ? accept(raw) : reject),
};

/** A PostgreSQL URL. Several hosts separated by commas are allowed, which `URL` cannot read, so only the scheme is looked at. */
export const postgresUrl: Kind<string> = {
  expected: "a PostgreSQL URL, postgres://user:password@host:5432/database",
  format: "string",
  read: (raw) => (/^postgres(ql)?:\/\/\S+$/.test(raw) ? accept(raw) : reject),
};

export interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

const HIGHEST_PORT = 65_535;

/** Reads `ip:port` (`[::1]:8787` for IPv6, `localhost` counts as an address); undefined where the text is something else. */
export function parseAddress(raw: string): SocketAddress | undefined {
  const parts = /^(?:\[([0-9a-f:.]+)\]|([^:\s/]+)):(\d{1,5})$/i.exec(raw);
  const host = parts?.[1] ?? parts?.[2];
  const port = Number(parts?.[3]);
  if (host === undefined || port > HIGHEST_PORT) return undefined;
  if (parts?.[1] !== undefined) return host.includes(":") ? { host, port } : undefined;
  return host === "localhost" || isIpv4(host) ? { host, port } : undefined;
}

const isIpv4 = (host: string): boolean => {
  const bytes = host.split(".");
  return bytes.length === 4 && bytes.every((byte) => /^\d{1,3}$/.test(byte) && Number(byte) <= 255);
};

/** The address as a person writes it. */
export const showAddress = ({ host, port }: SocketAddress): string => (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`);

/** `ip:port`. */
export const address: Kind<SocketAddress> = {
  expected: "ip:port, for example 127.0.0.1:8787 or [::1]:8787",
  format: "string",
  read: (raw) => {
    const parsed = parseAddress(raw);
    return parsed === undefined ? reject : accept(parsed);
  },
};

/** A UUID of any version, given back in lower case. */
export const uuid: Kind<string> = {
  expected: "a UUID",
  format: "string",
  read: (raw) => (isUuid(raw) ? accept(raw.toLowerCase()) : reject),
};
