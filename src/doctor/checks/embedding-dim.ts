import { vectorColumns } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok, warn } from "../check.ts";

export default databaseCheck("embedding_dim", async ({ db, scope, embedder }) => {
  const columns = await db.read(scope, (tx) => tx.all(vectorColumns(undefined)));
  const lengths = [...new Set(columns.map(({ dimensions }) => dimensions))];
  const [length] = lengths;
  if (length === undefined || lengths.length > 1 || length < 0)
    return warn(`unexpected vector columns: ${columns.map(({ column, dimensions }) => `${column} ${dimensions}`).join(", ")}`);
  const { state } = embedder.status();
  if (state === "missing") return ok(`columns of ${length}; no model to compare with`);
  return embedder.dimensions === length
    ? ok(`model and columns have ${length}`)
    : fail(
        `the model gives ${embedder.dimensions}, the columns hold ${length}: ${columns.map(({ column }) => column).join(", ")}`,
        `memory-industry reembed --dim ${embedder.dimensions} --apply, or correct CUBA_EMBEDDING_DIM or ONNX_MODEL_PATH`,
      );
});
