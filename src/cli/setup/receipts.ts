/**
 * What setup has written, so that remove can take exactly that away: `setup.json` in the configuration directory, owner only.
 * It goes with the last entry.
 */
import { createHash } from "node:crypto";
import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ensureDirectory, readText, writeText } from "./files.ts";
import type { Block } from "./format.ts";

export interface Receipt {
  readonly target: string;
  readonly file: string;
  /** The entry as we wrote it; another one in the file was edited by somebody since. */
  readonly block: Block;
  /** SHA-256 of the whole file as we left it: still so → it can be put back to the byte. */
  readonly after: string;
  /** What the file was before: a copy, nothing at all, or no longer known (edited between two runs). */
  readonly before: { readonly kind: "copy"; readonly backup: string } | { readonly kind: "absent" } | { readonly kind: "unknown" };
  /** The section that holds the servers came from us. */
  readonly addedSection: boolean;
  readonly createdFile: boolean;
  readonly createdDirectories: readonly string[];
  readonly backups: readonly string[];
}

export interface Receipts {
  /** Directories that had to be made for `setup.json` itself. */
  readonly createdDirectories: readonly string[];
  readonly entries: readonly Receipt[];
}

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const fileIn = (configDir: string): string => join(configDir, "setup.json");

/** The receipts of this user; none where the file is missing. A damaged one counts as none: then entries are compared with what we would write. */
export async function readReceipts(configDir: string): Promise<Receipts> {
  const { z } = await import("zod");
  const receipt = z.object({
    target: z.string(),
    file: z.string(),
    block: z.record(z.string(), z.unknown()),
    after: z.string(),
    before: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("copy"), backup: z.string() }),
      z.object({ kind: z.literal("absent") }),
      z.object({ kind: z.literal("unknown") }),
    ]),
    addedSection: z.boolean(),
    createdFile: z.boolean(),
    createdDirectories: z.array(z.string()),
    backups: z.array(z.string()),
  });
  const schema = z.object({ createdDirectories: z.array(z.string()), entries: z.array(receipt) });
  const text = await readText(fileIn(configDir));
  if (text === undefined) return { createdDirectories: [], entries: [] };
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return { createdDirectories: [], entries: [] };
  }
}

/** Stores the entries; with none left the file goes, and the directories that were made for it. */
export async function writeReceipts(configDir: string, receipts: Receipts): Promise<void> {
  const file = fileIn(configDir);
  if (receipts.entries.length === 0) {
    await rm(file, { force: true });
    await removeEmpty(receipts.createdDirectories);
    return;
  }
  const made = await ensureDirectory(dirname(file));
  const createdDirectories = [...receipts.createdDirectories, ...made];
  await writeText(file, `${JSON.stringify({ createdDirectories, entries: receipts.entries }, null, 2)}\n`);
}

/** Removes directories that are empty, innermost first; the others stay. */
export async function removeEmpty(directories: readonly string[]): Promise<void> {
  for (const directory of directories.toReversed()) await rmdir(directory).catch(() => undefined);
}
