/** What every client format can do: find our entry in a text, put it in, take it out. Pure text functions. */

/** An MCP server as a client starts it or reaches it. */
export type Block = Readonly<Record<string, unknown>>;

export interface Found {
  /** Our entry as the file has it; undefined where there is none. */
  readonly entry: unknown;
  /** Servers of the file by name, ours included; for `setup check`. */
  readonly servers: Readonly<Record<string, unknown>>;
}

export interface Format {
  /** @throws MemoryError `refused` where the text is not what the client could read. */
  find(text: string, file: string): Found;
  /** The text with our entry (and without that of the earlier generation). Unchanged where it has exactly that. */
  put(text: string, file: string, block: Block): string;
  /** The text without our entry. `container` also takes the section that held it, where that is empty now. */
  take(text: string, file: string, options: { readonly container: boolean }): string;
  /** True where the part of the file that holds the entries is there, empty or not. */
  hasSection(text: string, file: string): boolean;
  /** True where a file holds nothing any more. */
  isEmpty(text: string, file: string): boolean;
}

/** The name under which clients list us. */
export const SERVER_NAME = "memory-industry";
/** The name of the earlier generation, which the new entry replaces. */
export const LEGACY_SERVER_NAME = "cuba-memorys";

/** Same content, whatever the order of the keys. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  const left = new Map(Object.entries(a));
  const right = new Map(Object.entries(b));
  return left.size === right.size && [...left].every(([key, value]) => right.has(key) && sameValue(value, right.get(key)));
}
