import { embeddingCounts } from "../../store/queries/diagnosis.ts";
import { databaseCheck, ok, warn } from "../check.ts";

export default databaseCheck("embedding_coverage", async ({ db, scope, embedder }) => {
  const counts = await db.read(scope, (tx) => tx.first(embeddingCounts({ model: embedder.label })));
  const { total = 0, missing = 0, foreign = 0 } = counts ?? {};
  if (missing === 0 && foreign === 0)
    return ok(total === 0 ? "nothing to embed yet" : `all ${total} memories have the current model's vector`);
  const detail = `of ${total} memories ${missing} have no vector, ${foreign} another model's`;
  return warn(
    detail,
    embedder.status().state === "missing" ? "memory-industry models embed" : "memory-industry reembed, or cuba_zafra action=reembed",
  );
});
