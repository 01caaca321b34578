import { signCounts } from "../../store/queries/diagnosis.ts";
import { databaseCheck, ok, warn } from "../check.ts";

export default databaseCheck("vector_signs", async ({ db, scope, embedder }) => {
  const counts = await db.read(scope, (tx) => tx.first(signCounts({ model: embedder.label })));
  if (counts === undefined) return ok("no signs yet: so few vectors are compared one by one");
  const { signed, missing, strange } = counts;
  if (missing === 0 && strange === 0) return ok(`the signs of all ${signed} vectors are there`);
  return warn(
    `${missing} vectors have no signs, so search by meaning does not find them; ${strange} signs have no vector`,
    "memory-industry reembed",
  );
});
