/**
 * The filters that every search and list shares; they exist once. Each is a condition on a table alias, ready to stand after `where … and`.
 * The scope stands in the statement although row security repeats it: the planner needs it, and an owner connection skips the policies.
 */
import { type SQL, sql } from "drizzle-orm";
import { projectOf, type Scope } from "../../kernel/context.ts";

/** A number of ours written into the statement: a plan made once for all values can only use a limit that it knows. */
export const fixed = (value: number): SQL => sql.raw(String(Math.trunc(value)));

const always = sql`true`;
const column = (alias: string, name: string): SQL => sql`${sql.identifier(alias)}.${sql.identifier(name)}`;

/**
 * Rows of the caller's scope. With an active project unscoped rows are hidden unless `includeUnscoped`; without one there is no filter
 * (`data-model.md` §6.2: the handler is stricter than the policy).
 */
export function inScope(alias: string, scope: Scope, options: { readonly includeUnscoped?: boolean } = {}): SQL {
  if (scope.kind !== "project") return always;
  const own = sql`${column(alias, "project_id")} = ${scope.id}::uuid`;
  return options.includeUnscoped ? sql`(${own} or ${column(alias, "project_id")} is null)` : own;
}

/**
 * The rows of {@link inScope} for a statement that finds its rows by another key. Written so that no index over the project can serve: a plan is
 * made once and kept (`0071`), and in a table that was empty then an index over the project alone looks as good as the key. It would read the
 * whole project for ever. Kept honest by growth.test.ts.
 */
export function keyedInScope(alias: string, scope: Scope): SQL {
  return scope.kind === "project" ? sql`${column(alias, "project_id")} is not distinct from ${scope.id}::uuid` : always;
}

/** Exactly the scope's own rows: the project's, or the unscoped ones without a project. For keys that are unique per project. */
export const ofScope = (alias: string, scope: Scope): SQL =>
  sql`${column(alias, "project_id")} is not distinct from ${projectOf(scope)}::uuid`;

/** Both bounds inclusive, RFC 3339 texts; an absent bound does not filter. */
export interface TimeWindow {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

/** Rows created within the window; `name` is the column, `created_at` unless another is meant. */
export function inWindow(alias: string, window: TimeWindow, name = "created_at"): SQL {
  const at = column(alias, name);
  const bounds: SQL[] = [];
  if (window.after !== undefined) bounds.push(sql`${at} >= ${window.after}::timestamptz`);
  if (window.before !== undefined) bounds.push(sql`${at} <= ${window.before}::timestamptz`);
  return bounds.length === 0 ? always : sql.join(bounds, sql` and `);
}

/** Observations that search may return: trusted and not superseded. Written as the partial indexes are, so that they serve. */
export const isServed = (alias: string): SQL =>
  sql`${column(alias, "trust")} = 'trusted' and ${column(alias, "observation_type")} <> 'superseded'`;

/** The same for episodes and errors, which are never superseded. */
export const isTrusted = (alias: string): SQL => sql`${column(alias, "trust")} = 'trusted'`;
