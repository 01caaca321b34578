/**
 * The compact vocabulary, `tokenizer.compact` beside `tokenizer.json`: the same tokenizer laid out so that loading is one read and no parsing.
 * Derived from `tokenizer.json`, whose digest it carries; made by `models`, and made again where it is missing, stale or damaged.
 *
 * Layout, little-endian: magic (8 bytes), u32 length of the header, the header (JSON, zod-checked), padding to 8, then the sections in the header's
 * order, each padded to 8. Figures and alternatives: docs/decisions/0040-compact-vocabulary.md.
 */
import { z } from "zod";
import { CharsMap } from "./charsmap.ts";
import { createEncoder, type Encoder } from "./encoder.ts";
import { pairItemSchema } from "./pair.ts";
import { layOut, PieceTable } from "./piece-table.ts";
import { createNormalizer, createSplitter, normalizeStepSchema, splitStepSchema } from "./pipeline.ts";
import { addedTokenSchema, type Recipe, type RecipeResult } from "./recipe.ts";
import { createUnigram } from "./unigram.ts";
import { createWordPiece } from "./wordpiece.ts";

export const COMPACT_FILE = "tokenizer.compact";

/** The last character is the version of this layout; a file of another version counts as missing. */
const MAGIC = new TextEncoder().encode("MIVOCAB2");
const ALIGNMENT = 8;

const bytes = z.int().nonnegative();
const formSchema = z.discriminatedUnion("kind", [
  /** No compact form: the file only says so, which saves finding out at each load. */
  z.object({ kind: z.literal("library"), why: z.string() }),
  z.object({
    kind: z.literal("compact"),
    normalize: z.array(normalizeStepSchema),
    split: z.array(splitStepSchema),
    added: z.array(addedTokenSchema),
    before: z.array(z.int()),
    after: z.array(z.int()),
    pair: z.array(pairItemSchema),
    model: z.discriminatedUnion("type", [
      z.object({ type: z.literal("unigram"), unkId: z.int() }),
      z.object({ type: z.literal("wordpiece"), unkId: z.int(), continuation: z.string(), longestWord: z.int() }),
    ]),
    /** Sizes in bytes. `scores` is f64 and empty for WordPiece; `charsMap` may be empty. */
    sections: z.object({ slots: bytes, offsets: bytes, scores: bytes, units: bytes, longest: bytes, charsMap: bytes }),
    /** Of everything after the header, so that a damaged file is made again and not believed. */
    checksum: z.string(),
  }),
]);
const headerSchema = z.object({
  /** SHA-256 of the `tokenizer.json` this was made from, and its size and modification time, which save hashing it at each load. */
  source: z.object({ sha256: z.string(), size: bytes, mtimeMs: z.number() }),
  form: formSchema,
});

type Header = z.infer<typeof headerSchema>;
type CompactForm = Extract<Header["form"], { kind: "compact" }>;
export type CompactSource = Header["source"];

const padded = (size: number) => Math.ceil(size / ALIGNMENT) * ALIGNMENT;
const checksum = (body: Uint8Array) => Bun.hash.xxHash64(body).toString(16);
const raw = (array: Uint8Array | Uint16Array | Uint32Array | Float64Array) =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** The file's content for what `tokenizer.json` turned out to be. */
export function writeCompact(result: RecipeResult, source: CompactSource): Uint8Array<ArrayBuffer> {
  if (result.kind === "unsupported") return written({ source, form: { kind: "library", why: result.why } }, new Uint8Array());
  const laidOut = layOut(result.recipe.model.pieces);
  if (laidOut === undefined)
    return written({ source, form: { kind: "library", why: "too many pieces, or one too long" } }, new Uint8Array());
  const { model, charsMap } = result.recipe;
  const parts = {
    slots: raw(laidOut.slots),
    offsets: raw(laidOut.offsets),
    scores: raw(Float64Array.from(model.type === "unigram" ? model.scores : [])),
    units: raw(laidOut.units),
    longest: raw(laidOut.longest),
    charsMap: charsMap ?? new Uint8Array(),
  };
  const body = new Uint8Array(Object.values(parts).reduce((sum, part) => sum + padded(part.length), 0));
  let at = 0;
  for (const part of Object.values(parts)) {
    body.set(part, at);
    at += padded(part.length);
  }
  const sections = {
    slots: parts.slots.length,
    offsets: parts.offsets.length,
    scores: parts.scores.length,
    units: parts.units.length,
    longest: parts.longest.length,
    charsMap: parts.charsMap.length,
  };
  return written({ source, form: { ...steps(result.recipe), kind: "compact", sections, checksum: checksum(body) } }, body);
}

function steps({ normalize, split, added, before, after, pair, model }: Recipe): Omit<CompactForm, "kind" | "sections" | "checksum"> {
  const common = {
    normalize: [...normalize],
    split: [...split],
    added: [...added],
    before: [...before],
    after: [...after],
    pair: [...pair],
  };
  if (model.type === "unigram") return { ...common, model: { type: "unigram", unkId: model.unkId } };
  const { unkId, continuation, longestWord } = model;
  return { ...common, model: { type: "wordpiece", unkId, continuation, longestWord } };
}

function written(header: Header, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(JSON.stringify(header));
  const bodyAt = padded(MAGIC.length + 4 + head.length);
  const out = new Uint8Array(bodyAt + body.length);
  out.set(MAGIC);
  new DataView(out.buffer).setUint32(MAGIC.length, head.length, true);
  out.set(head, MAGIC.length + 4);
  out.set(body, bodyAt);
  return out;
}

export interface Compact {
  readonly source: CompactSource;
  /** Checks the rest of the file and builds the tokenizer. @returns `library` where it has no compact form, undefined where the file is damaged. */
  open(): Encoder | "library" | undefined;
}

/** @returns undefined for anything that is not a compact vocabulary of this version; a file's beginning is enough to learn its source. */
export function readCompact(file: ArrayBuffer): Compact | undefined {
  const all = new Uint8Array(file);
  if (all.length < MAGIC.length + 4 || !MAGIC.every((byte, i) => all[i] === byte)) return undefined;
  const headAt = MAGIC.length + 4;
  const headEnd = headAt + new DataView(file).getUint32(MAGIC.length, true);
  if (headEnd > all.length) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(all.subarray(headAt, headEnd)));
  } catch {
    return undefined;
  }
  const parsed = headerSchema.safeParse(json);
  if (!parsed.success) return undefined;
  const { source, form } = parsed.data;
  return { source, open: () => (form.kind === "library" ? "library" : encoderOf(form, file, padded(headEnd))) };
}

function encoderOf(form: CompactForm, file: ArrayBuffer, bodyAt: number): Encoder | undefined {
  const { sections: sizes, model } = form;
  const total = Object.values(sizes).reduce((sum, size) => sum + padded(size), 0);
  if (bodyAt + total !== file.byteLength || checksum(new Uint8Array(file, bodyAt)) !== form.checksum) return undefined;
  let at = bodyAt;
  const next = (size: number) => {
    const start = at;
    at += padded(size);
    return start;
  };
  const slots = new Uint32Array(file, next(sizes.slots), sizes.slots / 4);
  const offsets = new Uint32Array(file, next(sizes.offsets), sizes.offsets / 4);
  const scores = new Float64Array(file, next(sizes.scores), sizes.scores / 8);
  const units = new Uint16Array(file, next(sizes.units), sizes.units / 2);
  const longest = new Uint8Array(file, next(sizes.longest), sizes.longest);
  const charsMap = new Uint8Array(file, next(sizes.charsMap), sizes.charsMap);
  const table = new PieceTable({ slots, offsets, units, longest });
  return createEncoder({
    normalize: createNormalizer(form.normalize, charsMap.length > 0 ? new CharsMap(charsMap) : undefined),
    split: createSplitter(form.split),
    segment: model.type === "unigram" ? createUnigram({ table, scores, unkId: model.unkId }) : createWordPiece({ table, ...model }),
    added: form.added,
    before: form.before,
    after: form.after,
    pair: form.pair,
    pieceOf:
      model.type === "unigram"
        ? (id) => table.textOf(id).replaceAll(METASPACE, " ")
        : (id) => wordPieceText(table.textOf(id), model.continuation),
  });
}

/** How SentencePiece writes the blank in front of a word. */
const METASPACE = "▁";

const wordPieceText = (piece: string, continuation: string) =>
  piece.startsWith(continuation) ? piece.slice(continuation.length) : ` ${piece}`;
