/** The hook log: why a session began without its memories. A hook must not disturb, so nobody would ever know otherwise; `doctor` shows the last lines. */
import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface HookFailure {
  /** RFC 3339. */
  readonly at: string;
  readonly reason: string;
}

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;
/** Above it the older half goes. */
const MOST_BYTES = 64 * 1024;

export const hookLogOf = (dataDir: string): string => join(dataDir, "hook.log");

/** Adds a line. Never throws: where it cannot be written, nobody is disturbed either. @param reason free of secrets */
export function noteHookFailure(file: string, reason: string, now: Date): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_DIRECTORY });
    appendFileSync(file, `${JSON.stringify({ at: now.toISOString(), reason })}\n`, { mode: PRIVATE_FILE });
    if (statSync(file).size > MOST_BYTES) {
      const lines = readFileSync(file, "utf8").split("\n");
      writeFileSync(file, lines.slice(lines.length >> 1).join("\n"), { mode: PRIVATE_FILE });
    }
  } catch {
    // A disk that is full, a directory that is not ours: the hook goes on.
  }
}

/** The last failures, newest first; empty where none was ever noted. */
export function readHookFailures(file: string, limit: number): HookFailure[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  return text
    .split("\n")
    .flatMap((line): HookFailure[] => {
      try {
        const entry: unknown = JSON.parse(line);
        const [at, reason] = [Reflect.get(Object(entry), "at"), Reflect.get(Object(entry), "reason")];
        return typeof at === "string" && typeof reason === "string" ? [{ at, reason }] : [];
      } catch {
        return [];
      }
    })
    .slice(-limit)
    .reverse();
}
