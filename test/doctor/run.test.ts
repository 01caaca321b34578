import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import type { Finding, OutsideFacts, OwnerFacts } from "../../src/doctor/check.ts";
import { checks } from "../../src/doctor/registry.ts";
import { renderReport, summarise } from "../../src/doctor/report.ts";
import { diagnoseOutside, diagnoseOwner, inOrder } from "../../src/doctor/run.ts";
import type { Embedder, ModelState } from "../../src/inference/port.ts";
import { migrationStatus } from "../../src/store/migrate.ts";
import { migrations } from "../../src/store/migrations.ts";
import { eachEngine, type TestDatabase, testScope } from "../support/engines.ts";

const missing: ModelState = { state: "missing", reason: "No embedding model is installed: search runs on words alone." };

const embedder = (state: ModelState = missing, dimensions = 384): Embedder => ({
  label: "test@1",
  dimensions,
  status: () => state,
  warm: () => {},
  embed: () => Promise.reject(new Error("not in this test")),
  close: async () => {},
});

const noDatabase: OwnerFacts["database"] = { db: undefined, reason: "The database cannot be reached (ECONNREFUSED).", isNew: false };

const plan: OwnerFacts["plan"] = {
  level: "full",
  budgetMb: 3_732,
  committedMb: 3_320,
  readings: { availableMb: 7_160, cgroupLimitMb: 4_500, vramFreeMb: undefined },
  models: {
    embedder: { state: "runs", reason: "fits: 900 of 3512 MiB" },
    reranker: { state: "runs", reason: "fits: 1100 of 2612 MiB" },
    nli: { state: "runs", reason: "fits: 1100 of 1512 MiB" },
  },
  rerankerOnCard: false,
  card: undefined,
};
const answersNothing = { kind: "none", code: "load_failed", reason: "The model does not load: it is cut in half." } as const;
const reranker = (state: ModelState): OwnerFacts["reranker"] => ({
  status: () => state,
  warm: () => {},
  score: () => Promise.resolve(answersNothing),
  close: async () => {},
});
const entailment = (state: ModelState): OwnerFacts["entailment"] => ({
  status: () => state,
  warm: () => {},
  entail: () => Promise.resolve(answersNothing),
  close: async () => {},
});

const facts = (given: Partial<OwnerFacts> = {}): OwnerFacts => ({
  mode: { name: "local", description: "everything on this machine" },
  place: "embedded, /data/db",
  isEmbedded: true,
  configurationWarnings: [],
  machine: { totalMb: 8_000, availableMb: 4_000, cores: 2, openFiles: 1_024 },
  plan,
  reranker: reranker({ state: "missing", reason: "No reranker is installed." }),
  rerank: { byDefault: false, depth: 20 },
  entailment: entailment({ state: "missing", reason: "No entailment model is installed." }),
  goldenPairs: { reranker: undefined, nli: undefined },
  judge: { choice: undefined, chosen: [], problem: undefined, lying: [] },
  deepMs: 1_000,
  auditKey: { isSet: true },
  identifiesCallers: false,
  embedder: embedder(),
  goldenCosine: undefined,
  database: noDatabase,
  tables: ["brain_entities", "brain_observations"],
  deep: false,
  signal: new AbortController().signal,
  ...given,
});

const withDatabase = (db: TestDatabase, given: Partial<OwnerFacts> = {}): OwnerFacts =>
  facts({
    database: { db, migrations: () => db.asOwner((connection) => migrationStatus(connection, migrations)) },
    ...given,
  });

const named = (findings: readonly Finding[], name: string): Finding => {
  const found = findings.find((finding) => finding.name === name);
  if (found === undefined) throw new Error(`no finding ${name}`);
  return found;
};

const outside = (given: Partial<OutsideFacts> = {}): OutsideFacts => ({
  version: "1.2.3",
  httpAddress: "127.0.0.1:8787",
  probePort: async () => "free",
  owner: { kind: "none" },
  dataDirectory: "/data",
  processes: async () => [],
  hookFailures: () => [],
  exposedFiles: async () => [],
  ...given,
});

test("names are unique, and every check is one of ours", () => {
  expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
});

describe("without a database", () => {
  test("connection fails with the reason, everything that needs no database is still told", async () => {
    const findings = await diagnoseOwner(facts());
    expect(named(findings, "connection")).toMatchObject({ status: "fail", detail: "The database cannot be reached (ECONNREFUSED)." });
    expect(findings.map(({ name }) => name).sort()).toEqual(
      [
        "audit_chain",
        "configuration",
        "connection",
        "database_url",
        "generative_llm",
        "gpu",
        "machine",
        "mode",
        "nli_entailment",
        "onnx_model",
        "reranker",
        "resource_plan",
      ].sort(),
    );
  });
  test("few open files are a warning that says how many to allow", async () => {
    const found = named(await diagnoseOwner(facts({ machine: { ...facts().machine, openFiles: 200 } })), "machine");
    expect(found).toMatchObject({ status: "warn", hint: expect.stringContaining("at least 256") });
  });
  test("on a new machine that there is no database yet is no failure", async () => {
    const findings = await diagnoseOwner(facts({ database: { db: undefined, reason: "There is no database yet.", isNew: true } }));
    expect(named(findings, "connection").status).toBe("warn");
  });
  test("a missing model is a warning, a model that does not load a failure", async () => {
    expect(named(await diagnoseOwner(facts()), "onnx_model").status).toBe("warn");
    const broken = facts({ embedder: embedder({ state: "failed", model: "e5", reason: "the graph is cut off" }) });
    expect(named(await diagnoseOwner(broken), "onnx_model")).toMatchObject({
      status: "fail",
      detail: "e5 does not load: the graph is cut off",
    });
  });
  test("a golden vector is compared when the model is loaded or when asked to, never otherwise", async () => {
    let asked = 0;
    const goldenCosine = async () => {
      asked++;
      return 0.97;
    };
    const idle = embedder({ state: "idle", model: "e5" });
    expect(named(await diagnoseOwner(facts({ embedder: idle, goldenCosine })), "onnx_model").status).toBe("ok");
    expect(asked).toBe(0);
    expect(named(await diagnoseOwner(facts({ embedder: idle, goldenCosine, deep: true })), "onnx_model").status).toBe("fail");
  });
  test("variables that could not be used are named", async () => {
    const findings = await diagnoseOwner(facts({ configurationWarnings: ["CUBA_RANDOM_PAGE_COST=50 is not usable."] }));
    expect(named(findings, "configuration")).toMatchObject({ status: "warn", detail: "CUBA_RANDOM_PAGE_COST=50 is not usable." });
  });
});

eachEngine("a healthy database", (engine) => {
  test("has no failure", async () => {
    const findings = await diagnoseOwner(withDatabase(engine.db));
    expect(findings.filter(({ status }) => status === "fail")).toEqual([]);
    expect(findings.length).toBe(checks.filter(({ where }) => where !== "outside").length);
    expect(named(findings, "runtime_role").status).toBe("ok");
    expect(named(findings, "migrations").detail).toBe(`${migrations.length} applied, none pending`);
    expect(named(findings, "embedding_coverage").detail).toBe("nothing to embed yet");
  });

  test("a pending migration, a missing table and a foreign dimension fail, each with its remedy", async () => {
    const db = engine.db;
    const wrong = withDatabase(db, {
      tables: ["brain_entities", "brain_no_such_table"],
      embedder: embedder({ state: "ready", model: "bge-m3" }, 1024),
      database: {
        db,
        migrations: async () => [
          { name: "0001_a", state: "applied" },
          { name: "0099_new", state: "pending" },
        ],
      },
    });
    const findings = await diagnoseOwner(wrong);
    expect(named(findings, "migrations")).toMatchObject({
      status: "fail",
      detail: "1 applied, pending: 0099_new",
      hint: "memory-industry migrate",
    });
    expect(named(findings, "schema").detail).toBe("missing: brain_no_such_table");
    expect(named(findings, "embedding_dim")).toMatchObject({ status: "fail" });
    expect(named(findings, "embedding_dim").detail).toContain("brain_observations.embedding");
  });

  test("rows without the current model's vector, isolated entities and principals nobody is identified by are found", async () => {
    const db = engine.db;
    await db.reset();
    const insert = await db.write(testScope(), async (tx) => {
      await tx.run(sql`insert into brain_entities (name) values ('a'), ('b')`);
      return await tx.run(sql`insert into brain_observations (entity_id, content) select id, 'x' from brain_entities`);
    });
    expect(insert).toBe(2);
    await db.asOwner((connection) => connection.script("insert into brain_principals (name) values ('ana')"));
    const findings = await diagnoseOwner(withDatabase(db));
    expect(named(findings, "embedding_coverage")).toMatchObject({
      status: "warn",
      detail: "of 2 memories 2 have no vector, 0 another model's",
    });
    // Two entities say nothing about a graph; ten do.
    expect(named(findings, "graph_connectivity")).toMatchObject({ status: "ok", detail: "100 % of the entities have no relation" });
    await db.write(testScope(), (tx) => tx.run(sql`insert into brain_entities (name) select 'e' || n from generate_series(3, 10) as n`));
    expect(named(await diagnoseOwner(withDatabase(db)), "graph_connectivity").status).toBe("warn");
    expect(named(findings, "corpus").detail).toStartWith("2 entities, 2 observations, 0 relations");
    expect(named(findings, "rbac").status).toBe("fail");
    await db.reset();
  });

  test("a check that breaks is a finding of its own, and the others go on", async () => {
    const db = engine.db;
    const findings = await diagnoseOwner(withDatabase(db, { database: { db, migrations: () => Promise.reject(new Error("disk gone")) } }));
    expect(named(findings, "migrations")).toMatchObject({ status: "warn", detail: "could not be read: disk gone" });
    expect(named(findings, "corpus").status).toBe("ok");
  });

  test("it changes nothing", async () => {
    const db = engine.db;
    const rows = () =>
      db.asOwner(async (connection) => {
        const { rows: tables } = await connection.query(
          "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1",
        );
        const counts = [];
        for (const { name } of tables)
          counts.push(await connection.query(`select count(*) as n, '${String(name)}' as t from ${String(name)}`));
        return counts.map(({ rows: [row] }) => row);
      });
    const before = await rows();
    await diagnoseOwner(withDatabase(db, { deep: true }));
    expect(await rows()).toEqual(before);
  });
});

describe("from outside", () => {
  const one = async (name: string, given: Partial<OutsideFacts>) => named(await diagnoseOutside(outside(given)), name);
  test("the port says who has it", async () => {
    expect((await one("http_port", {})).status).toBe("ok");
    expect((await one("http_port", { probePort: async () => "ours" })).status).toBe("ok");
    expect((await one("http_port", { probePort: async () => "taken" })).status).toBe("warn");
  });
  test("the owner is named with process and version; a silent one fails", async () => {
    const running = { kind: "answers", pid: 7, version: "1.2.3", how: "auto", address: undefined } as const;
    expect(await one("owner", { owner: running })).toEqual({
      name: "owner",
      status: "ok",
      detail: "process 7, version 1.2.3, started by a client",
    });
    expect((await one("owner", { owner: { ...running, version: "1.0.0" } })).status).toBe("warn");
    expect((await one("owner", { owner: { kind: "silent", pid: 9, version: undefined } })).detail).toContain("process 9");
    expect((await one("owner", { owner: { kind: "silent", pid: 9, version: undefined } })).status).toBe("fail");
    expect((await one("owner", { owner: { kind: "dead", pid: 3 } })).status).toBe("ok");
  });
  test("processes of a replaced program and files that others can read are warned about", async () => {
    const processes = async () => [
      { pid: 4, program: "memory-industry", isStale: true },
      { pid: 5, program: "memory-industry", isStale: false },
    ];
    expect(await one("binary_freshness", { processes })).toMatchObject({
      status: "warn",
      detail: "still running a replaced program: 4 (memory-industry)",
    });
    expect(await one("session_hook", {})).toMatchObject({ status: "ok" });
    const failures = [{ at: "2026-01-01T00:00:00.000Z", reason: "Nothing was recalled within 3 seconds." }];
    expect(await one("session_hook", { hookFailures: () => failures })).toMatchObject({
      status: "warn",
      detail: "2026-01-01T00:00:00.000Z: Nothing was recalled within 3 seconds.",
    });
    expect(await one("secret_files", { exposedFiles: async () => ["/h/llm.env"] })).toMatchObject({
      status: "warn",
      hint: "chmod 600 /h/llm.env",
    });
  });
});

describe("the report", () => {
  const findings: Finding[] = [
    { name: "mode", status: "ok", detail: "local" },
    { name: "onnx_model", status: "warn", detail: "none", hint: "memory-industry models embed" },
    { name: "connection", status: "fail", detail: "refused" },
  ];
  test("is aligned for people, with a hint below and a summary at the end", () => {
    expect(renderReport(summarise(findings), "1.2.3").split("\n")).toEqual([
      "MemoryIndustry doctor — v1.2.3",
      "",
      "[  ok  ] mode                 local",
      "[ warn ] onnx_model           none",
      "                              → memory-industry models embed",
      "[ fail ] connection           refused",
      "",
      "3 checks: 1 ok, 1 warning, 1 failed. Degraded.",
    ]);
  });
  test("warnings alone are healthy for a program", () => {
    expect(summarise(findings.slice(0, 2))).toEqual({ healthy: true, failed: 0, warnings: 1, checks: findings.slice(0, 2) });
  });
  test("has the order of the registry", () => {
    expect(inOrder(findings).map(({ name }) => name)).toEqual(["mode", "connection", "onnx_model"]);
  });
});

describe("the memory plan and the models behind it", () => {
  const check = async (name: string, given: Partial<OwnerFacts>) => named(await diagnoseOwner(facts(given)), name);

  test("the plan is shown with its readings and reasons", async () => {
    expect(await check("resource_plan", {})).toEqual({
      name: "resource_plan",
      status: "ok",
      detail:
        "full: 3320 of 3732 MiB (available 7160, cgroup limit 4500 at the start); embedder runs (fits: 900 of 3512 MiB); reranker runs (fits: 1100 of 2612 MiB); entailment runs (fits: 1100 of 1512 MiB)",
    });
  });

  test("an embedder that does not fit is a warning that says what helps", async () => {
    const models = { ...plan.models, embedder: { state: "off", reason: "needs 242 MiB beside 220 of the program; 0 are there" } } as const;
    const found = await check("resource_plan", { plan: { ...plan, level: "minimal", models } });
    expect(found.status).toBe("warn");
    expect(found.detail).toContain("search is lexical");
    expect(found.hint).toContain("restart");
  });

  for (const name of ["reranker", "nli_entailment"] as const) {
    const given = (state: ModelState): Partial<OwnerFacts> =>
      name === "reranker" ? { reranker: reranker(state) } : { entailment: entailment(state) };
    test(`${name}: not installed and switched off by the plan are told apart`, async () => {
      expect(await check(name, given({ state: "missing", reason: "Nothing is installed." }))).toMatchObject({
        status: "warn",
        hint: expect.stringContaining("models"),
      });
      expect(await check(name, given({ state: "missing", reason: "It does not fit.", isDisabledByPlan: true }))).toMatchObject({
        status: "warn",
        hint: expect.stringContaining("restart"),
      });
    });
    test(`${name}: loaded, and the last question got no answer of it`, async () => {
      expect(await check(name, given({ state: "ready", model: "m", trouble: "It failed: not finite." }))).toMatchObject({
        status: "warn",
        detail: "m, loaded, but the last question got no answer: It failed: not finite.",
      });
      expect(await check(name, given({ state: "loading", model: "m" }))).toMatchObject({
        status: "ok",
        detail: expect.stringContaining("still loading"),
      });
    });
    test(`${name}: on disk is not tried without --deep, and with it a model that does not load is a failure with its reason`, async () => {
      expect(await check(name, given({ state: "idle", model: "m" }))).toMatchObject({
        status: "ok",
        detail: expect.stringContaining("on disk, not tried yet"),
      });
      expect(await check(name, { ...given({ state: "idle", model: "m" }), deep: true })).toMatchObject({
        status: "fail",
        detail: "m: The model does not load: it is cut in half.",
      });
      expect(await check(name, given({ state: "failed", model: "m", reason: "cut in half" }))).toMatchObject({
        status: "fail",
        detail: "m does not load: cut in half",
      });
    });
  }

  test("what is chosen and what merely lies there", async () => {
    const judge = { choice: undefined, chosen: [], problem: undefined, lying: ["claude on PATH", "OPENAI_API_KEY"] };
    expect(await check("generative_llm", { judge })).toMatchObject({
      status: "ok",
      detail: expect.stringContaining("never used: claude on PATH, OPENAI_API_KEY."),
    });
    expect(
      await check("generative_llm", { judge: { ...judge, choice: "claude_cli", chosen: ["claude_cli (m)"], lying: [] } }),
    ).toMatchObject({
      status: "ok",
      detail: "chosen, and its account pays: claude_cli (m).",
    });
    expect(await check("generative_llm", { judge: { ...judge, choice: "anthropic_api", problem: "No key." } })).toMatchObject({
      status: "warn",
    });
  });

  test("a program without libraries for a card says so, and measures nothing", async () => {
    expect(await check("gpu", {})).toMatchObject({ status: "ok", detail: expect.stringContaining("every model runs on the processor") });
    const onCard = { ...plan, readings: { ...plan.readings, vramFreeMb: 5_900 }, rerankerOnCard: true, card: { capMb: 5_388 } };
    expect(await check("gpu", { plan: onCard })).toMatchObject({
      status: "ok",
      detail: expect.stringContaining("reranker on the card, cap 5388 MiB"),
    });
    const fallen = reranker({ state: "ready", model: "m", displaced: "it runs on the processor: no CUDA" });
    expect(await check("gpu", { plan: onCard, reranker: fallen })).toMatchObject({
      status: "warn",
      detail: "it runs on the processor: no CUDA",
    });
    const half = { ...plan, readings: { ...plan.readings, hasCardLibrary: true } };
    expect(await check("gpu", { plan: half })).toMatchObject({ status: "warn", detail: expect.stringContaining("no card answers") });
  });
});
