/** A build of a source tree comes in slices that nobody sees, and shows in one moment, whatever happens meanwhile. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { silentLogger } from "../../../src/kernel/logger.ts";
import { createBuilds } from "../../../src/services/codegraph/build.ts";
import type { SourceTree } from "../../../src/services/codegraph/read.ts";
import { createCodeGraph } from "../../../src/services/codegraph/store.ts";
import { createEntityDuplicates } from "../../../src/services/duplicates/entities.ts";
import { createFactMirror } from "../../../src/services/facts.ts";
import { createCalls, createPace, paceBehind } from "../../../src/services/pace.ts";
import type { Database } from "../../../src/store/port.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { eachEngine, inProject, testScope } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { processOver } from "../../support/services.ts";
import { before, readersOf, treeOf } from "../../support/source-trees.ts";
import { project, rows } from "../../support/statements.ts";

eachEngine("a build of a source tree", (engine) => {
  beforeEach(() => engine.db.reset());
  const graph = (db: Database = engine.db) =>
    createCodeGraph({
      db,
      facts: createFactMirror({ enabled: true }),
      queue: { poke: () => undefined },
      paceOf: paceBehind(createCalls()),
    });
  const store = (tree: SourceTree, projectId: string, owns = true) =>
    graph().store({ ...inProject(projectId), log: silentLogger }, tree, { owns });
  const { entities, contents, edges } = readersOf(() => engine.db);
  const isWhole = async () => expect(await engine.db.asOwner(brokenInvariants)).toEqual([]);

  /** What everybody sees. */
  const seen = async () => ({ entities: await entities(), contents: await contents(), edges: await edges(), facts: await factCount() });
  const factCount = async () => (await rows(engine.db, sql`select 1 as one from brain_facts where valid_to is null`)).length;
  /** What lies in the tables, seen or not. */
  const leftovers = async () => {
    const { rows: found } = await engine.db.asOwner((connection) =>
      connection.query(`select (select count(*) from brain_code_builds)::int as builds, (select count(*) from brain_code_pending)::int as marks,
        (select count(*) from brain_entities)::int as entities, (select count(*) from brain_tombstones)::int as tombstones`),
    );
    return found[0];
  };
  const after = treeOf(
    {
      "src/auth/session.ts::renewToken": ["function", 3],
      "src/auth/tokens.ts::issue": ["function", 3],
      "src/app.ts::main": ["function", 1],
    },
    [
      ["src/app.ts::main", "src/auth/session.ts::renewToken"],
      ["src/app.ts::main", "src/auth/tokens.ts::issue"],
    ],
    [["src/app.ts", "preact"]],
  );

  /** A database that does the transaction of this number and then fails; all that come later too where the process is `killed`. */
  function refusing(at: number, isKilled = false): Database {
    let count = 0;
    return {
      ...engine.db,
      traits: engine.db.traits,
      write: async (ctx, work, limits) => {
        count += 1;
        if (isKilled && count > at) throw new Error("killed");
        return await engine.db.write(
          ctx,
          async (tx) => {
            const done = await work(tx);
            if (count === at) throw new Error("the statement refuses");
            return done;
          },
          limits,
        );
      },
    };
  }

  /** Calls `between` after each transaction of a build. */
  const watched = (between: () => Promise<void>): Database => ({
    ...engine.db,
    traits: engine.db.traits,
    write: async (ctx, work, limits) => {
      const done = await engine.db.write(ctx, work, limits);
      await between();
      return done;
    },
  });

  test("whoever reads meanwhile sees the old graph or the new one, never half of it", async () => {
    const p = await project(engine.db);
    await store(before, p);
    const old = JSON.stringify(await seen());
    const states: string[] = [];
    const db = watched(async () => {
      const now = JSON.stringify(await seen());
      if (states.at(-1) !== now) states.push(now);
    });
    await graph(db).store({ ...inProject(p), log: silentLogger }, after, { owns: true });
    const fresh = JSON.stringify(await seen());
    // What nobody depends on any more goes after the moment in which the rest shows.
    const withReact = states.map((state) => state.replace('"react (external_dependency)",', ""));
    expect([...new Set(withReact)]).toEqual([old.replace('"react (external_dependency)",', ""), fresh]);
    expect(await leftovers()).toMatchObject({ builds: 0, marks: 0 });
    await isWhole();
  });

  test("killed at any moment it leaves the old graph or the new one, and the next build takes away what it left", async () => {
    const p = await project(engine.db);
    await store(before, p);
    const old = await seen();
    await store(after, p);
    const fresh = await seen();
    for (let at = 1; ; at++) {
      await store(before, p);
      expect(await seen()).toEqual(old);
      const run = graph(refusing(at, true)).store({ ...inProject(p), log: silentLogger }, after, { owns: true });
      const isThrough = await run.then(
        () => true,
        () => false,
      );
      if (isThrough) break;
      const now = await seen();
      if (now.contents.includes("function `issue` in src/auth/tokens.ts:3-5\nissue()")) expect(now.edges).toEqual(fresh.edges);
      else expect(now).toEqual(old);
      await store(after, p);
      expect(await seen()).toEqual(fresh);
      expect(await leftovers()).toMatchObject({ builds: 0, marks: 0 });
    }
    await isWhole();
  });

  test("what a killed build has left is taken away by the next cycle too, while one that runs is left alone", async () => {
    const p = await project(engine.db);
    const builds = createBuilds(engine.db);
    const end = () => builds.endAbandoned(testScope({ scope: { kind: "everything" } }), createPace(createCalls()));
    const killed = graph(refusing(6, true)).store({ ...inProject(p), log: silentLogger }, before, { owns: true });
    expect(await killed.catch((error: Error) => error.message)).toMatch(/killed|refuses/);
    expect(await leftovers()).toMatchObject({ builds: 1 });
    expect(await end()).toBe(1);
    expect(await leftovers()).toEqual({ builds: 0, marks: 0, entities: 0, tombstones: 0 });
    let found = 0;
    const db = watched(async () => {
      found += await end();
    });
    await graph(db).store({ ...inProject(p), log: silentLogger }, before, { owns: true });
    expect(found).toBe(0);
    expect(await contents()).toHaveLength(3);
  });

  test("what somebody writes about code that is not shown yet is theirs, and part of it afterwards", async () => {
    const p = await project(engine.db);
    const call = graphOver(engine.db).caller({ kind: "project", id: p });
    let isTold = false;
    const db = watched(async () => {
      const { rows: marked } = await engine.db.asOwner((connection) =>
        connection.query("select 1 as one from brain_code_pending where kind = 1"),
      );
      if (marked.length === 0 || isTold) return;
      isTold = true;
      await call("cuba_cronica", { action: "add", entity_name: "src/app.ts::main", content: "main must stay short" });
      await call("cuba_cronica", { action: "add", entity_name: "src/auth/session.ts::renewToken", content: "never twice a second" });
      await call("cuba_puente", {
        action: "create",
        from_entity: "src/app.ts::main",
        to_entity: "src/auth/session.ts::renewToken",
        relation_type: "uses",
      });
    });
    await graph(db).store({ ...inProject(p), log: silentLogger }, before, { owns: true });
    expect(isTold).toBe(true);
    expect(await contents()).toContain("main must stay short");
    expect(await contents()).toContain("function `main` in src/app.ts:1-3\nmain()");
    expect(await entities()).toContain("src/app.ts::main (code_symbol)");
    expect(await edges()).toContain("src/app.ts::main uses src/auth/session.ts::renewToken 1 extracted");
    expect(await leftovers()).toMatchObject({ builds: 0, marks: 0 });
    await isWhole();
  });

  /** Does something once, when a build has written rows of this kind (1 relation, 2 observation) that nobody sees. */
  const whileOpen = async (p: string, kind: number, work: () => Promise<void>) => {
    let isDone = false;
    const db = watched(async () => {
      const { rows: marked } = await engine.db.asOwner((owner) =>
        owner.query("select 1 as one from brain_code_pending where kind = $1::smallint", [String(kind)]),
      );
      if (marked.length === 0 || isDone) return;
      isDone = true;
      await work();
    });
    await graph(db).store({ ...inProject(p), log: silentLogger }, before, { owns: true });
    expect(isDone).toBe(true);
    expect(await leftovers()).toMatchObject({ builds: 0, marks: 0 });
    // The index of words holds no row that is gone, and counts those that are there.
    const { rows: words } = await engine.db.asOwner((owner) =>
      owner.query(`
        with row as (select id from brain_entities union all select id from brain_observations)
        select (select count(*) from brain_postings as p where not exists (select from row where id = p.row_id))::int as orphans,
               (select count(*) from row)::int - (select sum(row_count) from brain_posting_totals)::int as miscounted`),
    );
    expect(words).toEqual([{ orphans: 0, miscounted: 0 }]);
    await isWhole();
  };

  test.each(["forget what is seen", "forget what is not", "delete"])(
    "what is gone while a build is open does not come back with it, nor its words: %s",
    async (way) => {
      for (const kind of [1, 2]) {
        await engine.db.reset();
        const p = await project(engine.db);
        const call = graphOver(engine.db).caller({ kind: "project", id: p });
        const name = "src/app.ts::main";
        if (way !== "forget what is not") await call("cuba_cronica", { action: "add", entity_name: name, content: "main must stay short" });
        await whileOpen(p, kind, async () => {
          if (way === "delete") await call("cuba_alma", { action: "delete", name, confirm: true });
          else expect(await call("cuba_forget", { entity_name: name, confirm: true })).toMatchObject({ entity_deleted: true });
        });
        expect(await entities()).not.toContain(`${name} (code_symbol)`);
        expect((await contents()).filter((content) => String(content).includes("main"))).toEqual([]);
        expect(await edges()).toEqual(["src/app.ts::<module> depends_on react 1 extracted"]);
        expect(await contents()).toHaveLength(2);
      }
    },
  );

  test("a name that a build holds is refused as one, and a name that it knows can change with what hangs from it", async () => {
    const p = await project(engine.db);
    const { caller, refusal } = graphOver(engine.db);
    const call = caller({ kind: "project", id: p });
    await call("cuba_cronica", { action: "add", entity_name: "mine", content: "a thing of mine" });
    await call("cuba_cronica", { action: "add", entity_name: "src/app.ts::main", content: "main must stay short" });
    const rename = (name: string, new_name: string) => call("cuba_alma", { action: "update", name, new_name });
    await whileOpen(p, 2, async () => {
      const refused = await refusal(rename("mine", "src/auth/session.ts::Session"));
      expect(refused).toMatchObject({ code: "busy", field: "new_name" });
      expect(refused.message).toStartWith("A run of 'memory-industry codegraph build' writes an entity 'src/auth/session.ts::Session'");
      await rename("src/app.ts::main", "entry");
    });
    expect(await entities()).toEqual(
      expect.arrayContaining(["entry (concept)", "mine (concept)", "src/auth/session.ts::Session (code_symbol)"]),
    );
    expect((await refusal(rename("mine", "src/auth/session.ts::Session"))).message).toContain("is taken by another entity of this project");
  });

  test("entities that are merged meanwhile take along what is not shown yet", async () => {
    const p = await project(engine.db);
    const call = graphOver(engine.db).caller({ kind: "project", id: p });
    await call("cuba_cronica", { action: "add", entity_name: "Entry", content: "the entry of the program" });
    await call("cuba_cronica", { action: "add", entity_name: "src/app.ts::main", content: "main must stay short" });
    const duplicates = createEntityDuplicates({ db: engine.db, queue: { poke: () => undefined }, paceOf: paceBehind(createCalls()) });
    const ctx = inProject(p);
    await whileOpen(p, 1, async () => {
      const { loser, winner } = await duplicates.named(ctx, { loser: "src/app.ts::main", winner: "Entry" });
      expect(await duplicates.fold(ctx, [{ loser: loser.id, winner: winner.id }])).toMatchObject({ skipped: [] });
    });
    const ofEntry = await rows(
      engine.db,
      sql`select o.content from brain_observations as o join brain_entities as e on e.id = o.entity_id where e.name = 'Entry' order by 1`,
    );
    expect(ofEntry.map(({ content }) => content)).toEqual([
      "function `main` in src/app.ts:1-3\nmain()",
      "main must stay short",
      "the entry of the program",
    ]);
    expect(await edges()).toContain("Entry uses src/auth/session.ts::renewToken 1 extracted");
  });

  test("a project whose code is being read is neither merged nor given rows, and nothing of either changes", async () => {
    const [p, free] = [await project(engine.db, "p"), await project(engine.db, "free")];
    const { projects, client } = processOver(engine.db);
    const context = await client().context();
    const call = graphOver(engine.db).caller({ kind: "none" });
    await call("cuba_cronica", { action: "add", entity_name: "homeless", content: "a thing without a project" });
    await whileOpen(p, 1, async () => {
      for (const [name, to] of [
        ["p", "free"],
        ["free", "p"],
      ] as const)
        await expect(projects.merge(context, name, to, true)).rejects.toThrow(/^A run of 'memory-industry codegraph build' writes rows/);
      await expect(projects.backfill(context, "p", true)).rejects.toThrow(/^A run of/);
      await projects.merge(context, "free", "other", true);
    });
    expect((await rows(engine.db, sql`select id from brain_projects where id = ${free}::uuid`)).length).toBe(0);
    await projects.merge(context, "p", "other", true);
    expect(await contents()).toHaveLength(4);
  });

  test("two builds of one project at once come one after the other", async () => {
    const p = await project(engine.db);
    const one = graph();
    const build = () => one.store({ ...inProject(p), log: silentLogger }, before, { owns: true });
    const [first, second] = await Promise.all([build(), build()]);
    expect([first.added, second.added]).toEqual([3, 0]);
    const lock = graph();
    let refused: unknown;
    const db = watched(async () => {
      refused ??= await lock.store({ ...inProject(p), log: silentLogger }, before, { owns: true }).catch((error: Error) => error.message);
    });
    await graph(db).store({ ...inProject(p), log: silentLogger }, before, { owns: true });
    expect(refused).toBe("Another process is reading code into this project. Nothing was written. Run the command again when it is done.");
    await isWhole();
  });

  test("a tree of which much has changed is cut in slices, with the same end", async () => {
    const p = await project(engine.db);
    const many = (line: number, names: number) =>
      treeOf(
        Object.fromEntries(Array.from({ length: names }, (_, at) => [`src/a.ts::f${at}`, ["function", line + at] as const])),
        Array.from({ length: names - 1 }, (_, at): [string, string] => [`src/a.ts::f${at}`, `src/a.ts::f${at + 1}`]),
      );
    await store(many(1, 300), p);
    expect(await store(many(5, 150), p)).toMatchObject({ added: 0, rewritten: 150, removed: 150 });
    expect([(await contents()).length, (await edges()).length, await factCount()]).toEqual([150, 149, 150]);
    expect(await contents()).toContain("function `f0` in src/a.ts:5-7\nf0()");
    await isWhole();
  });

  test("a run that fails in the middle leaves nothing behind", async () => {
    const p = await project(engine.db);
    await store(before, p);
    const whole = await seen();
    const moved = { ...after, symbols: after.symbols.map((symbol) => ({ ...symbol, firstLine: symbol.firstLine + 10 })) };
    const failing = graph(refusing(7));
    expect(failing.store({ ...inProject(p), log: silentLogger }, moved, { owns: true })).rejects.toThrow("refuses");
    expect(await seen()).toEqual(whole);
    expect(await leftovers()).toEqual({ builds: 0, marks: 0, entities: 6, tombstones: 0 });
  });
});
