/** A source tree in the graph: what a first run makes, what a second one changes, and what people wrote survives. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { silentLogger } from "../../../src/kernel/logger.ts";
import type { SourceTree } from "../../../src/services/codegraph/read.ts";
import { createCodeGraph } from "../../../src/services/codegraph/store.ts";
import { createEntityDuplicates } from "../../../src/services/duplicates/entities.ts";
import { createFactMirror } from "../../../src/services/facts.ts";
import { createCalls, paceBehind } from "../../../src/services/pace.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { eachEngine, inProject, testScope } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { before, readersOf, treeOf } from "../../support/source-trees.ts";
import { project, row, rows } from "../../support/statements.ts";

eachEngine("a source tree in the graph", (engine) => {
  beforeEach(() => engine.db.reset());
  const poked: string[] = [];
  const graph = () =>
    createCodeGraph({
      db: engine.db,
      facts: createFactMirror({ enabled: true }),
      queue: { poke: () => void poked.push("poked") },
      paceOf: paceBehind(createCalls()),
    });
  const store = (tree: SourceTree, projectId: string, owns = true) =>
    graph().store({ ...inProject(projectId), log: silentLogger }, tree, { owns });
  const { entities, contents, edges } = readersOf(() => engine.db);
  const isWhole = async () => expect(await engine.db.asOwner(brokenInvariants)).toEqual([]);

  test("a symbol is an entity with one observation that says how it is known; calls and imports are edges", async () => {
    const p = await project(engine.db);
    expect(await store(before, p)).toEqual({ symbols: 3, added: 3, rewritten: 0, removed: 0, calls: 1, imports: 1 });
    expect(await entities()).toEqual([
      "react (external_dependency)",
      "src/app.ts::<module> (module)",
      "src/app.ts::main (code_symbol)",
      "src/auth/session.ts::<module> (module)",
      "src/auth/session.ts::Session (code_symbol)",
      "src/auth/session.ts::renewToken (code_symbol)",
    ]);
    const found = await row(engine.db, sql`select * from brain_observations where content like 'function \`renewToken%'`);
    expect(found).toMatchObject({
      content: "function `renewToken` in src/auth/session.ts:3-5\nrenewToken()",
      observation_type: "context",
      source: "agent",
      evidence: "observed",
      verification: "tree-sitter parse of src/auth/session.ts",
      trust: "trusted",
      project_id: p,
    });
    expect(await edges()).toEqual([
      "src/app.ts::<module> depends_on react 1 extracted",
      "src/app.ts::main uses src/auth/session.ts::renewToken 1 extracted",
    ]);
    expect((await rows(engine.db, sql`select 1 as one from brain_facts where valid_to is null`)).length).toBe(3);
    expect(poked).toEqual(["poked"]);
    await isWhole();
  });

  test("who waits hears how many of the tree's rows are stored, and never more than there are", async () => {
    const p = await project(engine.db);
    const heard: string[] = [];
    const onRows = (done: number, total: number) => void heard.push(`${done} of ${total}`);
    await graph().store({ ...inProject(p), log: silentLogger }, before, { owns: true, onRows });
    expect(heard).toEqual(["6 of 10", "9 of 10", "10 of 10", "10 of 10"]);
  });

  test("a second run changes nothing; a definition that moved is rewritten, not added", async () => {
    const p = await project(engine.db);
    await store(before, p);
    expect(await store(before, p)).toMatchObject({ added: 0, rewritten: 0, removed: 0 });
    const moved = {
      ...before,
      symbols: before.symbols.map((symbol) => ({ ...symbol, firstLine: symbol.firstLine + 10, lastLine: symbol.lastLine + 10 })),
    };
    expect(await store(moved, p)).toMatchObject({ added: 0, rewritten: 3, removed: 0 });
    expect(await contents()).toEqual([
      "class `Session` in src/auth/session.ts:19-21\nSession()",
      "function `main` in src/app.ts:11-13\nmain()",
      "function `renewToken` in src/auth/session.ts:13-15\nrenewToken()",
    ]);
    expect(await row(engine.db, sql`select count(*)::int as n from brain_facts where valid_to is null`)).toEqual({ n: 3 });
    await isWhole();
  });

  test("what a file no longer holds goes with its edges, and so does a file that is gone", async () => {
    const p = await project(engine.db);
    await store(before, p);
    const after = treeOf(
      { "src/auth/tokens.ts::refreshToken": ["function", 3], "src/app.ts::main": ["class", 1] },
      [],
      [["src/app.ts", "preact"]],
    );
    expect(await store(after, p)).toMatchObject({ added: 2, removed: 2 });
    expect(await entities()).toEqual([
      "preact (external_dependency)",
      "src/app.ts::<module> (module)",
      "src/app.ts::main (code_symbol)",
      "src/auth/tokens.ts::<module> (module)",
      "src/auth/tokens.ts::refreshToken (code_symbol)",
    ]);
    expect(await contents()).toEqual([
      "class `main` in src/app.ts:1-3\nmain()",
      "function `refreshToken` in src/auth/tokens.ts:3-5\nrefreshToken()",
    ]);
    expect(await edges()).toEqual(["src/app.ts::<module> depends_on preact 1 extracted"]);
    await isWhole();
  });

  test("what was not read stays: another language, another directory, a file that was passed over", async () => {
    const p = await project(engine.db);
    await store(
      treeOf({
        "src/a.ts::a": ["function", 1],
        "lib/b.ts::b": ["function", 1],
        "c.py::c": ["function", 1],
        "src/big.ts::big": ["function", 1],
      }),
      p,
    );
    const part = treeOf({ "src/new.ts::fresh": ["function", 1] });
    await store({ ...part, under: "src/", languages: ["typescript"], skipped: [["src/big.ts", "larger than 1000000 bytes"]] }, p);
    expect((await entities()).filter((name) => name.endsWith("(code_symbol)"))).toEqual([
      "c.py::c (code_symbol)",
      "lib/b.ts::b (code_symbol)",
      "src/big.ts::big (code_symbol)",
      "src/new.ts::fresh (code_symbol)",
    ]);
  });

  test("under a project that a tree is not named after, another tree is not taken away", async () => {
    const p = await project(engine.db);
    await store(treeOf({ "a.py::a": ["function", 1], "b.py::b": ["function", 1], "c.py::c": ["function", 1] }), p, false);
    await store(treeOf({ "z.py::z": ["function", 1] }), p, false);
    expect((await entities()).filter((name) => name.endsWith("(code_symbol)")).length).toBe(4);
    // Most of it is there again: it is the same tree, and what is missing is gone.
    await store(treeOf({ "a.py::a": ["function", 1], "b.py::b": ["function", 1], "z.py::z": ["function", 1] }), p, false);
    expect((await entities()).filter((name) => name.endsWith("(code_symbol)"))).toEqual([
      "a.py::a (code_symbol)",
      "b.py::b (code_symbol)",
      "z.py::z (code_symbol)",
    ]);
  });

  test("what people wrote about a symbol stays when it goes, and its entity is no code any more", async () => {
    const p = await project(engine.db);
    const call = graphOver(engine.db).caller({ kind: "project", id: p });
    await call("cuba_cronica", {
      action: "add",
      entity_name: "src/auth/session.ts::renewToken",
      content: "renewToken must never run twice within a second",
    });
    expect(await entities()).toEqual(["src/auth/session.ts::renewToken (concept)"]);
    await store(before, p);
    expect(await entities()).toContain("src/auth/session.ts::renewToken (code_symbol)");
    await store(treeOf({ "src/app.ts::main": ["function", 1] }), p);
    expect(await entities()).toEqual([
      "src/app.ts::<module> (module)",
      "src/app.ts::main (code_symbol)",
      "src/auth/session.ts::renewToken (concept)",
    ]);
    expect(await contents()).toContain("renewToken must never run twice within a second");
    await isWhole();
  });

  test("what a person calls by the name of a dependency is that dependency, and keeps its type", async () => {
    const p = await project(engine.db);
    const call = graphOver(engine.db).caller({ kind: "project", id: p });
    await call("cuba_alma", { action: "create", name: "react", entity_type: "technology" });
    await store(before, p);
    expect(await entities()).toContain("react (technology)");
    expect(await edges()).toContain("src/app.ts::<module> depends_on react 1 extracted");
  });

  test("two projects have a tree each, and neither run touches the other's", async () => {
    const [one, other] = [await project(engine.db), await project(engine.db)];
    await store(before, one);
    await store(before, other);
    await store(treeOf({ "src/app.ts::main": ["function", 1] }), one);
    const counted = await rows(
      engine.db,
      sql`select project_id, count(*)::int as n from brain_entities where entity_type = 'code_symbol' group by 1`,
    );
    expect(Object.fromEntries(counted.map(({ project_id, n }) => [String(project_id), n]))).toEqual({ [one]: 1, [other]: 3 });
  });

  test("two spellings of a name in code are two things to dedupe", async () => {
    const p = await project(engine.db);
    await store(treeOf({ "a.py::get_name": ["function", 1], "a.py::getName": ["function", 5] }), p);
    const paceOf = paceBehind(createCalls());
    const duplicates = createEntityDuplicates({ db: engine.db, queue: { poke: () => {} }, paceOf });
    const { exact, likely } = await duplicates.report(testScope({ scope: { kind: "everything" } }));
    expect([exact, likely]).toEqual([[], []]);
  });
});
