/** Names of projects that a repository brings along. */
import { freeName } from "../../domain/projects.ts";
import type { Tx } from "../../store/port.ts";
import { identitiesOfProject, projectNames, upsertProject } from "../../store/queries/projects.ts";

/**
 * The project for a new repository of this name: one of that name that nothing identifies yet (made by name, or come by sync) is taken,
 * else the name gets a number.
 */
export async function freeProject(tx: Tx, name: string): Promise<{ readonly id: string; readonly name: string }> {
  const all = await tx.all(projectNames({}));
  const same = all.find((project) => project.name === name);
  const identities = same === undefined ? [] : await tx.all(identitiesOfProject({ projectId: same.id }));
  if (same !== undefined && identities.length === 0) return same;
  const names = new Set(all.map((project) => project.name));
  const made = await tx.first(upsertProject({ name: freeName(name, (taken) => names.has(taken)) }));
  if (made === undefined) throw new Error("an upsert returned no row");
  return made;
}
