/** Walking a whole table by id in small windows, so that nobody waits for a statement that reads all of it. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { query, uuid } from "../codecs.ts";

/** Below every id. */
export const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** Rows with `after < id <= upTo`; no end where `upTo` is undefined. */
export interface Window {
  readonly after: string;
  readonly upTo: string | undefined;
}

const walkable = {
  observations: sql`brain_observations`,
  episodes: sql`brain_episodes`,
  entities: sql`brain_entities`,
  errors: sql`brain_errors`,
  sessions: sql`brain_sessions`,
  chunks: sql`brain_observation_chunks`,
  procedures: sql`brain_procedures`,
} as const;
export type Walkable = keyof typeof walkable;

/** The id at which a window of `size` rows ends; no row where fewer are left. Plan: the primary key alone. */
export const windowEnd = query(
  z.object({ id: uuid }),
  (q: { table: Walkable; after: string; size: number }) => sql`
  select id from ${walkable[q.table]} where id > ${q.after}::uuid order by id limit 1 offset ${q.size - 1}::int`,
);

export const inSpan = (alias: string, { after, upTo }: Window): SQL => {
  const id = sql`${sql.identifier(alias)}.id`;
  return upTo === undefined ? sql`${id} > ${after}::uuid` : sql`${id} > ${after}::uuid and ${id} <= ${upTo}::uuid`;
};
