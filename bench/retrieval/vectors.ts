/** Vectors of the real multilingual-e5-small for the development sets, computed once and kept under the system's temporary folder. */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { z } from "zod";
import { sharedFolder } from "./eval-sets.ts";

const manifest = z.object({
  dimensions: z.int(),
  query_prefix: z.string(),
  passage_prefix: z.string(),
  max_tokens: z.int(),
});

/** Texts between two writes to the cache file. */
const SAVE_EVERY = 200;

export interface Vectors {
  readonly query: (text: string) => Float32Array;
  readonly passage: (text: string) => Float32Array;
}

/** @returns unit vectors of every text given; each text costs one run of the model the first time. */
export async function vectorsOf(queries: readonly string[], passages: readonly string[]): Promise<Vectors> {
  const folder = join(sharedFolder(), "models/multilingual-e5-small");
  const model = manifest.parse(JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")));
  const cache = openCache(model.dimensions);
  const texts = [...new Set([...queries.map((text) => model.query_prefix + text), ...passages.map((text) => model.passage_prefix + text)])];
  const missing = texts.filter((text) => !cache.vectors.has(text));
  if (missing.length > 0) {
    const embed = await loadModel(folder, model);
    for (const [at, text] of missing.entries()) {
      cache.add(text, await embed(text));
      if ((at + 1) % SAVE_EVERY === 0) console.error(`${at + 1} of ${missing.length} vectors`);
    }
    cache.save();
  }
  const find = (text: string) => cache.vectors.get(text) ?? new Float32Array(model.dimensions);
  return { query: (text) => find(model.query_prefix + text), passage: (text) => find(model.passage_prefix + text) };
}

function openCache(dimensions: number) {
  const folder = join(tmpdir(), "memory-industry-bench");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "multilingual-e5-small.vectors");
  const digestBytes = 32;
  const rowBytes = digestBytes + dimensions * 4;
  const byDigest = new Map<string, Float32Array>();
  const stored = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  for (let at = 0; at + rowBytes <= stored.length; at += rowBytes) {
    const row = stored.subarray(at, at + rowBytes);
    byDigest.set(row.subarray(0, digestBytes).toString("hex"), new Float32Array(new Uint8Array(row.subarray(digestBytes)).buffer));
  }
  const digest = (text: string) => createHash("sha256").update(text).digest();
  let waiting: Buffer[] = [];
  const save = () => {
    appendFileSync(path, Buffer.concat(waiting));
    waiting = [];
  };
  return {
    vectors: {
      has: (text: string) => byDigest.has(digest(text).toString("hex")),
      get: (text: string) => byDigest.get(digest(text).toString("hex")),
    },
    add: (text: string, vector: Float32Array) => {
      byDigest.set(digest(text).toString("hex"), vector);
      waiting.push(digest(text), Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength));
      if (waiting.length >= SAVE_EVERY * 2) save();
    },
    save,
  };
}

async function loadModel(folder: string, model: z.infer<typeof manifest>): Promise<(text: string) => Promise<Float32Array>> {
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(join(folder, "tokenizer.json"), "utf8")), {});
  const session = await InferenceSession.create(join(folder, "model.onnx"), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  return async (text) => {
    const all = tokenizer.encode(text).ids;
    const ids = all.length > model.max_tokens ? [...all.slice(0, model.max_tokens - 1), ...all.slice(-1)] : all;
    const shape = [1, ids.length]; // int64 [batch, tokens]
    const feeds = {
      input_ids: new Tensor("int64", BigInt64Array.from(ids, BigInt), shape),
      attention_mask: new Tensor("int64", new BigInt64Array(ids.length).fill(1n), shape),
      token_type_ids: new Tensor("int64", new BigInt64Array(ids.length), shape),
    };
    const output = (await session.run(feeds)).last_hidden_state; // f32 [1, tokens, dim]
    if (!(output?.data instanceof Float32Array)) throw new Error("the model gave no last_hidden_state");
    const pooled = new Float32Array(model.dimensions);
    for (let at = 0; at < output.data.length; at++)
      pooled[at % model.dimensions] = (pooled[at % model.dimensions] ?? 0) + (output.data[at] ?? 0);
    const norm = Math.hypot(...pooled);
    return pooled.map((value) => value / norm);
  };
}

/** Dot product; the cosine of unit vectors. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
