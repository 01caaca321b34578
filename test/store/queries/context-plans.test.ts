/** The plan behind the context window at 10,000 rows of equal importance: the first rows are the first entries of an index. */
import { beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { query } from "../../../src/store/codecs.ts";
import { importantSnippets } from "../../../src/store/queries/context.ts";
import { eachEngine, inProject, testScope } from "../../support/engines.ts";
import { entity, project, rows } from "../../support/statements.ts";

const FILL_MS = 120_000;

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Node[];
}
const nodes = (plan: Node): Node[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

eachEngine("the most important of 10,000 equals", (engine) => {
  let tenth = "";
  beforeAll(async () => {
    tenth = await project(engine.db);
    for (const [projectId, count] of [
      [tenth, 1_000],
      [null, 9_000],
    ] as const) {
      const id = await entity(engine.db, projectId);
      await engine.db.asOwner((owner) =>
        owner.script(`
          set session_replication_role = replica;
          insert into brain_observations (entity_id, project_id, content, lexical, importance, created_at)
          select '${id}', ${projectId === null ? "null" : `'${projectId}'`}, 'note ' || i, 'x', 0.6, timestamptz '2026-01-01 00:00:00+00' - i * interval '1 s' from generate_series(1, ${count}) as i;
          set session_replication_role = origin;`),
      );
    }
    await engine.db.asOwner((owner) => owner.script("analyze brain_observations, brain_entities"));
  }, FILL_MS);

  for (const [who, most] of [
    ["nobody's project", 15],
    ["a tenth of them", 1_000],
  ] as const)
    test(`visits no more than it needs for ${who}`, async () => {
      const scope = most === 15 ? testScope() : inProject(tenth);
      const { statement } = importantSnippets({ scope: scope.scope, limit: 15 });
      const explain = query(z.object({ "QUERY PLAN": z.unknown() }), () => sql`explain (analyze, format json) ${statement}`);
      const answer = await engine.db.read(scope, (tx) => tx.first(explain(undefined)));
      const plans = answer?.["QUERY PLAN"] as { Plan: Node }[] | undefined;
      const [first] = plans ?? [];
      const scans = first === undefined ? [] : nodes(first.Plan).filter((node) => node["Relation Name"] === "brain_observations");
      expect(scans.length).toBe(1);
      const visited = scans.reduce((sum, node) => sum + node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0), 0);
      expect(visited).toBeLessThanOrEqual(most);
      const found = await engine.db.read(scope, (tx) => tx.all(importantSnippets({ scope: scope.scope, limit: 3 })));
      expect(found.map(({ snippet }) => snippet)).toEqual(most === 15 ? ["note 1", "note 1", "note 2"] : ["note 1", "note 2", "note 3"]);
      expect((await rows(engine.db, sql`select 1 from pg_indexes where indexname = 'idx_obs_importance'`)).length).toBe(1);
    });
});
