import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { DIMENSIONS, testEmbedder } from "../support/embedder.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { noDatabase } from "../support/no-database.ts";
import { project, row, rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];
const names = (reply: Reply) => items(reply, "procedures").map((each) => each.name);

test("refuses a credential in any text of a recipe, and takes ordinary shell", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const add = (more: Reply) => refusal(caller()("cuba_receta", { action: "add", name: "login", steps: [{ do: "log in" }], ...more }));
  const token = "ghp_abcdefghijklmnop";
  for (const [field, more] of [
    ["steps[0].run", { steps: [{ do: "log in", run: `docker login -p ${token}` }] }],
    ["steps[0].do", { steps: JSON.stringify([{ do: token }]) }],
    ["name", { name: token }],
    ["trigger", { trigger: token }],
    ["preconditions", { preconditions: token }],
    ["verification", { verification: token }],
  ] as const) {
    const error = await add(more);
    expect(error.message).toStartWith(`refusing to write ${field}: what looks like a github token`);
    expect(error.message).not.toContain(token);
  }
  for (const run of ["export PGPASSWORD=$PGPASS", "docker compose up -d --wait", "echo 'ask for the password, never store the token'"])
    expect((await add({ steps: [{ do: "prepare", run }] })).code).toBe("unavailable");
});

test("refuses steps that are no steps and an outcome that is no boolean", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const add = async (steps: unknown) => (await refusal(caller()("cuba_receta", { action: "add", name: "x", steps }))).field;
  expect(await add([])).toBe("steps");
  expect(await add("do it")).toBe("steps");
  expect(await add(undefined)).toBe("steps");
  expect(await add(["do it"])).toBe("steps[0]");
  expect(await add([{ do: "a" }, { run: "b" }])).toBe("steps[1].do");
  expect(await add([{ do: " " }])).toBe("steps[0].do");
  expect(await add([{ do: "a", run: 5 }])).toBe("steps[0].run");
  expect(await add(Array.from({ length: 101 }, () => ({ do: "a" })))).toBe("steps");
  const outcome = async (success: unknown) => (await refusal(caller()("cuba_receta", { action: "outcome", name: "x", success }))).field;
  for (const success of ["yes", "true", 1, undefined]) expect(await outcome(success)).toBe("success");
});

eachEngine("cuba_receta", (engine) => {
  beforeEach(() => engine.db.reset());
  const graph = () => graphOver(engine.db);
  const caller = (id?: string) => graph().caller(id === undefined ? { kind: "none" } : { kind: "project", id });
  const add = (name: string, more: Reply = {}, id?: string) =>
    caller(id)("cuba_receta", { action: "add", name, steps: [{ do: "press the button" }], ...more });
  const outcome = (name: string, success: boolean, id?: string) => caller(id)("cuba_receta", { action: "outcome", name, success });
  const get = (name: string, id?: string) => caller(id)("cuba_receta", { action: "get", name });
  const search = (query: string, more: Reply = {}, id?: string) => caller(id)("cuba_receta", { action: "search", query, ...more });
  const record = (name: string, successes: number, failures: number) =>
    rows(
      engine.db,
      sql`update brain_procedures set success_count = ${successes}::int, failure_count = ${failures}::int where name = ${name}::text`,
    );

  test("stores a recipe and shows it with numbered steps, fenced commands and what to expect", async () => {
    const stored = await add("deploy api", {
      trigger: "shipping the api",
      preconditions: "tests are green",
      verification: "/health answers ok",
      steps: [
        { do: "build it", run: "bun run build\ncat ```notes```", expect: "dist/ is there" },
        { do: "restart", junk: 1 },
      ],
    });
    const recipe = {
      name: "deploy api",
      trigger: "shipping the api",
      preconditions: "tests are green",
      verification: "/health answers ok",
      successes: 0,
      failures: 0,
      reliability: 0,
      last_outcome: null,
      since_edit: { successes: 0, failures: 0 },
      steps: [{ do: "build it", run: "bun run build\ncat ```notes```", expect: "dist/ is there" }, { do: "restart" }],
    };
    expect(stored).toEqual({ action: "add", id: stored.id, ...recipe, created: true, warnings: [] });
    expect(await get(" deploy  api ")).toEqual({
      action: "get",
      id: stored.id,
      ...recipe,
      markdown: "1. build it\n   ````\n   bun run build\n   cat ```notes```\n   ````\n   → dist/ is there\n2. restart",
      warnings: [],
    });
  });

  test("reliability is the Wilson lower bound: 47 of 50 stands before 1 of 1, never run is last", async () => {
    for (const name of ["deploy a", "deploy b", "deploy c"]) await add(name);
    await record("deploy a", 1, 0);
    await record("deploy b", 47, 3);
    const reply = await search("deploy");
    expect(names(reply)).toEqual(["deploy b", "deploy a", "deploy c"]);
    expect(items(reply, "procedures").map((each) => each.reliability)).toEqual([0.8378, 0.2065, 0]);
  });

  test("an outcome counts once, says what to do after a failure, and leaves the date of the text alone", async () => {
    await add("deploy");
    await rows(engine.db, sql`update brain_procedures set updated_at = '2026-01-01'`);
    expect(await outcome("deploy", true)).toMatchObject({
      action: "outcome",
      successes: 1,
      failures: 0,
      last_outcome: "success",
      reliability: 0.2065,
    });
    const failed = await outcome("deploy", false);
    expect(failed).toMatchObject({ successes: 1, failures: 1, last_outcome: "failure", since_edit: { successes: 1, failures: 1 } });
    expect(String(failed.hint)).toContain("add the same name");
    expect(await outcome("deploy", true)).not.toHaveProperty("hint");
    const stored = await row(
      engine.db,
      sql`select updated_at = '2026-01-01' as same, last_used_at is not null as used from brain_procedures`,
    );
    expect(stored).toEqual({ same: true, used: true });
  });

  test("adding a known name edits it: same id, same record, and a fresh count once the steps are others", async () => {
    const first = await add("deploy", { trigger: "old" });
    await outcome("deploy", false);
    await rows(engine.db, sql`update brain_procedures set updated_at = '2026-01-01'`);
    const dated = async () => (await row(engine.db, sql`select updated_at = '2026-01-01' as same from brain_procedures`)).same;
    expect(await add("deploy", { trigger: "old" })).toMatchObject({ id: first.id, created: false, failures: 1 });
    expect(await dated()).toBe(true);
    expect(await add("deploy", { trigger: "new" })).toMatchObject({ trigger: "new", failures: 1, since_edit: { failures: 1 } });
    expect(await dated()).toBe(false);
    const edited = await add("deploy", { trigger: "new", steps: [{ do: "press the other button" }] });
    expect(edited).toMatchObject({ id: first.id, failures: 1, since_edit: { successes: 0, failures: 0 } });
    expect(await outcome("deploy", true)).toMatchObject({ successes: 1, failures: 1, since_edit: { successes: 1, failures: 0 } });
    expect((await row(engine.db, sql`select count(*)::int as n from brain_procedures`)).n).toBe(1);
  });

  test("a name means one project's recipe; without a project an error says where it is, and nothing is touched", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    await add("deploy", {}, a);
    await add("deploy", {}, b);
    const { refusal } = graph();
    for (const work of [
      () => get("deploy"),
      () => outcome("deploy", true),
      () => caller()("cuba_receta", { action: "delete", name: "deploy" }),
    ]) {
      const error = await refusal(work());
      expect(error.code).toBe("not_found");
      expect(error.message).toContain("exists in A, B");
    }
    expect(await rows(engine.db, sql`select success_count + failure_count as n from brain_procedures`)).toEqual([{ n: 0 }, { n: 0 }]);
    await outcome("deploy", true, a);
    expect(await get("deploy", b)).toMatchObject({ successes: 0, project: "B" });
    await add("only here", {}, a);
    const hidden = await refusal(get("only here", b));
    expect(hidden.message).not.toContain("exists in");
    await add("deploy");
    expect(await get("deploy")).not.toHaveProperty("project");
    expect(await caller(a)("cuba_receta", { action: "list" })).toMatchObject({ count: 2 });
    expect(names(await search("deploy", {}, b))).toEqual(["deploy"]);
    expect(await search("deploy")).toMatchObject({ count: 3 });
  });

  test("deleting says so, leaves a tombstone, and is an error the second time", async () => {
    const { id } = await add("deploy");
    expect(await caller()("cuba_receta", { action: "delete", name: "deploy" })).toEqual({
      action: "delete",
      name: "deploy",
      deleted: true,
      warnings: [],
    });
    expect(await rows(engine.db, sql`select row_id from brain_tombstones where table_name = 'brain_procedures'`)).toEqual([{ row_id: id }]);
    const error = await graph().refusal(caller()("cuba_receta", { action: "delete", name: "deploy" }));
    expect(error.message).toStartWith("Procedure 'deploy' not found");
  });

  test("two hundred reads change nothing", async () => {
    for (const name of ["deploy a", "deploy b"]) await add(name);
    await outcome("deploy b", true);
    const before = await row(engine.db, sql`select jsonb_agg(to_jsonb(p) order by name) as all from brain_procedures as p`);
    for (let n = 0; n < 67; n++) {
      await get("deploy a");
      await search("deploy");
      await caller()("cuba_receta", { action: "list" });
    }
    expect(await row(engine.db, sql`select jsonb_agg(to_jsonb(p) order by name) as all from brain_procedures as p`)).toEqual(before);
    expect(names(await search("deploy"))).toEqual(["deploy b", "deploy a"]);
  });

  test("a question finds the recipes it means, however reliable the others are, by words in any script or by spelling", async () => {
    await add("rotate database password", { trigger: "a credential leaked" });
    await add("publish package", { trigger: "a new version of the library is ready" });
    await add("发布新版本", { trigger: "需要把新版本部署到生产环境" });
    await record("publish package", 90, 0);
    expect(names(await search("how do I rotate the password of the database"))).toEqual(["rotate database password"]);
    expect(names(await search("rotat databse pasword"))).toEqual(["rotate database password"]);
    expect(names(await search("部署"))).toEqual(["发布新版本"]);
    expect(await search("bake a chocolate cake")).toEqual({
      action: "search",
      query: "bake a chocolate cake",
      count: 0,
      procedures: [],
      warnings: [],
    });
    expect(names(await search("%"))).toEqual([]);
  });

  test("with a model the vector follows name and trigger, and finds a recipe that shares no word with the question", async () => {
    const embedder = testEmbedder("ready");
    const near = (text: string) => /ship|deploy/.test(text);
    embedder.embed = async (texts) =>
      texts.map((text) => {
        embedder.asked.push(text);
        const vector = new Float32Array(DIMENSIONS);
        vector[near(text) ? 0 : 1] = 1;
        return vector;
      });
    const { caller: by, queue } = graphOver(engine.db, { embedder });
    const call = by();
    await call("cuba_receta", { action: "add", name: "deploy api", trigger: "to production", steps: [{ do: "press" }] });
    await call("cuba_receta", { action: "add", name: "water plants", trigger: "on monday", steps: [{ do: "pour" }] });
    expect(await queue.drain(10_000)).toBe(0);
    expect(embedder.asked).toContain("deploy api. to production");
    expect(names(await call("cuba_receta", { action: "search", query: "ship it" }))).toEqual(["deploy api"]);
    await call("cuba_receta", { action: "add", name: "water plants", trigger: "before we ship", steps: [{ do: "pour" }] });
    expect(await queue.drain(10_000)).toBe(0);
    expect(names(await call("cuba_receta", { action: "search", query: "ship it" }))).toEqual(["deploy api", "water plants"]);
    await call("cuba_receta", { action: "add", name: "water plants", trigger: "before we ship", steps: [{ do: "pour slowly" }] });
    expect((await row(engine.db, sql`select count(*)::int as n from brain_procedures where embedding is null`)).n).toBe(0);
    embedder.embed = () => Promise.reject(new Error("the model died"));
    const lost = await call("cuba_receta", { action: "search", query: "deploy" });
    expect(lost).toMatchObject({ degraded: true, count: 1 });
    await queue.stop();
  });

  test("lists what was used last first, then by name, and reads on", async () => {
    for (const name of ["c", "a", "b", "d"]) await add(name);
    await outcome("d", true);
    await outcome("b", false);
    expect(names(await caller()("cuba_receta", { action: "list" }))).toEqual(["b", "d", "a", "c"]);
    const first = await caller()("cuba_receta", { action: "list", limit: 3 });
    expect(first).toMatchObject({ count: 3, truncated: true, total: 4, next: { offset: 3 } });
    expect(names(await caller()("cuba_receta", { action: "list", limit: 3, offset: 3 }))).toEqual(["c"]);
    for (let n = 0; n < 30; n++) await add(`deploy ${n}`);
    expect(await search("deploy")).toMatchObject({ count: 5, truncated: true, total: 20, next: { offset: 5 } });
    expect(await search("deploy", { limit: 99 })).toMatchObject({ count: 25 });
    expect(await search("deploy", { limit: 0 })).toMatchObject({ count: 1 });
  });

  test(
    "no answer is above 10,000 tokens, and a long recipe can be read step by step",
    async () => {
      const steps = Array.from({ length: 100 }, (_, n) => ({ do: `手順 ${n}`, run: "界隈で実行する".repeat(80), expect: "結果" }));
      const long = { steps, trigger: "界".repeat(1_000), preconditions: "前".repeat(2_000), verification: "確".repeat(2_000) };
      const count = await tokenCounter();
      for (const name of ["deploy a", "deploy b", "deploy c"]) expect(count(JSON.stringify(await add(name, long)))).toBeLessThan(10_000);
      for (const work of [() => search("deploy"), () => caller()("cuba_receta", { action: "list" }), () => outcome("deploy a", false)]) {
        const reply = await work();
        expect(count(JSON.stringify(reply))).toBeLessThan(10_000);
      }
      const read: unknown[] = [];
      for (let offset = 0; offset < 100; ) {
        const reply = await caller()("cuba_receta", { action: "get", name: "deploy a", offset });
        expect(count(JSON.stringify(reply))).toBeLessThan(10_000);
        expect(String(reply.markdown)).toStartWith(`${offset + 1}. 手順 ${offset}\n`);
        read.push(...items(reply, "steps"));
        offset = reply.truncated === true ? Number((reply.next as Reply).offset) : 100;
      }
      expect(read).toEqual(steps);
    },
    SLOW_MS,
  );
});
