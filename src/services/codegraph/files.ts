/** The source files below a directory: what git would show, else a walk. Never a directory that holds what others made, never through a link. */
import { lstat, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { type SourceKind, sourceKind } from "../../domain/code/languages.ts";
import { notFound } from "../../kernel/errors.ts";
import { git } from "../identity/git.ts";

/** Directories of dependencies and of what is built. */
const SKIPPED = new Set(["target", "node_modules", ".git", "dist", "build", "__pycache__", ".venv"]);
/** Source that people write stays below it; above it stand bundles and tables. */
const LARGEST_BYTES = 1_000_000;
/** Listing the files of a very large repository, milliseconds. */
const LISTING_MS = 60_000;

export interface SourceFile extends SourceKind {
  /** From the root, with `/` between its parts. */
  readonly path: string;
}

export interface Sources {
  /** What paths start from: the top of the repository, else the directory itself. */
  readonly root: string;
  /** The directory from the root: empty, or with a `/` at its end. */
  readonly under: string;
  readonly files: readonly SourceFile[];
  readonly skipped: readonly (readonly [path: string, reason: string])[];
}

const slashed = (path: string) => path.split(sep).join("/");

/** Files of the work tree that git does not ignore, from `directory`; undefined where there is no git or no repository. */
async function listedByGit(directory: string): Promise<string[] | undefined> {
  const out = await git(
    directory,
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", "."],
    LISTING_MS,
  );
  return out?.split("\0").filter((path) => path !== "");
}

async function* walked(directory: string, at = ""): AsyncGenerator<string> {
  const entries = await readdir(join(directory, at), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = at === "" ? entry.name : `${at}/${entry.name}`;
    if (!entry.isDirectory()) yield path;
    else if (!SKIPPED.has(entry.name)) yield* walked(directory, path);
  }
}

/** @throws MemoryError `not_found` where there is no such directory. */
export async function findSources(directory: string): Promise<Sources> {
  const found = await lstat(directory).catch(() => undefined);
  const isDirectory =
    found?.isDirectory() === true || (found?.isSymbolicLink() === true && (await readdir(directory).catch(() => undefined)));
  if (!isDirectory) throw notFound("directory", directory, { next: "Nothing was read. --path names a directory." });
  const top = await git(directory, ["rev-parse", "--path-format=absolute", "--show-toplevel"]);
  const prefix = await git(directory, ["rev-parse", "--show-prefix"]);
  const listed = top === undefined || top === "" ? undefined : await listedByGit(directory);
  const root = listed === undefined || top === undefined ? directory : top;
  const under = listed === undefined ? "" : (prefix ?? slashed(relative(root, directory)));
  const names = listed ?? [];
  if (listed === undefined) for await (const path of walked(directory)) names.push(path);

  const files: SourceFile[] = [];
  const skipped: [string, string][] = [];
  for (const name of names.sort()) {
    if (name.split("/").some((part) => SKIPPED.has(part))) continue;
    const path = `${under}${name}`;
    const kind = sourceKind(name);
    const entry = await lstat(join(directory, name)).catch(() => undefined);
    // Deleted in the work tree, and git has not been told yet.
    if (entry === undefined) continue;
    if (entry.isSymbolicLink()) skipped.push([path, "a symbolic link"]);
    else if (kind === undefined || !entry.isFile()) continue;
    else if (entry.size > LARGEST_BYTES) skipped.push([path, `larger than ${LARGEST_BYTES} bytes`]);
    else files.push({ path, ...kind });
  }
  return { root, under, files, skipped };
}
