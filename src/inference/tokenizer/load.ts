/** Finds the quickest tokenizer for a model directory: the compact vocabulary, made on the spot where it is missing; the general library for the rest. */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { COMPACT_FILE, type CompactSource, readCompact, writeCompact } from "./compact.ts";
import type { Encoder } from "./encoder.ts";
import { assemblePair, type PairItem } from "./pair.ts";
import { readRecipe } from "./recipe.ts";

export const TOKENIZER_FILE = "tokenizer.json";

/** The header of a compact vocabulary and some; enough to learn what it was made from. */
const HEAD_BYTES = 65_536;

export interface TokenizerPlaces {
  /** Holds `tokenizer.json`. */
  readonly directory: string;
  /** Where the compact vocabulary goes when the model's directory cannot be written (a read-only share); without it, it stays in memory. */
  readonly derivedDirectory?: string | undefined;
}

export interface LoadedTokenizer {
  readonly encoder: Encoder;
  /** `library`: a kind of tokenizer that we have no compact form for (byte-level BPE). */
  readonly form: "compact" | "library";
}

/** @throws Error where `tokenizer.json` is missing or is none; the text names no path. */
export async function loadTokenizer(places: TokenizerPlaces): Promise<LoadedTokenizer> {
  const source = await sourceStat(places.directory);
  for (const path of compactPaths(places)) {
    const file = Bun.file(path);
    if (!(await file.exists())) continue;
    const compact = readCompact(await file.arrayBuffer());
    if (compact === undefined || !(await isMadeFrom(compact.source, source, places.directory))) continue;
    const opened = compact.open();
    if (opened !== undefined) return await asLoaded(opened, places.directory);
  }
  const content = await make(places.directory, source);
  await store(places, content);
  const opened = readCompact(content.buffer)?.open();
  if (opened === undefined) throw new Error("the compact vocabulary that was just made cannot be read");
  return await asLoaded(opened, places.directory);
}

async function asLoaded(opened: Encoder | "library", directory: string): Promise<LoadedTokenizer> {
  if (opened !== "library") return { encoder: opened, form: "compact" };
  return { encoder: libraryEncoder((await readTokenizerFile(directory)).json), form: "library" };
}

/**
 * Makes the compact vocabulary unless a current one is there; `models` calls it after a download, so that no daemon pays for it (2 s and 100 MB for XLM-R).
 * @returns `unwritable` where no place takes the file.
 */
export async function prepareTokenizer(places: TokenizerPlaces): Promise<"current" | "written" | "unwritable"> {
  if (await hasCurrentCompact(places)) return "current";
  return (await store(places, await make(places.directory, await sourceStat(places.directory)))) ? "written" : "unwritable";
}

/** Whether loading is only a read. Reads one header, hashes `tokenizer.json` only where its time stamp moved. */
export async function hasCurrentCompact(places: TokenizerPlaces): Promise<boolean> {
  const source = await sourceStat(places.directory);
  for (const path of compactPaths(places)) {
    const file = Bun.file(path);
    if (!(await file.exists())) continue;
    const compact = readCompact(await file.slice(0, HEAD_BYTES).arrayBuffer());
    if (compact !== undefined && (await isMadeFrom(compact.source, source, places.directory))) return true;
  }
  return false;
}

interface SourceStat {
  readonly size: number;
  readonly mtimeMs: number;
}

async function sourceStat(directory: string): Promise<SourceStat> {
  try {
    const { size, mtimeMs } = await stat(join(directory, TOKENIZER_FILE));
    return { size, mtimeMs };
  } catch (cause) {
    throw new Error(`${TOKENIZER_FILE} is missing beside the model`, { cause });
  }
}

const sha256 = (content: Uint8Array | string) => createHash("sha256").update(content).digest("hex");

async function isMadeFrom(made: CompactSource, now: SourceStat, directory: string): Promise<boolean> {
  if (made.size !== now.size) return false;
  return made.mtimeMs === now.mtimeMs || made.sha256 === sha256(await readFile(join(directory, TOKENIZER_FILE)));
}

/** A read-only directory's vocabulary is kept under a name of its path, so that two models never share one. */
function compactPaths({ directory, derivedDirectory }: TokenizerPlaces): string[] {
  const beside = join(directory, COMPACT_FILE);
  if (derivedDirectory === undefined) return [beside];
  return [beside, join(derivedDirectory, `${sha256(directory).slice(0, 16)}.${COMPACT_FILE}`)];
}

async function readTokenizerFile(directory: string): Promise<{ readonly content: Uint8Array; readonly json: unknown }> {
  const content = await readFile(join(directory, TOKENIZER_FILE));
  try {
    return { content, json: JSON.parse(content.toString("utf8")) };
  } catch (cause) {
    throw new Error(`${TOKENIZER_FILE} is not JSON`, { cause });
  }
}

async function make(directory: string, { size, mtimeMs }: SourceStat): Promise<Uint8Array<ArrayBuffer>> {
  const { content, json } = await readTokenizerFile(directory);
  return writeCompact(readRecipe(json), { sha256: sha256(content), size, mtimeMs });
}

/** Beside the model, else in the derived directory; a vocabulary that fits nowhere is made again next time, which is slow and not wrong. */
async function store(places: TokenizerPlaces, content: Uint8Array): Promise<boolean> {
  for (const path of compactPaths(places)) {
    const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.part`;
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(temporary, content);
      await rename(temporary, path);
      return true;
    } catch {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  }
  return false;
}

/** The general library. Its own truncation is none, so the closing special tokens are found by comparing two texts. */
function libraryEncoder(json: unknown): Encoder {
  if (typeof json !== "object" || json === null) throw new Error(`${TOKENIZER_FILE} is not a tokenizer`);
  const tokenizer = new Tokenizer(json, {});
  const ids = (text: string) => tokenizer.encode(text.toWellFormed()).ids;
  const own = (text: string) => tokenizer.encode(text.toWellFormed(), { add_special_tokens: false }).ids;
  const one = ids("a").toReversed();
  const other = ids("b").toReversed();
  const differs = one.findIndex((id, i) => id !== other[i]);
  const closing = Math.max(differs, 0);
  const pair = pairFrame(tokenizer);
  return {
    encode(text, limit) {
      const all = ids(text);
      return all.length <= limit ? all : [...all.slice(0, limit - closing), ...all.slice(all.length - closing)];
    },
    encodePair(first, second, limit) {
      if (pair === undefined) throw new Error("the tokenizer has no form for two texts");
      return assemblePair(pair, own(first), own(second), limit);
    },
  };
}

/** The frame for two texts as the library applies it to two known ones; undefined where they cannot be found in the result. */
function pairFrame(tokenizer: Tokenizer): PairItem[] | undefined {
  const own = (text: string) => tokenizer.encode(text, { add_special_tokens: false }).ids;
  const [first, second] = [own("a"), own("b")];
  const whole = tokenizer.encode("a", { text_pair: "b", return_token_type_ids: true });
  const items: PairItem[] = [];
  const stands = (text: readonly number[], at: number) => text.length > 0 && text.every((id, i) => whole.ids[at + i] === id);
  for (let at = 0; at < whole.ids.length; ) {
    const type = whole.token_type_ids[at] ?? 0;
    const next = items.some((item) => "text" in item) ? "second" : "first";
    const text = next === "first" ? first : second;
    const isDone = items.filter((item) => "text" in item).length === 2;
    if (!isDone && stands(text, at)) {
      items.push({ text: next, type });
      at += text.length;
    } else items.push({ special: whole.ids[at++] ?? 0, type });
  }
  return items.filter((item) => "text" in item).length === 2 ? items : undefined;
}
