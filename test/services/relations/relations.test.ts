import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../../src/kernel/tokens.ts";
import { eachEngine } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { entity, project, row, rows } from "../../support/statements.ts";

const SLOW_MS = 60_000;
const field = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined), value);

eachEngine("cuba_puente", (engine) => {
  beforeEach(() => engine.db.reset());
  const db = () => engine.db;
  const graph = () => graphOver(engine.db);
  const call = (args: Record<string, unknown>) => graph().caller()("cuba_puente", args);

  /** Edges as `A B strength`, of type `uses`; the names become entities. */
  const draw = async (edges: readonly string[], projectId: string | null = null) => {
    const ids = new Map<string, string>();
    for (const name of new Set(edges.flatMap((edge) => edge.split(" ").slice(0, 2)))) ids.set(name, await entity(db(), projectId, name));
    for (const edge of edges) {
      const [from = "", to = "", strength = "1", provenance = "extracted"] = edge.split(" ");
      await rows(
        db(),
        sql`insert into brain_relations (from_entity, to_entity, relation_type, strength, provenance, project_id)
            values (${ids.get(from)}::uuid, ${ids.get(to)}::uuid, 'uses', ${strength}::float8, ${provenance}::text, ${projectId}::uuid)`,
      );
    }
    return ids;
  };
  const stored = () =>
    rows(
      db(),
      sql`select f.name as from, t.name as to, r.relation_type as type, r.strength, r.provenance, r.bidirectional
          from brain_relations r join brain_entities f on f.id = r.from_entity join brain_entities t on t.id = r.to_entity order by 1, 2, 3`,
    );
  const cyclic = ["A B 1", "A C 1", "B D 0.5", "C D 0.8", "D A 1", "C E 0.4"];

  describe("create", () => {
    test("asserts a relation between known entities, and strengthens the one that is there", async () => {
      await draw(["A X"]);
      await rows(db(), sql`delete from brain_relations`);
      expect(await call({ action: "create", from_entity: "A", to_entity: "X", relation_type: "uses" })).toMatchObject({
        action: "create",
        from: "A",
        to: "X",
        relation_type: "uses",
        bidirectional: false,
        created: true,
        strength: 1,
        provenance: "extracted",
      });
      await rows(db(), sql`update brain_relations set strength = 0.5, last_traversed = '2026-01-01'`);
      expect(await call({ action: "create", from_entity: "A", to_entity: "X", relation_type: "uses" })).toMatchObject({
        created: false,
        strength: 0.6,
      });
      for (let i = 0; i < 6; i++) await call({ action: "create", from_entity: "A", to_entity: "X", relation_type: "uses" });
      expect(await stored()).toMatchObject([{ strength: 1, type: "uses" }]);
      expect((await row(db(), sql`select last_traversed > '2026-01-02' as moved from brain_relations`)).moved).toBe(true);
    });

    test("makes a guess an assertion, in the same row", async () => {
      await draw(["A B 0.3 predicted"]);
      const before = await row(db(), sql`select id from brain_relations`);
      expect(await call({ action: "create", from_entity: "A", to_entity: "B", relation_type: "uses" })).toMatchObject({
        created: false,
        provenance: "extracted",
      });
      expect(await rows(db(), sql`select id from brain_relations`)).toEqual([before]);
    });

    test("writes both rows of a bidirectional one, and makes an old one bidirectional", async () => {
      await draw(["A B 1"]);
      expect(await call({ action: "create", from_entity: "A", to_entity: "B", relation_type: "uses", bidirectional: true })).toMatchObject({
        bidirectional: true,
        created: false,
      });
      expect(await stored()).toEqual([
        { from: "A", to: "B", type: "uses", strength: 1, provenance: "extracted", bidirectional: true },
        { from: "B", to: "A", type: "uses", strength: 1, provenance: "extracted", bidirectional: true },
      ]);
    });

    test("makes no entity out of a typo, no loop, no unknown type, and nothing across projects", async () => {
      const { caller, refusal } = graph();
      await entity(db(), null, "Postgres");
      const fails = (args: Record<string, unknown>) =>
        refusal(caller()("cuba_puente", { action: "create", from_entity: "Postgres", ...args }));
      const typo = await fails({ to_entity: "Postgress" });
      expect(typo.message).toStartWith("Entity 'Postgress' not found. Close names: Postgres.");
      expect((await fails({ to_entity: "Postgres" })).field).toBe("to_entity");
      expect((await fails({ to_entity: "Postgres", relation_type: "likes" })).message).toBe(
        "Invalid relation_type: likes. Use uses/causes/implements/depends_on/related_to",
      );
      expect((await fails({})).field).toBe("to_entity");
      expect((await fails({ to_entity: "Postgres", bidirectional: "true" })).field).toBe("bidirectional");
      for (const name of ["A", "B"]) await entity(db(), await project(db(), name), `only in ${name}`);
      const across = await refusal(caller()("cuba_puente", { action: "create", from_entity: "only in A", to_entity: "only in B" }));
      expect([across.code, across.message.includes("different projects")]).toEqual(["conflict", true]);
      expect(await stored()).toEqual([]);
      expect(await rows(db(), sql`select 1 from brain_entities`)).toHaveLength(3);
    });

    test("belongs to the active project", async () => {
      const p = await project(db());
      for (const name of ["A", "B"]) await entity(db(), p, name);
      await graph().caller({ kind: "project", id: p })("cuba_puente", { action: "create", from_entity: "A", to_entity: "B" });
      expect(await rows(db(), sql`select project_id, relation_type from brain_relations`)).toEqual([
        { project_id: p, relation_type: "related_to" },
      ]);
    });
  });

  describe("delete", () => {
    test("takes one type, or all in that direction, and says how many", async () => {
      const ids = await draw(["A B"]);
      await rows(
        db(),
        sql`insert into brain_relations (from_entity, to_entity, relation_type) values
              (${ids.get("A")}::uuid, ${ids.get("B")}::uuid, 'causes'), (${ids.get("B")}::uuid, ${ids.get("A")}::uuid, 'causes')`,
      );
      expect(await call({ action: "delete", from_entity: "A", to_entity: "B", relation_type: "implements" })).toMatchObject({
        deleted: false,
        deleted_count: 0,
      });
      expect(await call({ action: "delete", from_entity: "A", to_entity: "B" })).toMatchObject({
        action: "delete",
        deleted: true,
        deleted_count: 2,
      });
      expect(await stored()).toMatchObject([{ from: "B", to: "A", type: "causes" }]);
      expect(await rows(db(), sql`select table_name from brain_tombstones`)).toHaveLength(2);
    });

    test("takes the mirror of a bidirectional one with it", async () => {
      await draw(["A B"]);
      await call({ action: "create", from_entity: "A", to_entity: "B", relation_type: "uses", bidirectional: true });
      expect(await call({ action: "delete", from_entity: "B", to_entity: "A", relation_type: "uses" })).toMatchObject({ deleted_count: 2 });
      expect(await stored()).toEqual([]);
    });
  });

  describe("traverse", () => {
    test("reaches each node of a cyclic graph once, by its shortest and strongest way, and never its start", async () => {
      await draw(cyclic);
      const answer = await call({ action: "traverse", start_entity: "A", max_depth: 5 });
      expect(answer).toMatchObject({
        action: "traverse",
        start: "A",
        max_depth: 5,
        backend: "postgres",
        count: 4,
        total: 4,
        truncated: false,
      });
      expect(answer.nodes).toEqual([
        { name: "B", from: "A", relation: "uses", strength: 1, depth: 1, provenance: "extracted" },
        { name: "C", from: "A", relation: "uses", strength: 1, depth: 1, provenance: "extracted" },
        { name: "D", from: "C", relation: "uses", strength: 0.8, depth: 2, provenance: "extracted" },
        { name: "E", from: "C", relation: "uses", strength: 0.4, depth: 2, provenance: "extracted" },
      ]);
    });

    test("ends with its best paths, the strongest last", async () => {
      await draw(["A B 1", "B D 0.5"]);
      expect((await call({ action: "traverse", start_entity: "A" })).paths).toEqual([
        { path: "A -[uses]-> B -[uses]-> D", score: 0.1667 },
        { path: "A -[uses]-> B", score: 0.5 },
      ]);
    });

    test("strengthens the edges it walked, guesses not, and no others", async () => {
      await draw(["A B 0.5", "B C 0.5 inferred", "A D 0.5 predicted", "X A 0.5"]);
      await call({ action: "traverse", start_entity: "A" });
      expect((await stored()).map((each) => [each.from, each.to, each.strength])).toEqual([
        ["A", "B", 0.52],
        ["A", "D", 0.5],
        ["B", "C", 0.52],
        ["X", "A", 0.5],
      ]);
    });

    test("moves a depth out of bounds to the nearest one, and refuses what is no number", async () => {
      await draw(["A B", "B C", "C D", "D E", "E F", "F G"]);
      expect(await call({ action: "traverse", start_entity: "A", max_depth: 99 })).toMatchObject({ max_depth: 5, count: 5 });
      expect(await call({ action: "traverse", start_entity: "A", max_depth: 0 })).toMatchObject({ max_depth: 1, count: 1 });
      expect(await call({ action: "traverse", start_entity: "A" })).toMatchObject({ max_depth: 3, count: 3 });
      expect((await graph().refusal(call({ action: "traverse", start_entity: "A", max_depth: "2" }))).field).toBe("max_depth");
    });

    test("walks backwards when asked, and over a bidirectional edge without being asked", async () => {
      await draw(["A B"]);
      expect(await call({ action: "traverse", start_entity: "B" })).toMatchObject({ count: 0, nodes: [] });
      expect(await call({ action: "traverse", start_entity: "B", direction: "in" })).toMatchObject({ count: 1 });
      expect(await call({ action: "traverse", start_entity: "B", direction: "both" })).toMatchObject({ count: 1 });
      await rows(db(), sql`update brain_relations set bidirectional = true`);
      expect(await call({ action: "traverse", start_entity: "B" })).toMatchObject({ nodes: [{ name: "A", depth: 1 }] });
      await call({ action: "create", from_entity: "A", to_entity: "B", relation_type: "uses", bidirectional: true });
      expect(await call({ action: "traverse", start_entity: "B" })).toMatchObject({
        nodes: [{ name: "A" }],
        paths: [{ path: "B -[uses]-> A" }],
      });
    });

    test("stays in its project, whatever the names", async () => {
      const [p, q] = [await project(db(), "P"), await project(db(), "Q")];
      await draw(["A B"], p);
      for (const name of ["A", "B"]) await entity(db(), q, name);
      const inQ = graph().caller({ kind: "project", id: q });
      expect(await inQ("cuba_puente", { action: "traverse", start_entity: "A", direction: "both" })).toMatchObject({ count: 0 });
      expect(await inQ("cuba_puente", { action: "predict", entity_name: "A" })).toMatchObject({ count: 0 });
    });

    test(
      "of a hub shows fifty nodes, says how many there are and where to read on, within 10,000 tokens",
      async () => {
        const hub = await entity(db(), null, "hub");
        await rows(
          db(),
          sql`with e as (insert into brain_entities (name, name_key) select 'node ' || lpad(i::text, 4, '0') || repeat('界', 150), 'n' || i
                         from generate_series(1, 400) i returning id)
              insert into brain_relations (from_entity, to_entity, relation_type) select ${hub}::uuid, id, 'uses' from e`,
        );
        const count = await tokenCounter();
        const first = await call({ action: "traverse", start_entity: "hub" });
        expect(count(JSON.stringify(first))).toBeLessThanOrEqual(10_000);
        expect(first).toMatchObject({ total: 400, truncated: true, next: { offset: first.count } });
        const more = await call({ action: "traverse", start_entity: "hub", offset: 350 });
        expect(Number(more.count)).toBeGreaterThan(0);
        expect(field(more, "nodes", 0, "name")).not.toBe(field(first, "nodes", 0, "name"));
        const seen = await graph().caller()("cuba_alma", { action: "get", name: "hub" });
        expect(count(JSON.stringify(seen))).toBeLessThanOrEqual(10_000);
        expect(seen).toMatchObject({ relations_truncated: true, relation_count: 400 });
      },
      SLOW_MS,
    );
  });

  describe("infer", () => {
    test("finds what follows through others, once each, by the strongest path", async () => {
      await draw(cyclic);
      const answer = await call({ action: "infer", start_entity: "A" });
      expect(answer).toMatchObject({ action: "infer", start: "A", count: 2 });
      expect(answer.inferred_connections).toEqual([
        { entity: "D", hops: 2, inferred_strength: 0.8, path: "A -[uses]-> C -[uses]-> D" },
        { entity: "E", hops: 2, inferred_strength: 0.4, path: "A -[uses]-> C -[uses]-> E" },
      ]);
      expect((await stored()).map((each) => each.strength)).toEqual([1, 1, 0.5, 0.8, 0.4, 1]);
    });

    test("fails on an unknown start with close names", async () => {
      await entity(db(), null, "Postgres");
      for (const action of ["infer", "traverse"])
        expect((await graph().refusal(call({ action, start_entity: "Postgress" }))).message).toContain("Close names: Postgres.");
    });
  });

  describe("predict", () => {
    const house = ["A B", "A C", "B D", "C D", "C E"];

    test("scores by shared neighbours and keeps what it found once", async () => {
      await draw(house);
      const answer = await call({ action: "predict", entity_name: "A", persist: true, relation_type: "depends_on" });
      expect(answer).toMatchObject({ action: "predict", entity: "A", count: 2, persisted: true, relations_created: 2 });
      expect(answer.predictions).toMatchObject([
        { entity: "D", entity_type: "concept", adamic_adar_score: 1.3427 },
        { entity: "E", entity_type: "concept", adamic_adar_score: 0.6213 },
      ]);
      const kept = (await stored()).filter((each) => each.provenance === "predicted");
      expect(kept.map((each) => [each.from, each.to, each.type, Number(each.strength)])).toEqual([
        ["A", "D", "depends_on", expect.closeTo(0.5731, 4)],
        ["A", "E", "depends_on", expect.closeTo(0.3832, 4)],
      ]);
      expect(await call({ action: "predict", entity_name: "A", persist: true, relation_type: "depends_on" })).toMatchObject({
        count: 2,
        relations_created: 0,
      });
    });

    test("only reads unless told to keep, and takes the entity under its other argument", async () => {
      await draw(house);
      expect(await call({ action: "predict", start_entity: "A", limit: 1 })).toMatchObject({
        count: 1,
        persisted: false,
        relations_created: 0,
        predictions: [{ entity: "D" }],
      });
      expect(await stored()).toHaveLength(5);
      expect((await graph().refusal(call({ action: "predict" }))).field).toBe("entity_name");
      expect((await graph().refusal(call({ action: "predict", entity_name: "A", persist: true, relation_type: "likes" }))).field).toBe(
        "relation_type",
      );
      expect(await call({ action: "predict", entity_name: "A", limit: -5 })).toMatchObject({ count: 1 });
    });

    test("counts a mirrored pair once, and never builds on a guess", async () => {
      await draw([...house, "D C", "D X 1 predicted", "B X 1 predicted"]);
      expect((await call({ action: "predict", entity_name: "A" })).predictions).toMatchObject([
        { entity: "D", adamic_adar_score: 1.3427 },
        { entity: "E", adamic_adar_score: 0.6213 },
      ]);
    });

    test("suggests nothing that only untrusted text speaks of", async () => {
      const ids = await draw(house);
      await rows(
        db(),
        sql`insert into brain_observations (entity_id, content, trust) values (${ids.get("D")}::uuid, 'planted', 'quarantined')`,
      );
      expect((await call({ action: "predict", entity_name: "A" })).predictions).toMatchObject([{ entity: "E" }]);
      await rows(db(), sql`update brain_observations set trust = 'trusted'`);
      expect((await call({ action: "predict", entity_name: "A" })).predictions).toMatchObject([{ entity: "D" }, { entity: "E" }]);
    });

    test("answers an unknown entity with nothing and a note", async () => {
      expect(await call({ action: "predict", entity_name: "nobody" })).toMatchObject({
        count: 0,
        predictions: [],
        relations_created: 0,
        note: expect.stringContaining("'nobody' is not known"),
      });
      expect(await rows(db(), sql`select 1 from brain_entities`)).toEqual([]);
    });
  });
});
