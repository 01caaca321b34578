/** cuba_ingesta over a test database, and what it stored. */
import { sql } from "drizzle-orm";
import type { TestEngine } from "./engines.ts";
import { graphOver, type Reply } from "./graph.ts";
import { row, rows } from "./statements.ts";

export function ingestOver(engine: TestEngine) {
  const over = (given: Parameters<typeof graphOver>[1] = {}) => graphOver(engine.db, given);
  return {
    db: () => engine.db,
    over,
    ingest: (args: Reply, given: Parameters<typeof graphOver>[1] = {}) => over(given).caller()("cuba_ingesta", args),
    /** Observations in the order in which they were stored. */
    stored: () =>
      rows(
        engine.db,
        sql`select e.name as entity, o.content, o.observation_type as type, o.source, o.trust from brain_observations as o
            join brain_entities as e on e.id = o.entity_id order by o.created_at, o.id`,
      ),
    count: async (table: string) => (await row(engine.db, sql`select count(*)::int as n from ${sql.raw(table)}`)).n,
  };
}
