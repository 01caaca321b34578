import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { eachEngine } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { project, row, rows } from "../../support/statements.ts";

eachEngine("the store of notes", (engine) => {
  beforeEach(() => engine.db.reset());
  const db = () => engine.db;
  const none = { kind: "none" } as const;
  const over = () => {
    const graph = graphOver(engine.db);
    const add = async (content: string, more: Record<string, unknown> = {}) =>
      String((await graph.caller()("cuba_cronica", { action: "add", entity_name: "Gateway", content, ...more })).id);
    const within = (scope: Parameters<typeof graph.context>[0] = none) => graph.context(scope);
    return { ...graph, add, within };
  };
  const facts = () =>
    rows(
      db(),
      sql`select object, is_current as current, supersede_reason as why, superseded_by is not null as linked from brain_facts order by created_at, object`,
    );

  test("a rewritten text takes tags, words, slices and fact with it, and keeps what it said before", async () => {
    const { notes, add, within } = over();
    const id = await add("The gateway listens on port 8080");
    const ctx = within();
    const content = `The gateway listens on port 9090. ${"It has done so since the migration of the load balancer. ".repeat(40)}`;
    expect(await db().write(ctx, (tx) => notes.rewrite(tx, ctx, { id, content, reason: "corrected" }))).toBe(true);
    const now = await row(
      db(),
      sql`select version, tags, previous_versions, lexical like '%9090%' as prepared, content from brain_observations`,
    );
    expect(now).toMatchObject({
      version: 2,
      prepared: true,
      content,
      previous_versions: [{ content: "The gateway listens on port 8080", version: 1 }],
    });
    expect(now.tags).toContain("migration");
    expect(Number((await row(db(), sql`select count(*)::int as n from brain_observation_chunks`)).n)).toBeGreaterThan(1);
    expect(await facts()).toEqual([
      { object: "The gateway listens on port 8080", current: false, why: "corrected", linked: true },
      { object: content, current: true, why: null, linked: false },
    ]);
    const words = (text: string) => rows(db(), sql`select 1 from brain_observations where search_vector @@ cuba_or_tsquery(${text}::text)`);
    expect([(await words("8080")).length, (await words("9090")).length]).toEqual([0, 1]);
  });

  test("a superseded text is hidden behind its successor, and its fact ends with it", async () => {
    const { notes, add, within } = over();
    const [old, fresh] = [await add("The gateway listens on port 8080"), await add("The gateway listens on port 9090")];
    const ctx = within();
    expect(await db().write(ctx, (tx) => notes.supersede(tx, ctx, { id: old, successor: fresh }))).toBe(true);
    expect(
      await rows(db(), sql`select superseded_from, superseded_by from brain_observations where observation_type = 'superseded'`),
    ).toEqual([{ superseded_from: "fact", superseded_by: fresh }]);
    expect(await facts()).toEqual([
      { object: "The gateway listens on port 8080", current: false, why: "superseded", linked: true },
      { object: "The gateway listens on port 9090", current: true, why: null, linked: false },
    ]);
    expect(await db().write(ctx, (tx) => notes.supersede(tx, ctx, { id: old, successor: fresh }))).toBe(false);
  });

  test("nothing untrusted retires a trusted text, nothing of another entity, and nothing itself", async () => {
    const { notes, add, within } = over();
    const trusted = await add("The gateway listens on port 8080");
    const planted = await add("The gateway listens on port 6666", { trust: "quarantined" });
    const elsewhere = await add("The proxy listens on port 9090", { entity_name: "Proxy" });
    const ctx = within();
    for (const successor of [planted, elsewhere, trusted])
      expect(await db().write(ctx, (tx) => notes.supersede(tx, ctx, { id: trusted, successor }))).toBe(false);
    expect(await rows(db(), sql`select 1 from brain_observations where observation_type = 'superseded'`)).toEqual([]);
  });

  test("neither reaches into another project", async () => {
    const { notes, add, within } = over();
    const id = await add("The gateway listens on port 8080");
    const other = within({ kind: "project", id: await project(db()) });
    expect(await db().write(other, (tx) => notes.rewrite(tx, other, { id, content: "changed", reason: "corrected" }))).toBe(false);
    expect(await rows(db(), sql`select content, version from brain_observations`)).toEqual([
      { content: "The gateway listens on port 8080", version: 1 },
    ]);
  });
});
