/** Two repairs of mixed-up projects: putting one into another, and adopting rows that have none. Both are plans unless confirmed. */
import { busy, invalid } from "../kernel/errors.ts";
import type { Tx } from "../store/port.ts";
import { buildIsOpen } from "../store/queries/code-builds.ts";
import { foldEntities } from "../store/queries/entity-merge.ts";
import {
  foldProcedures,
  indexMovesApart,
  moveIndex,
  moveRows,
  renameClashingArtifacts,
  rowsIn,
  sameEntities,
} from "../store/queries/project-merge.ts";
import { deleteProject, lockProjects, projectByName, tablesOfProjects, upsertProject } from "../store/queries/projects.ts";
import { projectNamed } from "./identity/project-names.ts";

export interface Merged {
  readonly kind: "merged" | "plan";
  readonly from: { readonly id: string; readonly name: string };
  /** `id` is empty in a plan whose target does not exist yet. */
  readonly to: { readonly id: string; readonly name: string };
  /** Rows by table; only tables that have any. */
  readonly rows: Readonly<Record<string, number>>;
  /** Entities that both projects have and that become one. */
  readonly folded: number;
}

export interface Backfilled {
  readonly kind: "assigned" | "plan";
  readonly project: { readonly id: string | null; readonly name: string };
  readonly rows: Readonly<Record<string, number>>;
  readonly folded: number;
}

/** Tables whose rows a backfill adopts. Reminders are left out: without a project they mean "everywhere". */
const adoptedTables = [
  "brain_entities",
  "brain_observations",
  "brain_observation_chunks",
  "brain_episodes",
  "brain_relations",
  "brain_facts",
  "brain_errors",
  "brain_procedures",
  "brain_artifacts",
  "brain_sessions",
  "brain_compaction_snapshots",
] as const;

async function countRows(tx: Tx, tables: readonly string[], project: string | null): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const count = (await tx.first(rowsIn({ table, project })))?.count ?? 0;
    if (count > 0) counts[table] = count;
  }
  return counts;
}

/** Folds what both sides have by name, then moves the rest; answers the rows moved by table. */
async function moveAll(
  tx: Tx,
  tables: readonly string[],
  from: string | null,
  to: string,
): Promise<{ folded: number; rows: Record<string, number> }> {
  const folds = await tx.all(sameEntities({ from, to }));
  if (folds.length > 0) for (const statement of foldEntities(folds, false)) await tx.run(statement);
  for (const statement of foldProcedures({ from, to })) await tx.run(statement);
  await tx.run(renameClashingArtifacts({ from, to }));
  const rows: Record<string, number> = {};
  await tx.run(indexMovesApart(true));
  for (const table of tables) {
    const count = await tx.run(moveRows({ table, from, to }));
    if (count > 0) rows[table] = count;
  }
  for (const statement of moveIndex({ from, to })) await tx.run(statement);
  await tx.run(indexMovesApart(false));
  return { folded: folds.length, rows };
}

/** Rows that a build of code has not shown cannot move: it would go on writing where they were. @throws MemoryError `busy` */
async function refuseDuringBuild(tx: Tx, projectIds: readonly (string | null)[], name: string): Promise<void> {
  if ((await tx.first(buildIsOpen({ projectIds })))?.found !== true) return;
  throw busy(
    `A run of 'memory-industry codegraph build' writes rows that '${name}' is to give or to take. Nothing was changed. ` +
      "Try again when it ends. What a killed run left is taken away by the next one, or by 'memory-industry rem'.",
  );
}

/**
 * Moves every row of one project into another and deletes the first. Tables come from the catalogue.
 * @throws `invalid` where both names are one; `not_found` for an unknown source.
 */
export async function mergeProjects(tx: Tx, { name, to, confirm }: { name: string; to: string; confirm: boolean }): Promise<Merged> {
  if (name.toLowerCase() === to.toLowerCase())
    throw invalid(
      `name and to are the same project (${name}), so there is nothing to merge. Nothing was changed. cuba_proyecto action=rename changes a name.`,
      {
        field: "to",
      },
    );
  const source = await projectNamed(tx, name, "project");
  const tables = (await tx.all(tablesOfProjects({}))).map((row) => row.table).filter((table) => table !== "brain_grants");
  const known = await tx.first(projectByName({ name: to }));
  if (!confirm) {
    const folds = known === undefined ? [] : await tx.all(sameEntities({ from: source.id, to: known.id }));
    return {
      kind: "plan",
      from: source,
      to: known ?? { id: "", name: to },
      rows: await countRows(tx, tables, source.id),
      folded: folds.length,
    };
  }
  const target = known ?? (await tx.first(upsertProject({ name: to })));
  if (target === undefined) throw new Error("an upsert returned no row");
  const held = await tx.all(lockProjects({ ids: [source.id, target.id] }));
  // One of them was merged or renamed while this waited: its name tells what there is now.
  if (!held.some((row) => row.id === source.id && row.name === source.name) || !held.some((row) => row.id === target.id))
    return await mergeProjects(tx, { name, to, confirm });
  await refuseDuringBuild(tx, [source.id, target.id], name);
  const moved = await moveAll(tx, tables, source.id, target.id);
  await tx.run(deleteProject(source.id));
  return { kind: "merged", from: source, to: { id: target.id, name: target.name }, ...moved };
}

/** Gives every row without a project to the named one, which is created only when it is confirmed. */
export async function backfillProject(tx: Tx, { name, confirm }: { name: string; confirm: boolean }): Promise<Backfilled> {
  const known = await tx.first(projectByName({ name }));
  if (!confirm) {
    const folds = known === undefined ? [] : await tx.all(sameEntities({ from: null, to: known.id }));
    return { kind: "plan", project: known ?? { id: null, name }, rows: await countRows(tx, adoptedTables, null), folded: folds.length };
  }
  const project = known ?? (await tx.first(upsertProject({ name })));
  if (project === undefined) throw new Error("an upsert returned no row");
  await refuseDuringBuild(tx, [null, project.id], name);
  const moved = await moveAll(tx, adoptedTables, null, project.id);
  return { kind: "assigned", project: { id: project.id, name: project.name }, ...moved };
}
