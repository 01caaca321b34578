/**
 * Computes what `doctor` compares with: a model directory's golden vector, scores or probabilities, from the files that lie in it, and writes them into its
 * `memory-industry.json`. For the catalogue before a release (only the very files of the catalogue give its values), and for a model of one's own.
 *
 *   bun scripts/golden.ts DIRECTORY
 */
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createEmbedder } from "../src/inference/embedder.ts";
import { createEntailment } from "../src/inference/entailment.ts";
import { DESCRIPTION_FILE, type GoldenPairs, type ModelDescription, readDescription } from "../src/inference/models/description.ts";
import { entailedPairs, scoredPairs } from "../src/inference/models/golden.ts";
import { locateEmbeddingModel } from "../src/inference/models/locate.ts";
import { locatePairModel } from "../src/inference/models/locate-pair.ts";
import type { Answer } from "../src/inference/port.ts";
import { createReranker } from "../src/inference/reranker.ts";
import { noDeadline } from "../src/kernel/deadline.ts";
import { unavailable } from "../src/kernel/errors.ts";
import { silentLogger } from "../src/kernel/logger.ts";

/** Three scripts and a number, so that a lost tokenizer rule shows. */
const TEXT = "The booking API listens on port 8443; la pasarela de aduanas reintenta 6 veces; 搜索用 jieba 分词";
const PAIRS: GoldenPairs["pairs"] = [
  ["Which port does the service use?", "The service listens on port 8443."],
  ["¿Quién aprueba el recargo?", "Núria Ferrer decide sobre las tarifas."],
  ["搜索怎么分词？", "今天下雨。"],
];
/** Digits kept: far finer than what is compared. */
const DIGITS = 5;
const rounded = (values: Iterable<number>) => Array.from(values, (value) => Number(value.toFixed(DIGITS)));

const limits = { deadline: noDeadline, signal: new AbortController().signal };
const placement = { device: "cpu", arena: false, spinning: false } as const;
const common = { threads: 1, placement, log: silentLogger };

function valuesOf(answer: Answer<readonly number[]>): number[][] {
  if (answer.kind === "none") throw unavailable(`The model gave nothing: ${answer.reason}`);
  return answer.values.map(rounded);
}

/** The description with its golden part computed anew. */
export async function withGolden(directory: string): Promise<ModelDescription> {
  const description = await readDescription(directory);
  if (description === undefined) throw unavailable(`${directory} has no ${DESCRIPTION_FILE}. Nothing was written.`);
  switch (description.kind) {
    case "embedding": {
      await using model = closing(
        await createEmbedder({
          find: () => locateEmbeddingModel({ explicitPath: directory, overrides: {} }),
          threads: 1,
          log: silentLogger,
        }),
      );
      const [vector = new Float32Array()] = await model.it.embed([TEXT], "passage", limits.signal);
      return { ...description, golden: { text: TEXT, role: "passage", vector: rounded(vector) } };
    }
    case "reranker": {
      const rules = { chunk: 4, bucket: 0, fixedShape: false, byLength: true };
      await using model = closing(
        await createReranker({ ...common, rules, find: () => locatePairModel({ slot: "reranker", explicitPath: directory }) }),
      );
      return { ...description, golden: { pairs: PAIRS, values: valuesOf(await scoredPairs(model.it, { pairs: PAIRS }, limits)) } };
    }
    case "nli": {
      await using model = closing(
        await createEntailment({ ...common, find: () => locatePairModel({ slot: "nli", explicitPath: directory }) }),
      );
      return { ...description, golden: { pairs: PAIRS, values: valuesOf(await entailedPairs(model.it, { pairs: PAIRS }, limits)) } };
    }
  }
}

const closing = <T extends { close(): Promise<void> }>(it: T) => ({ it, [Symbol.asyncDispose]: () => it.close() });

if (import.meta.main) {
  const [given] = process.argv.slice(2);
  if (given === undefined) {
    console.error("usage: bun scripts/golden.ts DIRECTORY");
    process.exitCode = 2;
  } else {
    const directory = resolve(given);
    const description = await withGolden(directory);
    await writeFile(join(directory, DESCRIPTION_FILE), `${JSON.stringify(description, null, 2)}\n`);
    console.log(JSON.stringify(description.golden));
  }
}
