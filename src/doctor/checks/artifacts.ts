import { existingColumns } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok } from "../check.ts";

const CLOCK = ["brain_artifacts.crdt_actor", "brain_artifacts.crdt_counter", "brain_artifacts.version"];

export default databaseCheck("brain_artifacts", async ({ db, scope }) => {
  const columns = await db.read(scope, (tx) => tx.all(existingColumns({ names: CLOCK })));
  const missing = CLOCK.filter((name) => !columns.some(({ column }) => column === name));
  return missing.length === 0 ? ok("table with its clock columns") : fail(`missing: ${missing.join(", ")}`, "memory-industry migrate");
});
