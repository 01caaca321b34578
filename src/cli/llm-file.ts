/** `llm.env`: which language model a person chose. Readable by its owner alone, since it may hold a key. */
import { chmod, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { envLine, parseEnvFile } from "../kernel/env-file.ts";
import { ensureDirectory, PRIVATE_FILE, readText, writeText } from "./setup/files.ts";

const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=/;

/** The text with these names set, or taken out where the value is undefined; every other line stays. Pure. */
export function withValues(text: string, changes: Readonly<Record<string, string | undefined>>): string {
  const kept = text.split(/\r?\n/).filter((line) => {
    const name = ASSIGNMENT.exec(line)?.[1];
    return line.trim() !== "" && (name === undefined || !Object.hasOwn(changes, name));
  });
  const set = Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [envLine(name, value)]));
  const lines = [...kept, ...set];
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** What the file says; empty where there is none. */
export const readValues = async (file: string): Promise<Readonly<Record<string, string>>> => parseEnvFile((await readText(file)) ?? "");

/** Changes the file at once; one without an assignment left goes. @throws MemoryError where it cannot be written; it is as it was then */
export async function changeValues(file: string, changes: Readonly<Record<string, string | undefined>>): Promise<void> {
  const text = withValues((await readText(file)) ?? "", changes);
  if (text === "") return await rm(file, { force: true });
  await ensureDirectory(dirname(file));
  await writeText(file, text);
  // A file that was there may have been readable by others: from now on it may hold a key.
  if (process.platform !== "win32") await chmod(file, PRIVATE_FILE);
}
