import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { newId } from "../../src/kernel/ids.ts";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { similarOpen } from "../../src/store/queries/errors.ts";
import { eachEngine, testScope } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { noDatabase } from "../support/no-database.ts";
import { project, row, rows, rowsIn } from "../support/statements.ts";

const SLOW_MS = 60_000;

const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];
const refused = { error_type: "Error", error_message: "Error: connect ECONNREFUSED 127.0.0.1:5432" };

test("a credential is refused before the database, by field and kind, and is not repeated", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const call = caller();
  const token = "ghp_abcdefghijklmnop";
  for (const [name, args, field, label] of [
    ["cuba_alarma", { error_type: "E", error_message: `push failed with ${token}` }, "error_message", "github token"],
    ["cuba_alarma", { error_type: "E", error_message: "m", context: { header: `Bearer ${token}` } }, "context.header", "github token"],
    ["cuba_alarma", { error_type: "E", error_message: "m", context: `{"header":"${token}"}` }, "context.header", "github token"],
    ["cuba_alarma", { error_type: token, error_message: "m" }, "error_type", "github token"],
    ["cuba_alarma", { error_type: "E", error_message: "m", project: token }, "project", "github token"],
    ["cuba_remedio", { error_id: "not a uuid", solution: `GITHUB_TOKEN=${token}` }, "solution", "token field"],
  ] as const) {
    const error = await refusal(call(name, args));
    expect(error.code).toBe("refused");
    expect(error.message).toStartWith(`refusing to write ${field}: what looks like a ${label}`);
    expect(error.message).not.toContain(token);
    expect((await refusal(call(name, { ...args, allow_secret: true }))).code).not.toBe("refused");
  }
  const id = "00000000-0000-4000-8000-000000000001";
  const advice = "validate the password before saving it and rotate the session token after five failures";
  expect((await refusal(call("cuba_remedio", { error_id: id, solution: advice }))).code).toBe("unavailable");
  expect((await refusal(call("cuba_remedio", { error_id: "not a uuid", solution: "fine" }))).field).toBe("error_id");
  expect((await refusal(call("cuba_expediente", { query: "" }))).field).toBe("query");
  expect((await refusal(call("cuba_alarma", { error_type: "E", error_message: "m", context: { stack: "x".repeat(65_536) } }))).field).toBe(
    "context",
  );
});

eachEngine("error memory", (engine) => {
  beforeEach(() => engine.db.reset());
  const graph = () => graphOver(engine.db);
  const caller = (id?: string) => graph().caller(id === undefined ? { kind: "none" } : { kind: "project", id });
  const report = async (args: Reply, id?: string) => String((await caller(id)("cuba_alarma", args)).error_id);

  test("the fourth report of one trouble is a pattern: the three on file gain weight, the new one does not", async () => {
    const replies: Reply[] = [];
    for (const port of [5432, 6379, 8080, 9000])
      replies.push(await caller()("cuba_alarma", { error_type: "Error", error_message: `Error: connect ECONNREFUSED 127.0.0.1:${port}` }));
    expect(replies.map((reply) => reply.similar_errors)).toEqual([0, 1, 2, 3]);
    expect(replies.map((reply) => "pattern_warning" in reply)).toEqual([false, false, false, true]);
    expect(String(replies[3]?.pattern_warning)).toContain("3 similar errors");
    const weights = await rows(engine.db, sql`select synapse_weight as weight from brain_errors order by created_at, id`);
    expect(weights.map(({ weight }) => weight).sort()).toEqual([1, 1.1, 1.1, 1.1]);
    expect(replies[0]).toMatchObject({ error_type: "Error", project: "default", warnings: [] });
  });

  test("weight stops at five, and other labels, withheld rows and other projects do not count", async () => {
    const a = await project(engine.db, "A");
    for (const label of ["x", "x", "x"]) await report({ ...refused, project: label });
    await rows(engine.db, sql`update brain_errors set synapse_weight = 4.95`);
    expect(await caller()("cuba_alarma", { ...refused, project: "x" })).toMatchObject({ similar_errors: 3 });
    expect((await rows(engine.db, sql`select distinct synapse_weight as w from brain_errors order by w`)).map(({ w }) => w)).toEqual([
      1, 5,
    ]);
    expect(await caller()("cuba_alarma", { ...refused, project: "y" })).toMatchObject({ similar_errors: 0 });
    expect(await caller(a)("cuba_alarma", { ...refused, project: "x" })).toMatchObject({ similar_errors: 0 });
    await rows(engine.db, sql`update brain_errors set trust = 'quarantined' where project = 'x'`);
    expect(await caller()("cuba_alarma", { ...refused, project: "x" })).toMatchObject({ similar_errors: 0 });
  });

  test("the label is the active project's name unless another is given, and the type may be left empty", async () => {
    const a = await project(engine.db, "payments");
    expect(await caller(a)("cuba_alarma", { ...refused, error_type: "" })).toMatchObject({ project: "payments", error_type: "Unknown" });
    expect(await caller(a)("cuba_alarma", { ...refused, project: "web" })).toMatchObject({ project: "web" });
    expect(await rows(engine.db, sql`select distinct project_id as p from brain_errors`)).toEqual([{ p: a }]);
  });

  test("keeps the first 5000 characters of a message and says so; an emoji at the cut stays whole", async () => {
    const reply = await caller()("cuba_alarma", { error_type: "E", error_message: `${"a".repeat(4_999)}🙂${"b".repeat(1_000)}` });
    expect(reply).toMatchObject({ truncated: true, kept_chars: 5_000 });
    const stored = await row(engine.db, sql`select char_length(error_message) as n, right(error_message, 1) as last from brain_errors`);
    expect(stored).toEqual({ n: 5_000, last: "🙂" });
    expect(await caller()("cuba_alarma", refused)).not.toHaveProperty("truncated");
  });

  test("a similar error that was solved brings its solution", async () => {
    const id = await report(refused);
    await caller()("cuba_remedio", { error_id: id, solution: "start the database first" });
    const again = await caller()("cuba_alarma", {
      ...refused,
      error_message: "Error: connect ECONNREFUSED 127.0.0.1:6379",
      project: "other",
    });
    expect(again.known_solutions).toEqual([
      { id, error_message: refused.error_message, solution: "start the database first", similarity: 0.7561 },
    ]);
  });

  test("fires reminders by type and by what the message holds, and nothing else", async () => {
    await rows(
      engine.db,
      sql`insert into brain_triggers (entity_pattern, condition_type, message, created_at)
        select p, c, m, now() - n * interval '1 minute' from (values
          (1, 'TypeError', 'on_error_match', 'by type'), (2, 'lock timeout', 'on_error_match', 'by words'), (3, 'due', 'on_error_match', 'too short'),
          (4, 'deadlock', 'on_error_match', 'other'), (5, 'TypeError', 'on_access', 'other condition')) as v(n, p, c, m)`,
    );
    const reply = await caller()("cuba_alarma", {
      error_type: "TypeError",
      error_message: "canceling statement due to lock timeout during migration",
    });
    expect(items(reply, "triggered_reminders").map(({ message, deactivated }) => [message, deactivated])).toEqual([
      ["by words", true],
      ["by type", true],
    ]);
    expect(await caller()("cuba_alarma", { error_type: "TypeError", error_message: "x is undefined" })).not.toHaveProperty(
      "triggered_reminders",
    );
  });

  test("a solution resolves, lists what is like it and still open, and is found by a word of its own", async () => {
    const id = await report(refused);
    const twin = await report({ ...refused, error_message: "Error: connect ECONNREFUSED 127.0.0.1:6379" });
    const third = await report({ ...refused, error_message: "Error: connect ECONNREFUSED 127.0.0.1:6380" });
    const reply = await caller()("cuba_remedio", { error_id: id.toUpperCase(), solution: "widen the firewall aperture" });
    expect(reply).toMatchObject({ error_id: id, resolved: true, solution: "widen the firewall aperture", similar_count: 2 });
    expect(
      items(reply, "similar_unresolved")
        .map((each) => each.id)
        .sort(),
    ).toEqual([twin, third].sort());
    expect(items(reply, "similar_unresolved")[0]).toMatchObject({ similarity: 0.7561 });
    expect(reply).not.toHaveProperty("replaced");
    const stored = await row(engine.db, sql`select resolved, resolved_at is not null as stamped from brain_errors where id = ${id}::uuid`);
    expect(stored).toEqual({ resolved: true, stamped: true });
    const found = await caller()("cuba_expediente", { query: "aperture", resolved_only: true });
    expect(items(found, "results").map((each) => each.id)).toEqual([id]);
  });

  test("a second solution keeps the first in the error's context, at most twenty of them", async () => {
    const id = await report({ ...refused, context: { file: "a.ts", solution_history: "not a list" } });
    for (let n = 0; n <= 22; n++) {
      const reply = await caller()("cuba_remedio", { error_id: id, solution: `solution ${n}` });
      expect(reply.replaced).toBe(n === 0 ? undefined : true);
    }
    await caller()("cuba_remedio", { error_id: id, solution: "solution 22" });
    const { context, solution } = await row(engine.db, sql`select context, solution from brain_errors`);
    expect(solution).toBe("solution 22");
    expect(context).toMatchObject({ file: "a.ts" });
    const kept = items(context as Reply, "solution_history");
    expect(kept.map((entry) => entry.solution)).toEqual(Array.from({ length: 20 }, (_, n) => `solution ${n + 2}`));
    expect(kept.every((entry) => typeof entry.resolved_at === "string")).toBe(true);
  });

  test("an error of another project is not found by any of the three tools", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    const id = await report(refused, a);
    await report(refused);
    const { refusal } = graph();
    const error = await refusal(caller(b)("cuba_remedio", { error_id: id, solution: "s" }));
    expect(error.message).toStartWith(`Error '${id}' not found`);
    expect(await row(engine.db, sql`select resolved from brain_errors where id = ${id}::uuid`)).toEqual({ resolved: false });
    expect(await caller(b)("cuba_expediente", { query: "ECONNREFUSED", proposed_action: refused.error_message })).toEqual({
      query: "ECONNREFUSED",
      count: 0,
      results: [],
      warnings: [],
    });
    expect(items(await caller(a)("cuba_expediente", { query: "ECONNREFUSED" }), "results").map((each) => each.id)).toEqual([id]);
    expect(await caller()("cuba_expediente", { query: "ECONNREFUSED" })).toMatchObject({ count: 2 });
  });

  test("finds by one word of many, by a misspelt message, and nothing for a question without words", async () => {
    const one = await report({ error_type: "PoolError", error_message: "connection pool exhausted after 30 seconds", project: "api" });
    const two = await report({ error_type: "TypeError", error_message: "cannot read properties of undefined" });
    const ids = async (args: Reply) => items(await caller()("cuba_expediente", args), "results").map((each) => each.id);
    expect(await ids({ query: "what did we do about the exhausted thing in the gateway last winter" })).toEqual([one]);
    expect(await ids({ query: "conection poool exausted afterr 30 secnds" })).toEqual([one]);
    expect(await ids({ query: "PoolError" })).toEqual([one, two]);
    for (const query of ["%", "?!", "   _  ", "the", "'); drop table brain_cats; --"]) expect(await ids({ query })).toEqual([]);
    expect(await ids({ query: "undefined exhausted", project: "api" })).toEqual([one]);
    expect((await ids({ query: "undefined exhausted" })).sort()).toEqual([one, two].sort());
  });

  test("resolved_only, withheld rows and promotion", async () => {
    const open = await report({ error_type: "E", error_message: "the queue worker stalls on empty batches" });
    const solved = await report({ error_type: "E", error_message: "the queue worker stalls on huge batches" });
    await caller()("cuba_remedio", { error_id: solved, solution: "split them" });
    const found = async (args: Reply = {}) =>
      items(await caller()("cuba_expediente", { query: "queue worker stalls", ...args }), "results")
        .map((each) => each.id)
        .sort();
    expect(await found({ resolved_only: true })).toEqual([solved]);
    expect(await found()).toEqual([open, solved].sort());
    await rows(engine.db, sql`update brain_errors set trust = 'quarantined' where id = ${open}::uuid`);
    expect(await found()).toEqual([solved]);
    expect(
      await caller()("cuba_expediente", { query: "x", proposed_action: "the queue worker stalls on empty batches" }),
    ).not.toHaveProperty("anti_repetition_warning");
    await rows(engine.db, sql`update brain_errors set trust = 'trusted' where id = ${open}::uuid`);
    expect(await found()).toEqual([open, solved].sort());
  });

  test("an error that keeps coming back stands before its equal; resolved stands before open", async () => {
    const first = await report({ error_type: "E", error_message: "disk quota exceeded on volume xa", project: "p" });
    const second = await report({ error_type: "E", error_message: "disk quota exceeded on volume xb", project: "p" });
    const order = async () => items(await caller()("cuba_expediente", { query: "disk quota exceeded" }), "results").map((each) => each.id);
    await rows(engine.db, sql`update brain_errors set synapse_weight = 2 where id = ${first}::uuid`);
    expect(await order()).toEqual([first, second]);
    await rows(engine.db, sql`update brain_errors set synapse_weight = case when id = ${second}::uuid then 2 else 0 end`);
    expect(await order()).toEqual([second, first]);
    await rows(engine.db, sql`update brain_errors set synapse_weight = 1, created_at = now(), resolved = (id = ${first}::uuid)`);
    expect(await order()).toEqual([first, second]);
  });

  test("a plan that is nearly a message on file warns; once solved it shows the solution in place of the warning", async () => {
    const plan = "retry the migration with a longer lock timeout";
    const id = await report({ error_type: "E", error_message: "retrying the migration with a longer lock timeout failed" });
    const other = await report({
      error_type: "E",
      error_message: "something else entirely",
      context: { attempted: "Retry the migration, with a longer lock timeout" },
    });
    const first = await caller()("cuba_expediente", { query: "migration", proposed_action: plan });
    expect(String(first.anti_repetition_warning)).toContain("2 unresolved errors");
    expect(items(first, "anti_repetition").map((each) => each.id)).toEqual([other, id]);
    await caller()("cuba_remedio", { error_id: other, solution: "run it in the maintenance window" });
    await caller()("cuba_remedio", { error_id: id, solution: "see the other one" });
    const then = await caller()("cuba_expediente", { query: "migration", proposed_action: plan });
    expect(then).not.toHaveProperty("anti_repetition_warning");
    expect(items(then, "anti_repetition")[0]).toMatchObject({ id: other, resolved: true, solution: "run it in the maintenance window" });
    expect(await caller()("cuba_expediente", { query: "migration", proposed_action: "paint the bicycle shed green" })).not.toHaveProperty(
      "anti_repetition",
    );
    expect(await caller()("cuba_expediente", { query: "migration", proposed_action: plan, project: "elsewhere" })).not.toHaveProperty(
      "anti_repetition",
    );
    expect(
      items(await caller()("cuba_expediente", { query: "q", proposed_action: "run it in the maintenance window" }), "anti_repetition"),
    ).toMatchObject([{ id: other }]);
  });

  test("the warning counts every open resemblance and shows five", async () => {
    for (let n = 0; n < 7; n++) await report({ error_type: "E", error_message: "clear the whole cache before the deploy", context: { n } });
    const reply = await caller()("cuba_expediente", { query: "cache", proposed_action: "clear the whole cache before the deploy" });
    expect(String(reply.anti_repetition_warning)).toContain("7 unresolved errors");
    expect(items(reply, "anti_repetition")).toHaveLength(5);
    expect(reply.anti_repetition_total).toBe(7);
  });

  test("shows twenty rows of more and how to read on; the pages make up the whole", async () => {
    for (let n = 0; n < 25; n++) await report({ error_type: "E", error_message: `timeout while rendering page ${n}`, project: `l${n}` });
    const first = await caller()("cuba_expediente", { query: "rendering timeout" });
    expect(first).toMatchObject({ count: 20, truncated: true, total: 25, next: { offset: 20 } });
    const second = await caller()("cuba_expediente", { query: "rendering timeout", offset: 20 });
    expect(second).toMatchObject({ count: 5 });
    expect(second).not.toHaveProperty("truncated");
    expect(new Set([...items(first, "results"), ...items(second, "results")].map((each) => each.id)).size).toBe(25);
    expect(await caller()("cuba_expediente", { query: "rendering timeout", limit: 99 })).toMatchObject({ count: 25 });
    expect(await caller()("cuba_expediente", { query: "rendering timeout", limit: 0 })).toMatchObject({ count: 1 });
  });

  test(
    "no answer is above 10,000 tokens, however long the solutions are",
    async () => {
      const long = "界隈で失敗した".repeat(1_400);
      const count = await tokenCounter();
      for (let n = 0; n < 3; n++) {
        const id = await report({ error_type: "E", error_message: `the parser rejects the header of file ${n}` });
        const solved = await caller()("cuba_remedio", { error_id: id, solution: long });
        expect(count(JSON.stringify(solved))).toBeLessThan(10_000);
        expect(solved).toMatchObject({ solution_truncated: true, solution_chars: 9_800 });
      }
      const found = await caller()("cuba_expediente", {
        query: "parser header",
        proposed_action: "the parser rejects the header of file 1",
      });
      expect(count(JSON.stringify(found))).toBeLessThan(10_000);
      expect(found).toMatchObject({ truncated: true, total: 3 });
      const again = await caller()("cuba_alarma", { error_type: "E", error_message: "the parser rejects the header of file 9" });
      expect(items(again, "known_solutions")).toHaveLength(3);
      expect(count(JSON.stringify(again))).toBeLessThan(10_000);
    },
    SLOW_MS,
  );

  test(
    "a report looks similar messages up in the trigram index, not in the table",
    async () => {
      await engine.db.asOwner((connection) =>
        connection.script(`
          set session_replication_role = replica;
          insert into brain_errors (error_type, error_message) select 'E', 'job ' || left(md5(n::text), 9) || ' failed' from generate_series(1, 10000) as n;
          set session_replication_role = origin;
          analyze brain_errors;`),
      );
      // Counted by this connection, before and after in one transaction: a server's statistics arrive late, and those of other connections with them.
      const [before, after] = await engine.db.read(testScope(), async (tx) => {
        const scans = async () => {
          const [seen] = await rowsIn(
            tx,
            sql`select pg_stat_get_xact_numscans('idx_errors_trgm'::regclass)::int as index,
                       pg_stat_get_xact_numscans('brain_errors'::regclass)::int as sequential`,
          );
          return { index: Number(seen?.index), sequential: Number(seen?.sequential) };
        };
        const first = await scans();
        const like = {
          message: "connection reset by peer while reading",
          except: newId(),
          scope: { kind: "none" },
          leastSimilarity: 0.5,
        } as const;
        expect(await tx.all(similarOpen({ ...like, limit: 5 }))).toEqual([]);
        return [first, await scans()] as const;
      });
      expect(after).toEqual({ index: before.index + 1, sequential: before.sequential });
    },
    SLOW_MS,
  );
});
