/** Observations as they were left some days ago, for tests of what time does to them. */
import { sql } from "drizzle-orm";
import { type TestEngine, testScope } from "./engines.ts";
import { entity, observation, row, rows } from "./statements.ts";

export interface Aged {
  readonly importance?: number;
  readonly type?: string;
  readonly idle?: number;
  readonly uses?: number;
  readonly content?: string;
  readonly project?: string | null;
  readonly trust?: string;
  readonly of?: string;
}

export function agedRows(engine: TestEngine) {
  let home: string | undefined;
  return {
    /** Before each test: the entity that rows without one hang from is made anew. */
    reset() {
      home = undefined;
    },
    /** An observation as it was left `idle` days ago. */
    async aged({ importance = 0.5, type = "fact", idle = 0, uses = 0, content, project: id = null, trust = "trusted", of }: Aged = {}) {
      if (id === null) home ??= await entity(engine.db);
      const owner = of ?? (id === null ? home : undefined) ?? (await entity(engine.db, id));
      const made = await observation(engine.db, owner, { type, project: id, ...(content === undefined ? {} : { content }) });
      await rows(
        engine.db,
        sql`update brain_observations set importance = ${importance}::float8, access_count = ${uses}::int, trust = ${trust}::text,
              last_accessed = now() - ${idle}::float8 * interval '1 day', last_decayed_at = now() - ${idle}::float8 * interval '1 day'
            where id = ${made}::uuid`,
      );
      return made;
    },
    all: () => rows(engine.db, sql`select * from brain_observations order by id`, testScope({ scope: { kind: "everything" } })),
    importanceOf: async (id: string) =>
      Number((await row(engine.db, sql`select importance from brain_observations where id = ${id}::uuid`)).importance),
    typeOf: async (id: string) =>
      (await row(engine.db, sql`select observation_type as type from brain_observations where id = ${id}::uuid`)).type,
    /** So many days pass. */
    backdate: (days: number) =>
      rows(
        engine.db,
        sql`update brain_observations set last_accessed = last_accessed - ${days}::float8 * interval '1 day',
              last_decayed_at = last_decayed_at - ${days}::float8 * interval '1 day'`,
      ),
  };
}
