import { corpusSize } from "../../store/queries/diagnosis.ts";
import { databaseCheck, ok, warn } from "../check.ts";

const MEBIBYTE = 1_048_576;

export default databaseCheck("corpus", async ({ db, scope }) => {
  const size = await db.read(scope, (tx) => tx.first(corpusSize(undefined)));
  if (size === undefined) return warn("could not be counted");
  const { entities, observations, relations, episodes, errors, bytes } = size;
  return ok(
    `${entities} entities, ${observations} observations, ${relations} relations, ${episodes} episodes, ${errors} errors; ${Math.round(bytes / MEBIBYTE)} MiB`,
  );
});
