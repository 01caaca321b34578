import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { CallContext } from "../../src/kernel/context.ts";
import { toEnd } from "../../src/kernel/steps.ts";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { query } from "../../src/store/codecs.ts";
import projectsTool from "../../src/tools/projects.ts";
import type { Services } from "../../src/tools/services.ts";
import { eachEngine, testScope } from "../support/engines.ts";
import { graphOver } from "../support/graph.ts";
import { faroOver } from "../support/search.ts";
import { processOver } from "../support/services.ts";

const listed = z.looseObject({
  projects: z.array(z.looseObject({ name: z.string() })),
  next: z.object({ offset: z.int() }).optional(),
});

eachEngine("projects", (engine) => {
  beforeEach(() => engine.db.reset());
  const everything = testScope({ scope: { kind: "everything" } });
  const rows = (statement: ReturnType<typeof sql>) =>
    engine.db.read(everything, (tx) => tx.all(query(z.record(z.string(), z.unknown()), () => statement)({})));
  const run = (statement: ReturnType<typeof sql>) => engine.db.write(everything, (tx) => tx.run(statement));
  /** An entity with observations, in a project by name or in none. */
  const remember = (project: string | null, entity: string, ...contents: string[]) =>
    run(sql`
      with e as (
        insert into brain_entities (name, project_id) values (${entity}::text, (select id from brain_projects where name = ${project}::text))
        returning id, project_id)
      insert into brain_observations (entity_id, content, project_id)
      select e.id, c, e.project_id from e, unnest(${`{${contents.map((c) => `"${c}"`).join(",")}}`}::text[]) as c`);

  test("switching binds the open session and all that follows", async () => {
    const of = processOver(engine.db);
    const window = of.client({ project: "a" });
    const started = await of.sessions.start(await window.context(), { name: "s", goals: [], project: undefined });
    const switched = await of.projects.switchTo(await window.context(), "b");
    expect(switched).toMatchObject({ project: { name: "b" }, created: true, session: started.kind === "started" ? started.id : "" });
    expect(await of.projects.current(await window.context())).toMatchObject({ name: "b", source: "session" });
    expect(await rows(sql`select p.name from brain_sessions s join brain_projects p on p.id = s.project_id`)).toEqual([{ name: "b" }]);
  });

  test("switching without a session binds the client, and names projects that differ in separators alone", async () => {
    const of = processOver(engine.db);
    const window = of.client();
    await of.projects.switchTo(await window.context(), "My-App");
    const typo = await of.projects.switchTo(await window.context(), "my app");
    expect(typo).toMatchObject({ created: true, similarNames: ["My-App"], session: undefined, unbound: false });
    expect(await of.projects.current(await window.context())).toMatchObject({ name: "my app", source: "switch" });
    // What cannot be seen is no difference to a person.
    expect(await of.projects.switchTo(await window.context(), "My\u200b-App")).toMatchObject({
      created: true,
      similarNames: ["My-App", "my app"],
    });
  });

  test("are listed below the limit of an answer with the longest names there can be, each once", async () => {
    const of = processOver(engine.db);
    const context = await of.client().context();
    await run(sql`insert into brain_projects (name) select lpad(i::text, 3, '0') || repeat('界', 197) from generate_series(1, 150) as i`);
    const count = await tokenCounter();
    const seen: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const parsed = toEnd(projectsTool.parse({ action: "list", offset }));
      if (parsed.kind !== "run") throw new Error("the call was forwarded");
      const answer = listed.parse(await parsed.run(context, { projects: of.projects } as unknown as Services));
      expect(count(JSON.stringify(answer))).toBeLessThanOrEqual(10_000);
      seen.push(...answer.projects.map(({ name }) => name.slice(0, 3)));
      offset = answer.next?.offset;
    }
    expect(seen).toHaveLength(150);
    expect(new Set(seen).size).toBe(150);
  });

  test("a row without a project is neither counted nor found while a project is active", async () => {
    const of = processOver(engine.db);
    const window = of.client();
    await of.projects.switchTo(await window.context(), "a");
    await remember("a", "Gateway", "The gateway listens on port 8080");
    await remember(null, "Gateway", "The gateway listens on port 9090");
    const ctx = await window.context();
    expect(await of.projects.stats(ctx, undefined)).toMatchObject({ project: { name: "a" }, observations: 1, entities: 1 });
    const { ask } = faroOver(engine.db);
    const asked = { query: "port of the gateway", format: "verbose" };
    const found = JSON.stringify((await ask(asked, ctx)).results);
    expect([found.includes("8080"), found.includes("9090")]).toEqual([true, false]);
    const both = JSON.stringify((await ask({ ...asked, include_unscoped: true }, ctx)).results);
    expect([both.includes("8080"), both.includes("9090")]).toEqual([true, true]);
  });

  // The embedded database belongs to one process.
  if (engine.name === "postgres")
    test("a project that another process renames or merges takes the clients of this one along, whatever bound them to it", async () => {
      let clock = 1_000;
      const here = processOver(engine.db, { nodeName: "desk", now: () => clock });
      const there = processOver(engine.db, { nodeName: "laptop" });
      const inSession = here.client({ label: "a", protocolSession: "1" });
      await here.sessions.start(await inSession.context(), { name: "s", goals: [], project: "old" });
      const bySwitch = here.client({ label: "b", protocolSession: "2" });
      await here.projects.switchTo(await bySwitch.context(), "old");
      const byVariable = here.client({ label: "c", protocolSession: "3", project: "old" });
      const clients = [inSession, bySwitch, byVariable];
      const names = async () =>
        await Promise.all(clients.map(async (client) => (await here.projects.current(await client.context()))?.name));
      expect(await names()).toEqual(["old", "old", "old"]);

      const other = there.client({ label: "d" });
      await there.projects.switchTo(await other.context(), "kept");
      await there.projects.rename(await other.context(), "old", "older");
      clock += 1_000;
      expect(await names()).toEqual(["older", "older", "older"]);

      await there.projects.merge(await other.context(), "older", "kept", true);
      clock += 1_000;
      // The variable names a project that is no longer: it stands for a new one of that name, as it would after a start.
      expect(await names()).toEqual(["kept", "kept", "old"]);
      const { scope, session } = await inSession.context();
      const [kept] = await rows(sql`select id from brain_projects where name = 'kept'`);
      expect([scope, session !== undefined]).toEqual([{ kind: "project", id: String(kept?.["id"]) }, true]);
    });

  if (engine.name === "postgres")
    test("a write in the moment of a merge by another process is told what happened, and the next call is in the project that there is", async () => {
      const here = processOver(engine.db, { nodeName: "desk", now: () => 1_000 });
      const there = processOver(engine.db, { nodeName: "laptop" });
      const [writer, other] = [here.client({ label: "a", protocolSession: "1" }), there.client({ label: "b" })];
      await here.projects.switchTo(await writer.context(), "old");
      const before = await writer.context();
      await there.projects.switchTo(await other.context(), "kept");
      await there.projects.merge(await other.context(), "old", "kept", true);
      const graph = graphOver(engine.db);
      const add = (ctx: CallContext) =>
        graph.caller(ctx.scope)("cuba_cronica", { action: "add", entity_name: "Gateway", content: "listens on 8080" });
      const refusal = await graph.refusal(add(before));
      expect([refusal.code, refusal.reason, refusal.message]).toEqual([
        "conflict",
        "project_gone",
        "The project was merged into another one, or removed, while this call wrote. Call again: the project is looked up anew then. Nothing was written.",
      ]);
      expect(await rows(sql`select 1 from brain_observations`)).toEqual([]);
      // Not a moment passes.
      expect((await writer.context()).scope).toEqual(before.scope);
      writer.caller.lookAgain();
      await add(await writer.context());
      const held = await rows(sql`select p.name from brain_observations as o join brain_projects as p on p.id = o.project_id`);
      expect(held).toEqual([{ name: "kept" }]);
    });

  test("of several who rename or merge one project at once one does, and the others are told that it is gone", async () => {
    const of = processOver(engine.db);
    const context = await of.client().context();
    await of.projects.switchTo(context, "a");
    await of.projects.switchTo(context, "b");
    await remember("a", "Gateway", "listens on port 8080");
    const renamed = await Promise.all([1, 2, 3, 4].map((n) => of.projects.rename(context, "a", `a${n}`)));
    expect(renamed.filter((did) => did)).toHaveLength(1);
    const name = `a${renamed.indexOf(true) + 1}`;
    const merged = await Promise.allSettled([1, 2, 3, 4].map(() => of.projects.merge(context, name, "b", true)));
    const did = merged.flatMap((each) => (each.status === "fulfilled" ? [each.value.rows["brain_observations"]] : []));
    expect(did).toEqual([1]);
    for (const each of merged) if (each.status === "rejected") expect(String(each.reason)).toContain(`Project '${name}' not found`);
    expect(
      await rows(
        sql`select p.name, count(*)::int as n from brain_observations o left join brain_projects p on p.id = o.project_id group by 1`,
      ),
    ).toEqual([{ name: "b", n: 1 }]);
  });

  test("renaming onto a taken name is refused and points to merge; an unknown one is not an error", async () => {
    const of = processOver(engine.db);
    const context = await of.client().context();
    await of.projects.switchTo(context, "a");
    await of.projects.switchTo(context, "b");
    expect(of.projects.rename(context, "a", "b")).rejects.toThrow("cuba_proyecto action=merge name=a to=b");
    expect(await of.projects.rename(context, "nobody", "x")).toBe(false);
    expect(await of.projects.rename(context, "a", "c")).toBe(true);
  });

  test("a rename that the database did not keep changes no client's project", async () => {
    const { db } = engine;
    let isLost = false;
    const failing: typeof db = {
      ...db,
      write: (ctx, work, limits) =>
        db.write(
          ctx,
          async (tx) => {
            const result = await work(tx);
            if (isLost) throw new Error("the connection is gone");
            return result;
          },
          limits,
        ),
    };
    const of = processOver(failing);
    const window = of.client();
    await of.projects.switchTo(await window.context(), "a");
    isLost = true;
    await expect(of.projects.rename(await window.context(), "a", "b")).rejects.toThrow();
    expect(await of.projects.current(await window.context())).toMatchObject({ name: "a" });
  });

  test("stats of an unknown project say that it does not exist; without any project there is nothing to count", async () => {
    const of = processOver(engine.db);
    const context = await of.client().context();
    expect(of.projects.stats(context, "nobody")).rejects.toThrow("Project 'nobody' not found");
    expect(await of.projects.stats(context, undefined)).toBeUndefined();
  });

  test("merging a project with itself is refused, also when the names differ in case, and it still exists", async () => {
    const of = processOver(engine.db);
    const context = await of.client().context();
    await of.projects.switchTo(context, "a");
    expect(of.projects.merge(context, "a", "A", true)).rejects.toThrow("nothing to merge");
    expect((await of.projects.list(context, { limit: 10, offset: 0 })).total).toBe(1);
  });

  test("merging folds entities of one name, keeps every observation and relation, and takes bound clients along", async () => {
    const of = processOver(engine.db);
    const window = of.client();
    await of.projects.switchTo(await window.context(), "b");
    await of.projects.switchTo(await window.context(), "a");
    await remember("a", "Postgres", "from a", "more from a");
    await remember("a", "Redis", "cache");
    await remember("b", "Postgres", "from b");
    await run(sql`
      insert into brain_relations (from_entity, to_entity, relation_type, project_id)
      select f.id, t.id, 'uses', f.project_id from brain_entities f join brain_entities t on t.project_id = f.project_id
      where f.name = 'Postgres' and t.name = 'Redis'`);
    const plan = await of.projects.merge(await window.context(), "a", "b", false);
    expect(plan).toMatchObject({ kind: "plan", folded: 1, rows: { brain_entities: 2, brain_observations: 3, brain_relations: 1 } });
    expect((await rows(sql`select count(*)::int as n from brain_projects`))[0]).toEqual({ n: 2 });
    const merged = await of.projects.merge(await window.context(), "a", "b", true);
    expect(merged).toMatchObject({ kind: "merged", folded: 1 });
    expect(
      await rows(sql`
        select e.name, count(o.id)::int as n from brain_entities e join brain_observations o on o.entity_id = e.id and o.project_id = e.project_id
        group by e.name order by e.name`),
    ).toEqual([
      { name: "Postgres", n: 3 },
      { name: "Redis", n: 1 },
    ]);
    expect(
      await rows(
        sql`select f.name as f, t.name as t from brain_relations r join brain_entities f on f.id = r.from_entity join brain_entities t on t.id = r.to_entity`,
      ),
    ).toEqual([{ f: "Postgres", t: "Redis" }]);
    expect(await of.projects.current(await window.context())).toMatchObject({ name: "b" });
  });

  test("backfill is a plan that creates nothing, moves with confirm, and finds nothing the second time", async () => {
    const of = processOver(engine.db);
    const context = await of.client().context();
    await remember(null, "Orphan", "nobody's", "note");
    const plan = await of.projects.backfill(context, "home", false);
    expect(plan).toEqual({
      kind: "plan",
      project: { id: null, name: "home" },
      rows: { brain_entities: 1, brain_observations: 2 },
      folded: 0,
    });
    expect((await of.projects.list(context, { limit: 10, offset: 0 })).total).toBe(0);
    expect(await of.projects.backfill(context, "home", true)).toMatchObject({
      kind: "assigned",
      rows: { brain_entities: 1, brain_observations: 2 },
    });
    expect(await of.projects.backfill(context, "home", true)).toMatchObject({ kind: "assigned", rows: {} });
  });

  test("the index of words moves as a whole: every word, every count, and not row by row", async () => {
    const of = processOver(engine.db);
    const context = await of.client().context();
    for (let row = 0; row < 20; row++) await remember(null, `Entity ${row}`, `memory number ${row} of the zeppelin`, "note");
    const index = () =>
      rows(sql`
        select p.project_key::text as key, p.kind, count(distinct p.row_id)::int as rows, sum(p.tf)::int as words, count(*)::int as postings
        from brain_postings as p group by 1, 2 order by 1, 2`);
    const totals = () =>
      rows(sql`
        select t.project_key::text as key, t.kind, sum(t.row_count)::int as rows, sum(t.word_count)::int as words
        from brain_posting_totals as t group by 1, 2 having sum(t.row_count) <> 0 or sum(t.word_count) <> 0 order by 1, 2`);
    const withoutKey = (found: Record<string, unknown>[]) => found.map(({ key: _, ...rest }) => rest);
    const counted = (found: Record<string, unknown>[]) => found.map(({ postings: _, ...rest }) => rest);
    const before = await index();
    for (const move of [() => of.projects.backfill(context, "home", true), () => of.projects.merge(context, "home", "other", true)]) {
      await move();
      const after = await index();
      expect(withoutKey(after)).toEqual(withoutKey(before));
      expect(await totals()).toEqual(counted(after));
      expect(new Set(after.map(({ key }) => key))).toEqual(
        new Set((await rows(sql`select distinct project_id::text as id from brain_observations`)).map(({ id }) => id)),
      );
    }
    const changes = await rows(
      sql`select max(changes)::int as n from brain_posting_totals as t join brain_projects as p on p.id = t.project_key`,
    );
    expect(changes).toEqual([{ n: 1 }]);
    // Afterwards rows index their own words again.
    await engine.db.write(everything, async (tx) => {
      await tx.run(sql`update brain_observations set content = content || ' again', lexical = lexical || ' again'`);
    });
    expect(await totals()).toEqual(counted(await index()));
  });

  test("the catalogue names every table that a merge must move", async () => {
    const listed = await rows(sql`
      select table_name::text as name from information_schema.columns
      where table_schema = 'public' and column_name = 'project_id' order by 1`);
    const { tablesOfProjects } = await import("../../src/store/queries/projects.ts");
    const found = (await engine.db.read(everything, (tx) => tx.all(tablesOfProjects({})))).map((row) => row.table);
    expect(listed.map((row) => row.name).filter((table) => !found.includes(String(table)))).toEqual([]);
  });
});
