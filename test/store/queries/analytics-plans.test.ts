/** How the graph is read for its measures: page by page, each page at the cost of its own rows. */
import { beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { graphEdges, graphNodes } from "../../../src/store/queries/analytics.ts";
import { FIRST_ID } from "../../../src/store/queries/windows.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { rows } from "../../support/statements.ts";
import { counting } from "../../support/visited.ts";

const ENTITIES = 2_000;
const OBSERVATIONS = 10_000;
const PAGE = 50;
const FILL_MS = 120_000;

eachEngine(`a graph of ${ENTITIES} entities with ${OBSERVATIONS} observations`, (engine) => {
  beforeAll(async () => {
    await rows(engine.db, sql`insert into brain_entities (name) select 'node ' || i from generate_series(1, ${ENTITIES}::int) as i`);
    await rows(
      engine.db,
      sql`insert into brain_observations (entity_id, content, lexical)
          select e.id, 'note ' || i, 'note' from generate_series(1, ${OBSERVATIONS}::int) as i
          join brain_entities as e on e.name = 'node ' || (1 + i % ${ENTITIES}::int)`,
    );
    await rows(
      engine.db,
      sql`insert into brain_relations (from_entity, to_entity, relation_type)
          select a.id, b.id, 'uses' from generate_series(1, 5000) as i
          join brain_entities as a on a.name = 'node ' || (1 + i % ${ENTITIES}::int)
          join brain_entities as b on b.name = 'node ' || (1 + (i * 7 + i / ${ENTITIES}::int) % ${ENTITIES}::int) where a.id <> b.id on conflict do nothing`,
    );
    await engine.db.asOwner((connection) =>
      connection.script("analyze brain_entities, brain_observations, brain_relations, brain_episodes"),
    );
  }, FILL_MS);

  const scope = { kind: "everything" } as const;
  const page = { scope, after: FIRST_ID, limit: PAGE };

  test("a page of nodes looks at one observation of each, not at all of them", async () => {
    // Planned with the statistics at hand: what a page costs does not hang on the way it is asked for.
    const { db, latest } = counting(engine.db);
    const found = await db.write(testScope({ scope }), (tx) => tx.all(graphNodes(page)));
    expect(found.length).toBe(PAGE);
    expect(latest().brain_observations ?? 0).toBeLessThanOrEqual(PAGE);
  });

  test("a page of relations reads its own rows", async () => {
    const { db, latest } = counting(engine.db);
    const found = await db.write(testScope({ scope }), (tx) => tx.all(graphEdges(page)), { byKey: true });
    expect(found.length).toBe(PAGE);
    expect(latest().brain_relations ?? 0).toBeLessThanOrEqual(PAGE);
  });
});
