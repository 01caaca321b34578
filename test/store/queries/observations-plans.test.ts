/** Plans of the statements behind every write, at 10,000 rows and an entity of 1,000: what they visit does not grow with either. */
import { beforeAll, expect, test } from "bun:test";
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { query } from "../../../src/store/codecs.ts";
import { entitiesAlsoNamed, entitiesNamed } from "../../../src/store/queries/entities.ts";
import { countLive, gateCandidates, recentSimilarities, retireFaded } from "../../../src/store/queries/observations.ts";
import { textsWithoutVector } from "../../../src/store/queries/observations-vectors.ts";
import { eachEngine, inProject } from "../../support/engines.ts";
import { entity, project, row, rows } from "../../support/statements.ts";

const FILL_MS = 120_000;

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Node[];
}
const nodes = (plan: Node): Node[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

eachEngine("writing to an entity of 1,000 among 10,000 observations", (engine) => {
  let projectId = "";
  let big = "";
  beforeAll(async () => {
    projectId = await project(engine.db);
    big = await entity(engine.db, projectId, "big");
    const fill = (id: string, count: number, embedded: boolean) =>
      rows(
        engine.db,
        sql`insert into brain_observations (entity_id, project_id, content, lexical, created_at, embedding, embedding_model)
            select ${id}::uuid, ${projectId}::uuid, 'Deployment ' || i || ' of the payment gateway finished after ' || i % 97 || ' seconds', 'x',
                   now() + i * interval '1 ms', case when ${embedded}::bool then array_fill(0.1, array[384])::vector end, case when ${embedded}::bool then 'm' end
            from generate_series(1, ${count}::int) as i`,
      );
    await fill(big, 1_000, true);
    for (let i = 0; i < 9; i++) await fill(await entity(engine.db, projectId, `other ${i}`), 1_000, true);
    // A server analyzes by itself; nobody analyzes the embedded database.
    if (engine.name === "postgres") await engine.db.asOwner((connection) => connection.script("analyze brain_observations"));
    await rows(
      engine.db,
      sql`update brain_observations set embedding = null, embedding_model = null where entity_id = ${big}::uuid and content like 'Deployment 500 %'`,
    );
  }, FILL_MS);

  /** Rows of `table` that a statement visited, and how it got at them, as `cuba_app` and planned as writes are. */
  const visited = async (statement: SQL, table: string) => {
    const explain = query(z.object({ "QUERY PLAN": z.unknown() }), () => sql`explain (analyze, format json) ${statement}`);
    const answer = await engine.db.write(inProject(projectId), (tx) => tx.first(explain(undefined)), { byKey: true });
    const plans = answer?.["QUERY PLAN"] as { Plan: Node }[] | undefined;
    const scans =
      plans === undefined || plans[0] === undefined ? [] : nodes(plans[0].Plan).filter((node) => node["Relation Name"] === table);
    expect(scans.length).toBeGreaterThan(0);
    return {
      ways: [...new Set(scans.map((node) => node["Node Type"]))],
      rows: scans.reduce((sum, node) => sum + (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"], 0),
    };
  };
  const scope = () => ({ kind: "project", id: projectId }) as const;
  const content = "Deployment 1001 of the payment gateway finished after 31 seconds";

  test("the gate looks at no more than five rows a mark, also of a text that a thousand rows resemble", async () => {
    const seen = await visited(
      gateCandidates({ items: [{ index: 0, entityId: big, content }], scope: scope() }).statement,
      "brain_observations",
    );
    expect(seen.ways).not.toContain("Seq Scan");
    expect(seen.rows).toBeLessThanOrEqual(30);
  });

  test("the newest rows come from the index in their order", async () => {
    const asked = recentSimilarities({ entityId: big, content, scope: scope(), onlyTrusted: true });
    const seen = await visited(asked.statement, "brain_observations");
    expect(seen.ways).not.toContain("Seq Scan");
    expect(seen.rows).toBeLessThanOrEqual(25);
  });

  test("the count stops where it was told to, and retiring finds the faded rows alone", async () => {
    const counted = await visited(countLive({ entityIds: [big], scope: scope() }).statement, "brain_observations");
    expect([counted.ways.includes("Seq Scan"), counted.rows <= 105]).toEqual([false, true]);
    const retired = await visited(retireFaded({ entityIds: [big], scope: scope() }).statement, "brain_observations");
    expect([retired.ways.includes("Seq Scan"), retired.rows]).toEqual([false, 0]);
  });

  test("a name is found by its index, exact or by its key", async () => {
    await rows(
      engine.db,
      sql`insert into brain_entities (name, name_key, project_id) select 'filler ' || i, 'filler' || i, ${projectId}::uuid from generate_series(1, 3000) as i`,
    );
    const exact = await visited(entitiesNamed({ name: "big", scope: scope() }).statement, "brain_entities");
    expect([exact.ways.includes("Seq Scan"), exact.rows]).toEqual([false, 1]);
    const keyed = await visited(entitiesAlsoNamed({ name: "Filler-7", nameKey: "filler7", scope: scope() }).statement, "brain_entities");
    expect(keyed.ways).not.toContain("Seq Scan");
    expect(keyed.rows).toBeLessThanOrEqual(3);
  });

  test("the queue finds the one row without a vector without reading those that have one", async () => {
    const asked = textsWithoutVector({ kind: "observation", first: "newest", except: [], limit: 8 });
    const seen = await visited(asked.statement, "brain_observations");
    expect([seen.ways.includes("Seq Scan"), seen.rows]).toEqual([false, 1]);
  });

  test("the marks follow the text and nothing else", async () => {
    const marks = () =>
      row(
        engine.db,
        sql`select words_mark, head_mark, tail_mark from brain_observations where entity_id = ${big}::uuid order by created_at limit 1`,
      );
    const change = (set: SQL) =>
      rows(
        engine.db,
        sql`update brain_observations set ${set} where id = (select id from brain_observations where entity_id = ${big}::uuid order by created_at limit 1)`,
      );
    const before = await marks();
    await change(sql`access_count = access_count + 1`);
    expect(await marks()).toEqual(before);
    await change(sql`content = 'Deployment, 1 of a payment gateway finished after 1 second!'`);
    const after = await marks();
    expect(after.head_mark).not.toBe(null);
    expect(after.tail_mark).not.toBe(before.tail_mark);
  });
});
