/** Rerankers for measurements: one of random weights, whose time counts and whose order is noise, and readers that no model file makes. */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { locatePairModel } from "../../src/inference/models/locate-pair.ts";
import type { Reranker } from "../../src/inference/port.ts";
import { createReranker } from "../../src/inference/reranker.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { RerankStage } from "../../src/services/search/rerank.ts";
import { benchFolder } from "./bench-database.ts";
import { sharedFolder } from "./eval-sets.ts";

/** Rows of the fused order that the product has read on a processor, and its budget. */
const DEPTH = 20;
const TIMEOUT_MS = 20_000;

/** The shape of bge-reranker-v2-m3 with random weights, a few tokens wide. */
export async function randomReranker(): Promise<Reranker> {
  const source = join(sharedFolder(), "models/tiny-reranker");
  const directory = join(benchFolder(), "tiny-reranker");
  mkdirSync(directory, { recursive: true });
  for (const file of ["model.onnx", "tokenizer.json", "config.json"]) copyFileSync(join(source, file), join(directory, file));
  return await createReranker({
    find: () => locatePairModel({ slot: "reranker", explicitPath: directory }),
    threads: 1,
    rules: { chunk: 16, bucket: 0, fixedShape: false, byLength: true },
    placement: { device: "cpu", arena: true, spinning: true },
    log: silentLogger,
  });
}

/** The stage of the product over a reader, and what it was asked. */
export function counted(reader: Pick<Reranker, "score" | "status">) {
  const count = {
    asked: 0,
    pairs: 0,
    unranked: 0,
    reset: () => {
      count.asked = 0;
      count.pairs = 0;
      count.unranked = 0;
    },
  };
  const stage: RerankStage = {
    reranker: {
      status: reader.status,
      warm: () => {},
      score: async (query, passages, limits) => {
        count.asked += 1;
        count.pairs += passages.length;
        const answer = await reader.score(query, passages, limits);
        if (answer.kind === "none") count.unranked += 1;
        return answer;
      },
    },
    byDefault: false,
    depth: DEPTH,
    timeoutMs: TIMEOUT_MS,
  };
  return { stage, count };
}
