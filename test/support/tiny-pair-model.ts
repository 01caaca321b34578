/**
 * A real model over two texts, small enough to make for each test: the logits of a pair are the sum of what its words weigh. So a reranker prefers the
 * passages with the good words, an entailment model "entails" where a word says so, and both can be given words that are not a number.
 */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { elementType, model, node, tensor, valueInfo } from "./onnx-bytes.ts";
import { busyWork, vocabulary } from "./tiny-model.ts";

export interface TinyPairModelOptions {
  readonly kind: "reranker" | "nli";
  /** Default `tiny-reranker`, `tiny-nli`. */
  readonly name?: string;
  /** What each word adds to the logits, one number a label. Other text adds nothing. */
  readonly weights: Readonly<Record<string, readonly number[]>>;
  /** Logits of a pair; default 1 for a reranker, 3 for an entailment model. */
  readonly labels?: number;
  /** Logits as float16, default false. */
  readonly half?: boolean;
  /** Declares `token_type_ids`: a word of the second text then weighs twice. Default false. */
  readonly tokenTypeIds?: boolean;
  readonly tokenizer?: "unigram" | "wordpiece";
  readonly extraInput?: string;
  readonly maxTokens?: number;
  /** Multiplications of a 256 × 256 matrix per pass, some 0.6 ms each. */
  readonly work?: number;
  readonly fault?: "truncated" | "no-tokenizer";
  readonly withoutDescription?: boolean;
  readonly graphFile?: string;
  /** Written to `config.json` where given. */
  readonly id2label?: Readonly<Record<string, string>>;
}

function onnxBytes(options: TinyPairModelOptions, table: Float32Array, tokens: number, labels: number): Uint8Array {
  const ids = ["batch", "sequence"];
  const nodes = [
    node("Gather", ["table", "input_ids"], ["looked_up"], { axis: { i: 0 } }),
    node("Cast", ["attention_mask"], ["mask_float"], { to: { i: elementType.float } }),
    node("Unsqueeze", ["mask_float", "last_axis"], ["mask_wide"]),
    // A padded row must count for nothing even where its id weighs something (or is not a number): chosen, not multiplied.
    node("Greater", ["mask_wide", "nought"], ["visible"]),
    node("Where", ["visible", "looked_up", "nought"], ["masked"]),
  ];
  const initializers = [
    tensor("table", [tokens, labels], table),
    tensor("last_axis", [1], BigInt64Array.of(-1n)),
    tensor("sequence_axis", [1], BigInt64Array.of(1n)),
    tensor("nought", [1], Float32Array.of(0)),
  ];
  let weighed = "masked";
  if (options.tokenTypeIds === true) {
    nodes.push(node("Gather", ["types", "token_type_ids"], ["factor"], { axis: { i: 0 } }), node("Mul", ["masked", "factor"], ["typed"]));
    initializers.push(tensor("types", [2, 1], Float32Array.of(1, 2)));
    weighed = "typed";
  }
  nodes.push(node("ReduceSum", [weighed, "sequence_axis"], ["summed"], { keepdims: { i: 0 } }));
  let last = "summed";
  if (options.work !== undefined) {
    const busy = busyWork(options.work, last, "worked");
    nodes.push(...busy.nodes);
    initializers.push(...busy.initializers);
    last = "worked";
  }
  const half = options.half === true;
  nodes.push(half ? node("Cast", [last], ["logits"], { to: { i: elementType.float16 } }) : node("Identity", [last], ["logits"]));
  const inputs = [valueInfo("input_ids", elementType.int64, ids), valueInfo("attention_mask", elementType.int64, ids)];
  if (options.tokenTypeIds === true) inputs.push(valueInfo("token_type_ids", elementType.int64, ids));
  if (options.extraInput !== undefined) inputs.push(valueInfo(options.extraInput, elementType.int64, ids));
  return model({
    nodes,
    initializers,
    inputs,
    outputs: [valueInfo("logits", half ? elementType.float16 : elementType.float, ["batch", labels])],
  });
}

/** Writes the model into `directory` (made if missing). */
export async function writeTinyPairModel(directory: string, options: TinyPairModelOptions): Promise<void> {
  const labels = options.labels ?? (options.kind === "nli" ? 3 : 1);
  const words = Object.keys(options.weights);
  const { pieces, padId, json } = vocabulary(
    { words, ...(options.tokenizer === undefined ? {} : { tokenizer: options.tokenizer }) },
    labels,
  );
  const table = new Float32Array(pieces.length * labels);
  const weightOf = new Map(words.flatMap((word) => [word, `▁${word}`].map((piece) => [piece.toLowerCase(), options.weights[word] ?? []])));
  for (const [id, { piece }] of pieces.entries()) table.set(weightOf.get(piece) ?? [], id * labels);
  const whole = onnxBytes(options, table, pieces.length, labels);
  const files: Record<string, Uint8Array> = {
    [options.graphFile ?? "model.onnx"]: options.fault === "truncated" ? whole.subarray(0, whole.length >> 1) : whole,
    ...(options.fault === "no-tokenizer" ? {} : { "tokenizer.json": new TextEncoder().encode(JSON.stringify(json)) }),
  };
  const description = {
    format: 1,
    kind: options.kind,
    name: options.name ?? `tiny-${options.kind}`,
    max_tokens: options.maxTokens ?? 128,
    pad_id: padId,
    files: Object.fromEntries(
      Object.entries(files).map(([name, content]) => [
        name,
        { sha256: createHash("sha256").update(content).digest("hex"), size: content.length },
      ]),
    ),
    ...(options.kind === "nli" ? { labels: ["entailment", "neutral", "contradiction"] } : {}),
  };
  await mkdir(directory, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  if (options.withoutDescription !== true) await writeFile(join(directory, "memory-industry.json"), JSON.stringify(description));
  if (options.id2label !== undefined) await writeFile(join(directory, "config.json"), JSON.stringify({ id2label: options.id2label }));
}
