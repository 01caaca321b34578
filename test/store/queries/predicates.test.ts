import { beforeAll, expect, test } from "bun:test";
import { type SQL, sql } from "drizzle-orm";
import { inScope, inWindow, isServed, isTrusted } from "../../../src/store/queries/predicates.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { entity, project, rows } from "../../support/statements.ts";

eachEngine("shared filters", (engine) => {
  let a = "";
  beforeAll(async () => {
    await engine.db.reset();
    a = await project(engine.db);
    const b = await project(engine.db);
    const owner = await entity(engine.db);
    const add = (content: string, of: string | null, at: string, type = "fact", trust = "trusted") =>
      rows(
        engine.db,
        sql`insert into brain_observations (entity_id, content, project_id, created_at, observation_type, trust)
            values (${owner}::uuid, ${content}::text, ${of}::uuid, ${at}::timestamptz, ${type}::text, ${trust}::text)`,
      );
    await add("in a", a, "2026-01-01T00:00:00.000001Z");
    await add("in b", b, "2026-01-02T00:00:00Z");
    await add("free", null, "2026-01-03T00:00:00Z");
    await add("retired", null, "2026-01-04T00:00:00Z", "superseded");
    await add("held back", null, "2026-01-05T00:00:00Z", "fact", "quarantined");
  });
  /** Contents that the condition lets through, as a caller whom row security hides nothing. */
  const seen = async (condition: SQL) =>
    (
      await rows(engine.db, sql`select o.content from brain_observations as o where ${condition} order by o.created_at, o.id`, testScope())
    ).map((hit) => hit.content);

  test("a project hides unscoped rows unless they are asked for", async () => {
    const scope = { kind: "project", id: a } as const;
    expect(await seen(inScope("o", scope))).toEqual(["in a"]);
    expect(await seen(inScope("o", scope, { includeUnscoped: true }))).toEqual(["in a", "free", "retired", "held back"]);
  });

  test("without a project, or over everything, nothing is hidden", async () => {
    expect(await seen(inScope("o", { kind: "none" }))).toHaveLength(5);
    expect(await seen(inScope("o", { kind: "everything" }))).toHaveLength(5);
  });

  test("both ends of a window belong to it, to the microsecond", async () => {
    expect(await seen(inWindow("o", { after: "2026-01-01T00:00:00.000001Z", before: "2026-01-02T00:00:00Z" }))).toEqual(["in a", "in b"]);
    expect(await seen(inWindow("o", { after: "2026-01-01T00:00:00.000002Z", before: "2026-01-02T00:00:00Z" }))).toEqual(["in b"]);
    expect(await seen(inWindow("o", { before: "2025-12-31T00:00:00Z" }))).toEqual([]);
    expect(await seen(inWindow("o", {}))).toHaveLength(5);
  });

  test("retired and quarantined rows are not served", async () => {
    expect(await seen(isServed("o"))).toEqual(["in a", "in b", "free"]);
    expect(await seen(isTrusted("o"))).toEqual(["in a", "in b", "free", "retired"]);
  });
});
