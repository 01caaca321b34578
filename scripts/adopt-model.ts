/**
 * Makes a model directory of the product's form out of a folder that describes its weights in a `manifest.json` of its own:
 * links (or copies) the files, writes `memory-industry.json`, and the compact vocabulary. For tests, benches and a look by hand.
 *
 *   bun scripts/adopt-model.ts SOURCE TARGET [--copy]
 */
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { DESCRIPTION_FILE, type EmbeddingDescription, embeddingDescriptionSchema } from "../src/inference/models/description.ts";
import { prepareTokenizer } from "../src/inference/tokenizer/load.ts";

const manifestSchema = z.object({
  name: z.string(),
  kind: z.literal("embedding"),
  dimensions: z.int(),
  pooling: z.string(),
  query_prefix: z.string(),
  passage_prefix: z.string(),
  max_tokens: z.int(),
  pad_id: z.int(),
  output: z.string(),
  golden: z.object({ text: z.string(), prefix: z.string(), vector: z.array(z.number()) }).optional(),
  files: z.record(z.string(), z.object({ sha256: z.string(), size: z.int() })),
});

/** Files of a source folder that belong into a model directory. */
const WANTED = ["model.onnx", "model.onnx_data", "tokenizer.json"];

/** @returns what was written as `memory-industry.json`. */
export async function adoptModel(source: string, target: string, options: { readonly copy?: boolean } = {}): Promise<EmbeddingDescription> {
  const manifest = manifestSchema.parse(JSON.parse(await readFile(join(source, "manifest.json"), "utf8")));
  const { golden } = manifest;
  const description = embeddingDescriptionSchema.parse({
    format: 1,
    kind: "embedding",
    name: manifest.name,
    dimensions: manifest.dimensions,
    pooling: manifest.pooling.startsWith("none") ? "none" : manifest.pooling,
    query_prefix: manifest.query_prefix,
    passage_prefix: manifest.passage_prefix,
    max_tokens: manifest.max_tokens,
    pad_id: manifest.pad_id,
    output: manifest.output,
    files: Object.fromEntries(Object.entries(manifest.files).filter(([name]) => WANTED.includes(name))),
    // The role whose prefix the golden text was embedded with.
    golden: golden && { text: golden.text, role: golden.prefix === manifest.passage_prefix ? "passage" : "query", vector: golden.vector },
  });
  await mkdir(target, { recursive: true });
  for (const name of Object.keys(description.files)) {
    await rm(join(target, name), { force: true });
    await (options.copy === true ? copyFile : symlink)(resolve(source, name), join(target, name));
  }
  await writeFile(join(target, DESCRIPTION_FILE), `${JSON.stringify(description, null, 2)}\n`);
  await prepareTokenizer({ directory: target });
  return description;
}

if (import.meta.main) {
  const [source, target] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
  if (source === undefined || target === undefined) {
    console.error("usage: bun scripts/adopt-model.ts SOURCE TARGET [--copy]");
    process.exitCode = 2;
  } else {
    const { name, dimensions } = await adoptModel(source, target, { copy: process.argv.includes("--copy") });
    console.log(`${name} (${dimensions} numbers) is ready in ${target}`);
  }
}
