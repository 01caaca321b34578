/** Undo files: written whole before a deletion, never over another one, readable by their owner alone. */
import { mkdir, open, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { conflict, invalid, notFound, unavailable } from "../kernel/errors.ts";

const FORMAT = 1;
const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

export const undoFile = (directory: string, id: string): string => join(directory, `obs-${id}.json`);
/** Undo file of a deletion of many, called after its moment and an id. */
export const undoFileOf = (directory: string, kind: string, id: string, now: Date): string =>
  join(
    directory,
    `${kind}-${now
      .toISOString()
      .replace(/[^0-9]/g, "")
      .slice(0, 14)}-${id.slice(0, 8)}.json`,
  );

/**
 * Writes the file to disk (not only to the system's memory) before it answers. Answers its path.
 * @throws MemoryError where it cannot be written, or one of the same name holds another deletion; nothing may be deleted then
 */
export async function writeUndoFile(file: string, snapshot: Readonly<Record<string, unknown>>, now: Date): Promise<string> {
  const content = `${JSON.stringify({ format: FORMAT, deleted_at: now.toISOString(), ...snapshot }, null, 2)}\n`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: PRIVATE_DIRECTORY });
    const handle = await open(file, "wx", PRIVATE_FILE);
    try {
      await handle.writeFile(content, "utf8");
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) === "EEXIST")
      throw conflict(`${file} is there already, from an earlier deletion; nothing was deleted. Move it away, then run the command again.`);
    throw unavailable(`The undo file ${file} cannot be written (${String(codeOf(error))}); nothing was deleted.`, { cause: error });
  }
  return file;
}

/** What an undo file holds. @throws MemoryError `not_found`, `invalid` */
export async function readUndoFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  let content: string;
  try {
    content = await readFile(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw notFound("undo file", file, { next: "CUBA_UNDO_DIR is where they are kept." });
    throw unavailable(`${file} cannot be read (${String(codeOf(error))}); nothing was written.`, { cause: error });
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch {
    throw invalid(`${file} is not JSON; nothing was written.`);
  }
  if (typeof parsed !== "object" || parsed === null || !("format" in parsed) || parsed.format !== FORMAT)
    throw invalid(`${file} is not an undo file of ours; nothing was written.`);
  const { format: _format, deleted_at: _deletedAt, ...snapshot } = Object.fromEntries(Object.entries(parsed));
  return snapshot;
}
