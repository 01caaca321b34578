/** One answer to "which entity is meant by this name", for every tool (`tools-graph.md` §3.3). */

import { lexicalText } from "../../domain/lexical.ts";
import { cleanName, nameKey } from "../../domain/names.ts";
import { projectOf, type Scope } from "../../kernel/context.ts";
import { ambiguous, conflict, notFound } from "../../kernel/errors.ts";
import type { Tx } from "../../store/port.ts";
import { entitiesAlsoNamed, entitiesNamed, entityOf, type FoundEntity, insertEntity, suggestNames } from "../../store/queries/entities.ts";

/** The type of an entity that came into being because something was written about it. */
export const IMPLICIT_TYPE = "concept";

export interface ResolvedEntity {
  readonly id: string;
  /** The canonical name; answers echo it. */
  readonly name: string;
  readonly entityType: string;
  /** The project of the entity; what is written about it belongs there too. */
  readonly projectId: string | null;
  readonly created: boolean;
  /** The cleaned name that was asked for, where it differs from the canonical one. */
  readonly requestedName: string | undefined;
  readonly resolvedFrom: "alias" | "normalized" | undefined;
}

/** `read`: an unknown name is an error with suggestions. `create`: it becomes an entity of type `concept` in the active project. */
export type ResolveMode = "read" | "create";

/** Several entities of one name and no project to choose by: an error that lists the projects. An unscoped one is meant where there is one. */
function single(name: string, rows: readonly FoundEntity[]): FoundEntity | undefined {
  const [first, second] = rows;
  if (first === undefined || second === undefined || first.projectId === null) return first;
  const projects = new Set(rows.map((row) => row.projectId));
  if (projects.size === 1) return first;
  const names = rows.flatMap((row) => row.projectName ?? []).sort();
  throw ambiguous(
    `Entity '${name}' is ambiguous: it exists in the projects ${[...new Set(names)].join(", ")} and no project is active. Nothing was written. ` +
      "Choose one with cuba_jornada start project=… or cuba_proyecto switch, then try again.",
    { field: "name", data: { projects: [...new Set(names)] } },
  );
}

const resolved = (row: FoundEntity, asked: string, resolvedFrom?: "alias" | "normalized"): ResolvedEntity => ({
  id: row.id,
  name: row.name,
  entityType: row.entityType,
  projectId: row.projectId,
  created: false,
  requestedName: row.name === asked ? undefined : asked,
  resolvedFrom,
});

/**
 * The entity of a clean name: exact name, then alias, then, with `normalized`, the key of the name where exactly one entity in scope has it.
 * @throws MemoryError `ambiguous` where no project is active and several projects have it.
 */
export async function findEntity(
  tx: Tx,
  name: string,
  scope: Scope,
  options: { readonly normalized: boolean } = { normalized: true },
): Promise<ResolvedEntity | undefined> {
  const exact = single(name, await tx.all(entitiesNamed({ name, scope })));
  if (exact !== undefined) return resolved(exact, name);
  const others = await tx.all(entitiesAlsoNamed({ name, nameKey: nameKey(name), scope }));
  const alias = single(
    name,
    others.filter((row) => row.by === "alias"),
  );
  if (alias !== undefined) return resolved(alias, name, "alias");
  const keyed = others.filter((row) => row.by === "normalized");
  const [only] = keyed;
  return options.normalized && keyed.length === 1 && only !== undefined ? resolved(only, name, "normalized") : undefined;
}

/** An error that names the nearest entities in scope. */
export async function entityNotFound(tx: Tx, name: string, scope: Scope, where?: string): Promise<Error> {
  const close = (await tx.all(suggestNames({ name, scope }))).map((row) => row.name);
  return notFound("entity", name, {
    close,
    next: "Nothing was written. Look for others with cuba_faro scope=entities.",
    ...(where === undefined ? {} : { where }),
  });
}

/**
 * The entity that a caller means.
 * @param rawName as it came; cleaned here.
 * @param field what an error calls the argument (`from_entity`, `observations[3].entity_name`).
 * @throws MemoryError `invalid` for no name · `ambiguous` · `not_found` in mode `read`.
 */
export async function resolveEntity(
  tx: Tx,
  rawName: string,
  scope: Scope,
  mode: ResolveMode,
  field = "entity_name",
): Promise<ResolvedEntity> {
  const name = cleanName(rawName, field);
  const known = await findEntity(tx, name, scope);
  if (known !== undefined) return known;
  if (mode === "read") throw await entityNotFound(tx, name, scope);
  return await createEntity(tx, name, IMPLICIT_TYPE, projectOf(scope));
}

/** Makes the entity, or finds the one that another writer made at the same moment. `created` tells which. */
export async function createEntity(tx: Tx, name: string, entityType: string, projectId: string | null): Promise<ResolvedEntity> {
  const entity = { name, projectId, requestedName: undefined, resolvedFrom: undefined };
  const made = await tx.first(
    insertEntity({ name, nameKey: nameKey(name), entityType, projectId, lexical: lexicalText(`${name} ${entityType}`) }),
  );
  if (made !== undefined) return { ...entity, id: made.id, entityType, created: true };
  const other = await tx.first(entityOf({ name, projectId }));
  if (other === undefined) throw conflict(`Entity '${name}' was deleted while it was being written. Nothing was written. Try again.`);
  return { ...entity, id: other.id, entityType: other.entityType, created: false };
}
