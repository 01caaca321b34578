/** The server does not start when the model's vectors do not fit the columns: a width that differs makes every search lexical without a sign. */

import type { Embedder } from "../inference/port.ts";
import { unavailable } from "../kernel/errors.ts";
import type { Database } from "../store/port.ts";
import { vectorColumns } from "../store/queries/vector-columns.ts";

/**
 * Compares every vector column with the installed model's width. Loads nothing; passes where no model is installed.
 * @throws MemoryError `unavailable` naming each column and both ways out.
 */
export async function requireMatchingWidth(db: Database, embedder: Pick<Embedder, "dimensions" | "label" | "status">): Promise<void> {
  if (embedder.status().state === "missing") return;
  const scope = {
    principal: { kind: "system", id: "width-check" } as const,
    scope: { kind: "everything" } as const,
    signal: new AbortController().signal,
  };
  const columns = await db.read(scope, (tx) => tx.all(vectorColumns({})));
  const wrong = columns.filter((column) => column.dimensions !== embedder.dimensions);
  if (wrong.length === 0) return;
  const listed = wrong.map(({ table, column, type }) => `${table}.${column} is ${type}`).join(", ");
  throw unavailable(
    `The embedding model ${embedder.label} makes vectors of ${embedder.dimensions} numbers, but ${listed}. Nothing was changed. ` +
      `Either change the columns with 'memory-industry reembed --dim ${embedder.dimensions} --apply', or choose the model that made them ` +
      "(CUBA_EMBED_MODEL, ONNX_MODEL_PATH, CUBA_EMBEDDING_DIM).",
    { reason: "width_mismatch" },
  );
}
