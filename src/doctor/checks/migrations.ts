import { databaseCheck, fail, ok } from "../check.ts";

export default databaseCheck("migrations", async ({ migrations }) => {
  const all = await migrations();
  const named = (state: string) => all.filter((migration) => migration.state === state).map(({ name }) => name);
  const applied = named("applied").length;
  if (applied === 0) return fail("no migration is recorded in this database", "memory-industry migrate");
  const dirty = named("dirty");
  if (dirty.length > 0) return fail(`recorded without success: ${dirty.join(", ")}`, "Restore a backup, or finish it by hand.");
  const edited = named("edited");
  if (edited.length > 0)
    return fail(`applied in another form than this build has: ${edited.join(", ")}`, "Install the release that made this database.");
  const newer = named("unknown");
  if (newer.length > 0) return fail(`the database is newer than this program: ${newer.join(", ")}`, "Install the newer version.");
  const pending = named("pending");
  if (pending.length > 0) return fail(`${applied} applied, pending: ${pending.join(", ")}`, "memory-industry migrate");
  return ok(`${applied} applied, none pending`);
});
