/**
 * `memory-industry.json`, the product's own file in a model directory: everything that makes the same weights the same vectors.
 * A directory is `model.onnx` (plus its external data), `tokenizer.json` and this file (`design.md` §5).
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { corrupt } from "../../kernel/errors.ts";

export const DESCRIPTION_FILE = "memory-industry.json";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "a SHA-256 in lower-case hexadecimal");
const count = z.int().positive();

const fileDigestSchema = z.object({ sha256, size: count });

/** A text and the vector that this model must give for it, cosine at least {@link GOLDEN_MIN_COSINE}; `doctor` checks it. */
export const goldenSchema = z.object({
  text: z.string().min(1),
  role: z.enum(["query", "passage"]),
  /** f32 [dimensions], unit length. */
  vector: z.array(z.number()).min(1),
});

const share = z.number().min(0).max(1);

/**
 * Pairs of texts and what this model must give for each, {@link GOLDEN_MOST_DIFFERENCE} apart at most: a reranker its score for (question, passage), an
 * entailment model the probabilities of entailment, neutral and contradiction for (premise, claim), in this order.
 */
const goldenPairs = (numbers: number) =>
  z
    .object({ pairs: z.array(z.tuple([z.string().min(1), z.string().min(1)])).min(1), values: z.array(z.array(share).length(numbers)) })
    .refine(({ pairs, values }) => pairs.length === values.length, { error: "golden needs as many values as pairs" });

const common = {
  /** Version of this file's shape. */
  format: z.literal(1),
  /** Catalogue name. */
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]*$/i, "letters, digits, dot, dash, underscore"),
  /** Longest input in tokens, specials included; longer texts are cut and keep their last special token. */
  max_tokens: count,
  pad_id: z.int().nonnegative(),
  /** Digests of the files beside this one. */
  files: z.record(z.string(), fileDigestSchema),
};

export const embeddingDescriptionSchema = z
  .object({
    ...common,
    kind: z.literal("embedding"),
    dimensions: count,
    /** How token vectors become one: mean over the mask, the first token, or `none` where the graph returns the text's vector. */
    pooling: z.enum(["mean", "cls", "none"]),
    query_prefix: z.string(),
    passage_prefix: z.string(),
    /** Name of the graph's output to read; left out where the graph has one. */
    output: z.string().min(1).optional(),
    golden: goldenSchema.optional(),
  })
  .refine((d) => d.golden === undefined || d.golden.vector.length === d.dimensions, {
    error: "golden.vector must have `dimensions` numbers",
  });

/** A cross-encoder: a pair of texts in, one relevance out. */
const rerankerDescriptionSchema = z.object({ ...common, kind: z.literal("reranker"), golden: goldenPairs(1).optional() });

/** An entailment model: premise and claim in, one logit a label out, in this order. */
const entailmentDescriptionSchema = z.object({
  ...common,
  kind: z.literal("nli"),
  labels: z.array(z.enum(["entailment", "neutral", "contradiction"])).length(3),
  golden: goldenPairs(3).optional(),
});

const modelDescriptionSchema = z.discriminatedUnion("kind", [
  embeddingDescriptionSchema,
  rerankerDescriptionSchema,
  entailmentDescriptionSchema,
]);

export type Golden = z.infer<typeof goldenSchema>;
export type GoldenPairs = z.infer<ReturnType<typeof goldenPairs>>;
export type EmbeddingDescription = z.infer<typeof embeddingDescriptionSchema>;
export type ModelDescription = z.infer<typeof modelDescriptionSchema>;

/**
 * Reads a model directory's own description.
 * @returns undefined where the directory has none (a legacy cache).
 * @throws MemoryError `corrupt` where the file is there and is not one of ours.
 */
export async function readDescription(directory: string): Promise<ModelDescription | undefined> {
  let text: string;
  try {
    text = await readFile(join(directory, DESCRIPTION_FILE), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined;
    throw error;
  }
  return parseDescription(text);
}

/** @throws MemoryError `corrupt`, naming the field at fault. */
export function parseDescription(text: string): ModelDescription {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw corrupt(
      `${DESCRIPTION_FILE} of the model is not JSON. Download the model again; 'memory-industry models status' shows which one it is.`,
      { cause },
    );
  }
  const parsed = modelDescriptionSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.join(".") || "the file";
  throw corrupt(
    `${DESCRIPTION_FILE} of the model is not valid: ${where}: ${issue?.message ?? "unreadable"}. Download the model again; 'memory-industry models status' shows which one it is.`,
    { cause: parsed.error },
  );
}
