/**
 * What a server's autovacuum does for the index of words, for the engine that has none: until a page is marked as visible to all, every posting
 * on it costs a look at the table (document frequencies of a question at 100,000 rows: 78 ms in place of 3; decision 0080).
 */
import type { Connection } from "./connection.ts";

/** Pages below which looking at the table costs nothing worth mentioning. */
const LEAST_PAGES = 64;
/** Share of pages that may be unmarked before it is worth a round. */
const UNMARKED_SHARE = 0.05;

/** The tables that search reads through their index alone. */
const TABLES = ["brain_postings", "brain_vector_signs"] as const;

/**
 * Marks the pages of the index of words and of the signs of vectors that are new since the last round; the work follows their number (about 2 s for the
 * first 100,000 rows, some milliseconds for what a session writes). @returns whether there was anything to do.
 */
export async function markIndexPages(connection: Connection): Promise<boolean> {
  let marked = false;
  for (const table of TABLES) marked = (await markPages(connection, table)) || marked;
  return marked;
}

async function markPages(connection: Connection, table: (typeof TABLES)[number]): Promise<boolean> {
  const { rows } = await connection.query(
    "select pg_relation_size(c.oid) / current_setting('block_size')::int as pages, c.relallvisible as marked from pg_class as c where c.oid = $1::regclass",
    [table],
  );
  const pages = Number(rows[0]?.pages);
  if (pages < LEAST_PAGES || Number(rows[0]?.marked) >= pages * (1 - UNMARKED_SHARE)) return false;
  await connection.query(`vacuum ${table}`);
  return true;
}
