/** Names of projects that a repository brings along. */
import { freeName, projectNameKey } from "../../domain/projects.ts";
import { trigramSimilarity } from "../../domain/trigrams.ts";
import { notFound } from "../../kernel/errors.ts";
import type { Tx } from "../../store/port.ts";
import { identitiesOfProject, projectByName, projectNames, upsertProject } from "../../store/queries/projects.ts";

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

/** Names that share fewer of their trigrams than this are not mistaken for each other: one wrong letter in six leaves .4. */
const CLOSE = 0.3;
const CLOSE_NAMES = 5;

/** The project of this name. @throws `not_found` with the close ones. */
export async function projectNamed(tx: Tx, name: string, field: string): Promise<{ readonly id: string; readonly name: string }> {
  const found = await tx.first(projectByName({ name }));
  if (found !== undefined) return found;
  const all = await tx.all(projectNames({}));
  const key = projectNameKey(name);
  const likeness = (other: string) => (other.includes(key) || key.includes(other) ? 1 : trigramSimilarity(other, key));
  const close = all
    .map((one) => ({ name: one.name, likeness: likeness(projectNameKey(one.name)) }))
    .filter((one) => one.likeness >= CLOSE)
    .sort((a, b) => b.likeness - a.likeness || (a.name < b.name ? -1 : 1))
    .map((one) => one.name);
  throw notFound(field, name, { close: close.slice(0, CLOSE_NAMES), next: "cuba_proyecto action=list shows all. Nothing was changed." });
}
