/** Reading a source tree: find, parse, join. Writes nothing and knows no database. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CodeLanguage } from "../../domain/code/languages.ts";
import { type CodeTree, type ParsedFile, treeOf } from "../../domain/code/tree.ts";
import { isCleanName } from "../../domain/names.ts";
import { cancelled, MemoryError } from "../../kernel/errors.ts";
import { findSecret } from "../../kernel/secrets.ts";
import type { SourceParser } from "../../parsing/port.ts";
import { findSources } from "./files.ts";

export interface ReadOptions {
  readonly directory: string;
  readonly languages: readonly CodeLanguage[];
  readonly signal: AbortSignal;
  /** Called after each file. */
  readonly onFile?: (done: number, total: number) => void;
}

export interface SourceTree extends CodeTree {
  /** The directory that was read, from the top of its repository. */
  readonly under: string;
  readonly languages: readonly CodeLanguage[];
  readonly skipped: readonly (readonly [path: string, reason: string])[];
}

/** What may become the name of an entity: a path can hold more than a name may, and even a credential. */
const isName = (name: string) => isCleanName(name) && findSecret(name) === undefined;

/** A file that cannot be read or parsed is passed over. @throws MemoryError `not_found` for a directory that is not there, `unavailable` for a grammar that does not load. */
export async function readTree(parser: SourceParser, { directory, languages, signal, onFile }: ReadOptions): Promise<SourceTree> {
  const { root, under, files, skipped } = await findSources(directory);
  const wanted = files.filter(({ language }) => languages.includes(language));
  const parsed: ParsedFile[] = [];
  const unread: [string, string][] = [];
  for (const [at, { path, ...kind }] of wanted.entries()) {
    if (signal.aborted) throw cancelled();
    try {
      parsed.push({ path, language: kind.language, ...(await parser.parse(await readFile(join(root, path), "utf8"), kind)) });
    } catch (error) {
      // Not this file's affair: every other one would be passed over as well.
      if (error instanceof MemoryError) throw error;
      unread.push([path, error instanceof Error && "code" in error ? `cannot be read (${String(error.code)})` : "cannot be parsed"]);
    }
    onFile?.(at + 1, wanted.length);
  }
  return { ...treeOf(parsed, isName), under, languages, skipped: [...skipped, ...unread] };
}
