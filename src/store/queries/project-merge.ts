/** Moving rows between projects. Table names come from the catalogue and are checked before they enter a statement. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { query, uuid } from "../codecs.ts";

/** An identifier of this schema as SQL. @throws Error for anything that is no table of ours. */
function table(name: string): SQL {
  if (!/^brain_[a-z_]{1,56}$/.test(name)) throw new Error("not a table of this product");
  return sql.raw(name);
}

/** Rows of a project in one table; of none, where `project` is null. */
export const rowsIn = query(
  z.object({ count: z.int() }),
  (q: { table: string; project: string | null }) => sql`
  select count(*)::int as count from ${table(q.table)} where project_id is not distinct from ${q.project}::uuid`,
);

/** Gives every row of a project (null: of none) in one table to another. */
export const moveRows = (q: { table: string; from: string | null; to: string }) => sql`
  update ${table(q.table)} set project_id = ${q.to}::uuid where project_id is not distinct from ${q.from}::uuid`;

/** Where rows of a project (null: of none) stand in the index of words. */
const indexKey = (project: string | null): SQL => sql`brain_project_key(${project}::uuid)`;

/** Says for the rest of the transaction, or takes back, that rows which change their project do not index their words by themselves. */
export const indexMovesApart = (isOn: boolean): SQL => sql`select set_config('app.moves_project', ${isOn ? "on" : "off"}::text, true)`;

/**
 * The index of words follows a project whose rows have all moved. Totals are subtracted and added, not set: other connections count in the same rows.
 */
export const moveIndex = (q: { from: string | null; to: string }): SQL[] => [
  sql`update brain_postings set project_key = ${indexKey(q.to)} where project_key = ${indexKey(q.from)}`,
  sql`
  with moved as (
    select kind, slot, row_count, word_count from brain_posting_totals where project_key = ${indexKey(q.from)}
  ), reduced as (
    update brain_posting_totals as t
    set row_count = t.row_count - m.row_count, word_count = t.word_count - m.word_count, changes = t.changes + 1
    from moved as m where t.project_key = ${indexKey(q.from)} and t.kind = m.kind and t.slot = m.slot
  )
  insert into brain_posting_totals as t (kind, project_key, slot, row_count, word_count, changes)
  select m.kind, ${indexKey(q.to)}, m.slot, m.row_count, m.word_count, 1 from moved as m
  on conflict (kind, project_key, slot) do update
  set row_count = t.row_count + excluded.row_count, word_count = t.word_count + excluded.word_count, changes = t.changes + 1`,
];

/** Entities that both sides have by name. */
export const sameEntities = query(
  z.object({ loser: uuid, winner: uuid }),
  (q: { from: string | null; to: string }) => sql`
  select f.id as loser, t.id as winner
  from brain_entities as f
  join brain_entities as t on t.name = f.name and t.project_id = ${q.to}::uuid
  where f.project_id is not distinct from ${q.from}::uuid
  order by f.id`,
);

/** Procedures of the same name become one: the higher counters stay. */
export const foldProcedures = (q: { from: string | null; to: string }): SQL[] => [
  sql`
  update brain_procedures as t
  set success_count = greatest(t.success_count, f.success_count), failure_count = greatest(t.failure_count, f.failure_count),
      last_used_at = greatest(t.last_used_at, f.last_used_at)
  from brain_procedures as f
  where f.name = t.name and t.project_id = ${q.to}::uuid and f.project_id is not distinct from ${q.from}::uuid`,
  sql`
  delete from brain_procedures as f using brain_procedures as t
  where f.name = t.name and t.project_id = ${q.to}::uuid and f.project_id is not distinct from ${q.from}::uuid`,
];

/** Artifacts whose path is taken get the start of their id behind it: no content is lost. */
export const renameClashingArtifacts = (q: { from: string | null; to: string }) => sql`
  update brain_artifacts as f
  set path = left(f.path, 480) || '~' || left(f.id::text, 8)
  from brain_artifacts as t
  where f.path = t.path and t.project_id = ${q.to}::uuid and f.project_id is not distinct from ${q.from}::uuid`;
