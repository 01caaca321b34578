/** Rows that are due for a vector, in windows: the same count and the same order as one statement over all of them. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { createStaleRows } from "../../../src/services/embedding/stale.ts";
import type { StaleRank } from "../../../src/store/queries/observations-vectors.ts";
import { eachEngine, inProject, testScope } from "../../support/engines.ts";
import { entity, project, rows } from "../../support/statements.ts";

const LABEL = "new/name-type-1";

eachEngine("stale rows", (engine) => {
  beforeEach(() => engine.db.reset());
  const everything = testScope({ scope: { kind: "everything" } });
  /** 40 rows: five importances, four instants, every third of the running model, every tenth retired. */
  const filled = async (projectId: string | null = null) =>
    await rows(
      engine.db,
      sql`insert into brain_observations (entity_id, content, project_id, importance, created_at, embedding, embedding_model, observation_type)
          select ${await entity(engine.db, projectId)}::uuid, 'note ' || n, ${projectId}::uuid, (n % 5) / 5.0,
            timestamptz '2026-05-04 03:02:01.000001+00' + (n % 4) * interval '1 microsecond',
            case n % 3 when 0 then array_fill(0.1, array[384])::vector end, case n % 3 when 0 then ${LABEL}::text end,
            case n % 10 when 7 then 'superseded' else 'fact' end
          from generate_series(1, 40) as n returning id`,
    );
  const inOneStatement = async (projectId?: string) =>
    (
      await rows(
        engine.db,
        sql`select id from brain_observations where embedding_model is null and observation_type <> 'superseded'
            and (${projectId ?? null}::uuid is null or project_id = ${projectId ?? null}::uuid) order by importance desc, created_at desc, id`,
      )
    ).map(({ id }) => String(id));

  test("are counted over windows, of the scope, up to what is asked for", async () => {
    const p = await project(engine.db);
    await filled();
    await filled(p);
    const wanted = (await inOneStatement(p)).length;
    expect(wanted).toBe(24);
    for (const windowRows of [1, 7, 80, 1_000]) {
      const stale = createStaleRows({ db: engine.db, windowRows });
      const of = { kind: "observation", label: LABEL, all: false, most: Number.POSITIVE_INFINITY } as const;
      expect([windowRows, await stale.count(everything, of)]).toEqual([windowRows, 2 * wanted]);
      expect(await stale.count(inProject(p), of)).toBe(wanted);
      expect(await stale.count(everything, { ...of, all: true })).toBe(72);
      expect(await stale.count(everything, { ...of, most: 5 })).toBe(5);
      expect(await stale.count(everything, { ...of, kind: "chunk" })).toBe(0);
    }
  });

  test("come in the order of one statement, page behind page, and no more of them than are asked for", async () => {
    const p = await project(engine.db);
    await filled();
    await filled(p);
    for (const [windowRows, most] of [
      [1, 3],
      [7, 5],
      [13, 24],
      [1_000, 7],
    ] as const) {
      const stale = createStaleRows({ db: engine.db, windowRows });
      const found: string[] = [];
      for (let behind: StaleRank | undefined, more = true; more; ) {
        const page = await stale.best(inProject(p), { kind: "observation", label: LABEL, behind, most });
        expect(page.length).toBeLessThanOrEqual(most);
        found.push(...page.map(({ id }) => id));
        behind = page.at(-1);
        more = page.length === most;
      }
      expect([windowRows, most, found]).toEqual([windowRows, most, await inOneStatement(p)]);
    }
  });
});
