/**
 * A real embedding model, small enough to make for each test: an ONNX graph that looks each token up in a table, a tokenizer and the product's own
 * description. Texts are near each other when they share words, or words of the same group, so ranking can be tested with literals in any language.
 */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EmbeddingDescription } from "../../src/inference/models/description.ts";
import { type Attribute, elementType, graph, model, node, tensor, valueInfo } from "./onnx-bytes.ts";

export interface TinyModelOptions {
  /** Default `tiny`. */
  readonly name?: string;
  /** Length of a vector, default 384. */
  readonly dimensions?: number;
  /** Words that mean the same: each group shares one direction. `[["car", "coche", "汽车"]]` */
  readonly groups?: readonly (readonly string[])[];
  /** Further whole words; any other text falls apart into characters, which weigh little. */
  readonly words?: readonly string[];
  /** Declares `token_type_ids` as an input, default true. */
  readonly tokenTypeIds?: boolean;
  /** Declares one more input that no embedder feeds. */
  readonly extraInput?: string;
  /** `none`: the graph itself returns `sentence_embedding` [batch, dimensions]. Default `mean`. */
  readonly pooling?: "mean" | "cls" | "none";
  /** A second output in front of the real one, default false. */
  readonly secondOutput?: boolean;
  /** `unigram` (default: SentencePiece shape, whole words of any script) or `wordpiece` (BERT shape). */
  readonly tokenizer?: "unigram" | "wordpiece";
  readonly queryPrefix?: string;
  readonly passagePrefix?: string;
  readonly maxTokens?: number;
  /** Multiplications of a 256 × 256 matrix per run: some 0.6 ms each, to make a run slow. Default 0. */
  readonly work?: number;
  /** What is wrong with it: the graph cut in half, the description claiming one dimension more, a missing tokenizer. */
  readonly fault?: "truncated" | "dimensions" | "no-tokenizer";
  /** Leave `memory-industry.json` out, as in a legacy cache. */
  readonly withoutDescription?: boolean;
  /** Default `model.onnx`; legacy caches say `model_quantized.onnx`. */
  readonly graphFile?: string;
}

/** How much a single character counts beside a whole word. */
const CHARACTER_WEIGHT = 0.1;
/** Special tokens point nowhere in particular, but a text of nothing else still has a direction. */
const SPECIAL_WEIGHT = 0.01;
const CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789áéíóúüñ.,:;!?()[]{}'\"-_/\\@#$%&*+=<>¿¡。，！？：";
const LOOP_MATRIX = 256;

/** A repeatable direction for a word: uniform components from SHA-256 in counter mode, unit length times `weight`. */
function direction(word: string, dimensions: number, weight: number): Float32Array {
  const out = new Float32Array(dimensions);
  for (let at = 0, block = 0; at < dimensions; block++) {
    const digest = createHash("sha256").update(`${word}\u0000${block}`).digest();
    for (let i = 0; i < 32 && at < dimensions; i += 4) out[at++] = digest.readUInt32LE(i) / 2 ** 31 - 1;
  }
  const norm = Math.hypot(...out);
  return out.map((value) => (value / norm) * weight);
}

export interface Vocabulary {
  readonly pieces: readonly { readonly piece: string; readonly score: number; readonly vector: Float32Array }[];
  readonly padId: number;
  readonly json: unknown;
}

export function vocabulary(options: Pick<TinyModelOptions, "tokenizer" | "groups" | "words">, dimensions: number): Vocabulary {
  const unigram = (options.tokenizer ?? "unigram") === "unigram";
  const specials = unigram ? ["<s>", "<pad>", "</s>", "<unk>"] : ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
  const pieces = specials.map((piece) => ({ piece, score: 0, vector: direction(piece, dimensions, SPECIAL_WEIGHT) }));
  const seen = new Set(specials);
  const add = (piece: string, score: number, vector: Float32Array) => {
    if (seen.has(piece)) return;
    seen.add(piece);
    pieces.push({ piece, score, vector });
  };
  const word = (text: string, meaning: string) => {
    const vector = direction(meaning, dimensions, 1);
    add(text, -2, vector);
    add(unigram ? `▁${text}` : `##${text}`, -2, vector);
  };
  for (const group of options.groups ?? []) for (const each of group) word(each.toLowerCase(), `group ${group[0]}`);
  for (const each of options.words ?? []) word(each.toLowerCase(), each.toLowerCase());
  if (unigram) add("▁", -3, direction("▁", dimensions, SPECIAL_WEIGHT));
  for (const char of CHARACTERS) {
    const vector = direction(char, dimensions, CHARACTER_WEIGHT);
    add(char, -8, vector);
    if (!unigram) add(`##${char}`, -8, vector);
  }
  const json = unigram ? unigramJson(pieces) : wordPieceJson(pieces);
  return { pieces, padId: unigram ? 1 : 0, json };
}

const special = (id: number, content: string) => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
});
const template = (open: string, openId: number, close: string, closeId: number) => ({
  type: "TemplateProcessing",
  single: [{ SpecialToken: { id: open, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: close, type_id: 0 } }],
  pair: [
    { SpecialToken: { id: open, type_id: 0 } },
    { Sequence: { id: "A", type_id: 0 } },
    { SpecialToken: { id: close, type_id: 0 } },
    { Sequence: { id: "B", type_id: 1 } },
    { SpecialToken: { id: close, type_id: 1 } },
  ],
  special_tokens: { [open]: { id: open, ids: [openId], tokens: [open] }, [close]: { id: close, ids: [closeId], tokens: [close] } },
});

type Pieces = Vocabulary["pieces"];

const unigramJson = (pieces: Pieces) => ({
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: [special(0, "<s>"), special(1, "<pad>"), special(2, "</s>"), special(3, "<unk>")],
  normalizer: {
    type: "Sequence",
    normalizers: [{ type: "NFKC" }, { type: "Lowercase" }, { type: "Replace", pattern: { Regex: " {2,}" }, content: " " }],
  },
  pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
  post_processor: template("<s>", 0, "</s>", 2),
  decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
  model: { type: "Unigram", unk_id: 3, vocab: pieces.map(({ piece, score }) => [piece, score]), byte_fallback: false },
});

const wordPieceJson = (pieces: Pieces) => ({
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: [special(0, "[PAD]"), special(1, "[UNK]"), special(2, "[CLS]"), special(3, "[SEP]")],
  normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: false, lowercase: true },
  pre_tokenizer: { type: "BertPreTokenizer" },
  post_processor: template("[CLS]", 2, "[SEP]", 3),
  decoder: { type: "WordPiece", prefix: "##", cleanup: true },
  model: {
    type: "WordPiece",
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(pieces.map(({ piece }, id) => [piece, id])),
  },
});

/** `repeat` squarings of a constant matrix in a loop; its result times zero is added to `to`, so the runtime cannot drop it. */
export function busyWork(repeat: number, to: string, out: string): { nodes: Uint8Array[]; initializers: Uint8Array[] } {
  const shape = [LOOP_MATRIX, LOOP_MATRIX];
  const body = graph({
    nodes: [node("MatMul", ["m_in", "m_const"], ["m_out"]), node("Identity", ["go_in"], ["go_out"])],
    inputs: [
      valueInfo("turn", elementType.int64, []),
      valueInfo("go_in", elementType.bool, []),
      valueInfo("m_in", elementType.float, shape),
    ],
    outputs: [valueInfo("go_out", elementType.bool, []), valueInfo("m_out", elementType.float, shape)],
  });
  const loopBody: Readonly<Record<string, Attribute>> = { body: { graph: body } };
  const identity = new Float32Array(LOOP_MATRIX * LOOP_MATRIX);
  for (let i = 0; i < LOOP_MATRIX; i++) identity[i * LOOP_MATRIX + i] = 1;
  return {
    nodes: [
      // The start depends on an input, or constant folding would do the work once at load.
      node("ReduceMax", ["mask_float"], ["mask_max"], { keepdims: { i: 0 } }),
      node("Mul", ["m_const", "mask_max"], ["m_start"]),
      node("Loop", ["turns", "", "m_start"], ["m_end"], loopBody),
      node("ReduceMax", ["m_end"], ["m_max"], { keepdims: { i: 0 } }),
      node("Mul", ["m_max", "zero"], ["m_nothing"]),
      node("Add", [to, "m_nothing"], [out]),
    ],
    initializers: [
      tensor("m_const", shape, identity),
      tensor("turns", [], BigInt64Array.of(BigInt(repeat))),
      tensor("zero", [], Float32Array.of(0)),
    ],
  };
}

function onnxBytes(options: TinyModelOptions, table: Float32Array, tokens: number, dimensions: number): Uint8Array {
  const pooling = options.pooling ?? "mean";
  const types = options.tokenTypeIds ?? true;
  const work = options.work ?? 0;
  const ids = ["batch", "sequence"];
  const nodes = [
    node("Gather", ["table", "input_ids"], ["looked_up"], { axis: { i: 0 } }),
    node("Cast", ["attention_mask"], ["mask_float"], { to: { i: elementType.float } }),
    node("Unsqueeze", ["mask_float", "last_axis"], ["mask_wide"]),
    node("Mul", ["looked_up", "mask_wide"], ["masked"]),
  ];
  const initializers = [tensor("table", [tokens, dimensions], table), tensor("last_axis", [1], BigInt64Array.of(-1n))];
  let hidden = "masked";
  if (types) {
    // Segment 1 would move every vector; a caller that feeds anything but zeros shows.
    nodes.push(
      node("Gather", ["types", "token_type_ids"], ["typed"], { axis: { i: 0 } }),
      node("Add", [hidden, "typed"], ["hidden_typed"]),
    );
    const segments = new Float32Array(2 * dimensions);
    segments.fill(1, dimensions);
    initializers.push(tensor("types", [2, dimensions], segments));
    hidden = "hidden_typed";
  }
  if (work > 0) {
    const busy = busyWork(work, hidden, "hidden_worked");
    nodes.push(...busy.nodes);
    initializers.push(...busy.initializers);
    hidden = "hidden_worked";
  }
  const whole = pooling === "none" ? "sentence_embedding" : "last_hidden_state";
  if (pooling === "mean") nodes.push(node("Identity", [hidden], [whole]));
  else {
    nodes.push(node("ReduceMean", [hidden], ["average"], { axes: { ints: [1] }, keepdims: { i: pooling === "cls" ? 1 : 0 } }));
    // For `cls` the first token carries the text's average, as a trained model's would.
    nodes.push(pooling === "cls" ? node("Add", [hidden, "average"], [whole]) : node("Identity", ["average"], [whole]));
  }
  const outputs = [valueInfo(whole, elementType.float, pooling === "none" ? ["batch", dimensions] : [...ids, dimensions])];
  if (options.secondOutput === true) {
    nodes.push(node("ReduceMax", ["mask_float"], ["pooler_output"], { keepdims: { i: 1 } }));
    outputs.unshift(valueInfo("pooler_output", elementType.float, [1, 1]));
  }
  const inputs = [valueInfo("input_ids", elementType.int64, ids), valueInfo("attention_mask", elementType.int64, ids)];
  if (types) inputs.push(valueInfo("token_type_ids", elementType.int64, ids));
  if (options.extraInput !== undefined) inputs.push(valueInfo(options.extraInput, elementType.int64, ids));
  return model({ nodes, initializers, inputs, outputs });
}

export interface TinyModel {
  readonly directory: string;
  readonly description: EmbeddingDescription;
}

/** Writes the model into `directory` (made if missing). */
export async function writeTinyModel(directory: string, options: TinyModelOptions = {}): Promise<TinyModel> {
  const dimensions = options.dimensions ?? 384;
  const { pieces, padId, json } = vocabulary(options, dimensions);
  const table = new Float32Array(pieces.length * dimensions);
  for (const [id, { vector }] of pieces.entries()) table.set(vector, id * dimensions);
  const whole = onnxBytes(options, table, pieces.length, dimensions);
  const files: Record<string, Uint8Array> = {
    [options.graphFile ?? "model.onnx"]: options.fault === "truncated" ? whole.subarray(0, whole.length >> 1) : whole,
    ...(options.fault === "no-tokenizer" ? {} : { "tokenizer.json": new TextEncoder().encode(JSON.stringify(json)) }),
  };
  const pooling = options.pooling ?? "mean";
  const description: EmbeddingDescription = {
    format: 1,
    kind: "embedding",
    name: options.name ?? "tiny",
    dimensions: options.fault === "dimensions" ? dimensions + 1 : dimensions,
    pooling,
    query_prefix: options.queryPrefix ?? "",
    passage_prefix: options.passagePrefix ?? "",
    max_tokens: options.maxTokens ?? 128,
    pad_id: padId,
    output: pooling === "none" ? "sentence_embedding" : "last_hidden_state",
    files: Object.fromEntries(
      Object.entries(files).map(([name, content]) => [
        name,
        { sha256: createHash("sha256").update(content).digest("hex"), size: content.length },
      ]),
    ),
  };
  await mkdir(directory, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  if (options.withoutDescription !== true)
    await writeFile(join(directory, "memory-industry.json"), `${JSON.stringify(description, null, 2)}\n`);
  return { directory, description };
}
