/** A consolidation cycle over a test database: every part real but models and time. */
import { silentLogger } from "../../src/kernel/logger.ts";
import { measures } from "../../src/services/analytics/measures.ts";
import { createNodeMetrics } from "../../src/services/analytics/node-metrics.ts";
import { createChunks } from "../../src/services/chunks.ts";
import { createBuilds } from "../../src/services/codegraph/build.ts";
import { createEmbeddingQueue } from "../../src/services/embedding/queue.ts";
import { createVectors } from "../../src/services/embedding/vectors.ts";
import { createIngest } from "../../src/services/ingest/ingest.ts";
import { createFading } from "../../src/services/maintenance/fading.ts";
import { createCalls, createPace } from "../../src/services/pace.ts";
import { createAutolink } from "../../src/services/relations/autolink.ts";
import { createRem, type RemOptions } from "../../src/services/rem/cycle.ts";
import type { Phase, RemSettings } from "../../src/services/rem/phase.ts";
import { phases } from "../../src/services/rem/registry.ts";
import type { Database } from "../../src/store/port.ts";
import { ladder } from "./chat.ts";
import { testEmbedder } from "./embedder.ts";
import { graphOver } from "./graph.ts";
import { judgeWith } from "./judge.ts";

export const remDefaults: RemSettings = {
  autolink: true,
  backfillLimit: 100,
  relationBatch: 0,
  extractionBatch: 0,
  scanTimeoutMs: 90_000,
  llmDailyCap: 200,
  chunkThresholdChars: 1_800,
};

export function remOver(
  db: Database,
  { settings = {}, ...given }: Partial<Omit<RemOptions, "settings">> & { readonly settings?: Partial<RemSettings> } = {},
) {
  const embedder = testEmbedder();
  const { observations, notes } = graphOver(db);
  return createRem({
    db,
    phases,
    pace: createPace(createCalls()),
    log: silentLogger,
    embedder,
    vectors: createEmbeddingQueue({ db, embedder, vectors: createVectors({ db, embedder, log: silentLogger }), log: silentLogger }),
    chunks: createChunks({ thresholdChars: 1_800, sizeChars: 1_400 }),
    autolink: createAutolink({ db }),
    fading: createFading({ db }),
    builds: createBuilds(db),
    nodeMetrics: createNodeMetrics({ db, run: async (measure, graph) => measures[measure](graph) }),
    ladder: ladder(),
    extractor: (models) =>
      createIngest({ db, judge: judgeWith(), now: () => new Date(), nonce: () => "nonce", observations, notes, ladder: () => models }),
    nonce: () => "nonce",
    settings: { ...remDefaults, ...settings },
    ...given,
  });
}

/** The phases with these names, in the order of the registry. */
export const only = (...names: string[]): Phase[] => phases.filter(({ name }) => names.includes(name));

/** The record of one whole cycle. */
export async function ran(rem: ReturnType<typeof remOver>, signal = new AbortController().signal) {
  const outcome = await rem.run({ signal });
  if (outcome.kind !== "ran") throw new Error(`the cycle did not run: ${outcome.kind}`);
  return outcome.cycle;
}
