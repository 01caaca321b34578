/** What a search may return, as conditions: kinds of rows, scope, time window, tag, trust. Each leg of a search carries all of them. */
import { type SQL, sql } from "drizzle-orm";
import type { Scope } from "../../kernel/context.ts";
import { uuidArray } from "../codecs.ts";
import { inScope, inWindow, isServed, isTrusted } from "./predicates.ts";

export const rowKinds = ["observation", "entity", "error", "episode"] as const;
export type RowKind = (typeof rowKinds)[number];

/** The number of a kind in `brain_postings`. */
export const kindNumber: Readonly<Record<RowKind, number>> = { observation: 1, entity: 2, error: 3, episode: 4 };
export const kindOf = (number: number): RowKind => rowKinds[number - 1] ?? "observation";

/** The filters of one search. Instants are text with microseconds; undefined = open on that side. */
export interface Filters {
  readonly scope: Scope;
  /** With an active project, also rows of no project. */
  readonly includeUnscoped: boolean;
  readonly after: string | undefined;
  readonly before: string | undefined;
  /** Only observations that carry this tag. */
  readonly tag: string | undefined;
}

const tables: Readonly<Record<RowKind, string>> = {
  observation: "brain_observations",
  entity: "brain_entities",
  error: "brain_errors",
  episode: "brain_episodes",
};
/** The table of a kind. */
export const tableOf = (kind: RowKind): SQL => sql.raw(tables[kind]);

/** The column that says when a row of a kind was written. */
export const writtenAt = (kind: RowKind): SQL => sql.raw(kind === "episode" ? "started_at" : "created_at");

/** Served at all: trusted, and of observations those that nobody superseded. Entities always are. */
const served = (kind: RowKind, alias: string): SQL =>
  kind === "entity" ? sql`true` : kind === "observation" ? isServed(alias) : isTrusted(alias);

/** Every filter of a search, on one row of a kind. */
export function isVisible(kind: RowKind, alias: string, filters: Filters): SQL {
  const conditions = [
    served(kind, alias),
    inScope(alias, filters.scope, { includeUnscoped: filters.includeUnscoped }),
    inWindow(alias, filters),
  ];
  if (filters.tag !== undefined)
    conditions.push(kind === "observation" ? sql`${filters.tag}::text = any(${sql.raw(`${alias}.tags`)})` : sql`false`);
  return sql.join(conditions, sql` and `);
}

/** Rows of no project stand under the zero uuid in `brain_postings`. */
export const UNSCOPED_KEY = "00000000-0000-0000-0000-000000000000";

/** The scope on `brain_postings` and its totals: an index range for each project asked for. */
export function inProjectKeys(alias: string, { scope, includeUnscoped }: Filters): SQL {
  if (scope.kind !== "project") return sql`true`;
  const keys = includeUnscoped ? [scope.id, UNSCOPED_KEY] : [scope.id];
  return sql`${sql.raw(alias)}.project_key = any(${uuidArray(keys)})`;
}

/** True where a filter looks at columns that `brain_postings` does not have. */
export const narrowsRows = (filters: Filters): boolean =>
  filters.after !== undefined || filters.before !== undefined || filters.tag !== undefined;
