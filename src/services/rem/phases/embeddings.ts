/** Vectors that are missing, the most important first. */
import type { Phase } from "../phase.ts";

export const embeddings: Phase = {
  name: "embeddings",
  columns: { count: "embeddingsBackfilled" },
  run: async ({ signal }, { vectors, embedder, settings }) => {
    if (settings.backfillLimit === 0) return { count: 0, skipped: "switched off (CUBA_REM_BACKFILL_LIMIT=0)" };
    const model = embedder.status();
    if (model.state === "missing" || model.state === "failed") return { count: 0, skipped: `no embedding model: ${model.reason}` };
    return { count: await vectors.backfill(settings.backfillLimit, signal) };
  },
};
