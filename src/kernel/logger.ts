/** JSON lines on standard error. Never memory text, never a secret: every string passes the redactor. */
import { redact, redactedStart } from "./secrets.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "off";
const order: Record<LogLevel, number> = { debug: 10, info: 20, warn: 30, error: 40, off: 99 };

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each line. */
  with(fields: LogFields): Logger;
}

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Takes one line without its newline. */
  readonly write: (line: string) => void;
  readonly now?: () => Date;
}

/** UTF-16 units of a message or a field; a text of megabytes is no log line, and would hold everybody up while it is redacted. */
const LONGEST_VALUE = 16_384;
const cleanText = (text: string) => (text.length > LONGEST_VALUE ? `${redactedStart(text, LONGEST_VALUE)}…` : redact(text));
const clean = (value: LogFields[string]) => (typeof value === "string" ? cleanText(value) : value);

/** A logger; what is below `level` costs one comparison. */
export function createLogger(options: LoggerOptions, bound: LogFields = {}): Logger {
  const least = order[options.level];
  const now = options.now ?? (() => new Date());
  const emit = (level: LogLevel, message: string, fields: LogFields = {}) => {
    if (order[level] < least) return;
    const own = { at: now().toISOString(), level, message: cleanText(message) };
    const line: Record<string, unknown> = { ...own };
    // A field must not pass for the level or the time: whoever filters by them would lose the line.
    for (const [key, value] of Object.entries({ ...bound, ...fields }))
      if (value !== undefined) line[key in own ? `field_${key}` : key] = clean(value);
    options.write(JSON.stringify(line));
  };
  return {
    debug: (message, fields) => emit("debug", message, fields),
    info: (message, fields) => emit("info", message, fields),
    warn: (message, fields) => emit("warn", message, fields),
    error: (message, fields) => emit("error", message, fields),
    with: (fields) => createLogger(options, { ...bound, ...fields }),
  };
}

export const silentLogger: Logger = createLogger({ level: "off", write: () => {} });

/**
 * Reads a log filter: a level (`debug`), or the older form `target=level[,target=level]`, of which the most talkative level counts.
 * Unknown words are `info`.
 */
export function parseLogLevel(filter: string | undefined): LogLevel {
  if (filter === undefined) return "info";
  const levels = filter
    .split(",")
    .map((part) => (part.split("=").at(-1) ?? "").trim().toLowerCase())
    .map((word) => (word === "trace" ? "debug" : word === "warning" ? "warn" : word))
    .filter((word): word is LogLevel => word in order);
  return levels.sort((a, b) => order[a] - order[b])[0] ?? "info";
}
