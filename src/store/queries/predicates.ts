/** Conditions that many statements share; each exists once. */
import { type SQL, sql } from "drizzle-orm";
import type { Scope } from "../../kernel/context.ts";

/**
 * Rows a call may see: with an active project its own rows, with `includeUnscoped` also those of no project; else all.
 * Row security repeats it; it stands here because the planner needs it, and because an owner's connection skips row security.
 */
export function inScope(alias: string, scope: Scope, options: { readonly includeUnscoped?: boolean } = {}): SQL {
  if (scope.kind !== "project") return sql`true`;
  const column = sql.raw(`${alias}.project_id`);
  return options.includeUnscoped === true ? sql`(${column} = ${scope.id}::uuid or ${column} is null)` : sql`${column} = ${scope.id}::uuid`;
}

/** Rows of exactly one project, or of none where the scope names none: how names are unique. */
export const sameProject = (alias: string, projectId: string | null): SQL =>
  sql`${sql.raw(`${alias}.project_id`)} is not distinct from ${projectId}::uuid`;
