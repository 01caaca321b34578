/** cuba_cronica over a test database, as several files of its tests call it. */
import { sql } from "drizzle-orm";
import type { TestEngine } from "./engines.ts";
import { graphOver } from "./graph.ts";
import { row } from "./statements.ts";

export function notesOver(engine: TestEngine) {
  const graph = (given: Parameters<typeof graphOver>[1] = {}) => graphOver(engine.db, given);
  return {
    db: () => engine.db,
    graph,
    /** Adds a text to the entity `E`. */
    add: (content: string, more: Record<string, unknown> = {}) =>
      graph().caller()("cuba_cronica", { action: "add", entity_name: "E", content, ...more }),
    count: async () => (await row(engine.db, sql`select count(*)::int as n from brain_observations`)).n,
  };
}

/** What lies at a path of an answer; undefined where nothing does. */
export const field = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined), value);
