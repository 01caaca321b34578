import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { callersOf, type Who } from "../support/clients.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { noDatabase } from "../support/no-database.ts";
import { processOver } from "../support/services.ts";
import { project, row, rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];
const contents = (reply: Reply) => items(reply, "entries").map((each) => each.content);

test("refuses credentials, empty and oversized notes, and times outside a second and a month", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const write = (more: Reply) => refusal(caller()("cuba_pizarra", { action: "write", content: "a note", ...more }));
  const token = "use ghp_abcdefghijklmnop";
  for (const field of ["content", "tag"]) {
    expect((await write({ [field]: token })).message).toStartWith(`refusing to write ${field}: what looks like a github token`);
    expect((await write({ [field]: token, allow_secret: true })).code).toBe("unavailable");
  }
  for (const content of ["", "  ", undefined, 5, "界".repeat(21_846), "a\0b"]) expect((await write({ content })).field).toBe("content");
  expect((await write({ content: "界".repeat(21_845) })).code).toBe("unavailable");
  for (const ttl_seconds of [0, -1, 1.5, 2_592_001, 2 ** 32 + 1, "60"]) expect((await write({ ttl_seconds })).field).toBe("ttl_seconds");
});

eachEngine("cuba_pizarra", (engine) => {
  beforeEach(() => engine.db.reset());

  const caller = callersOf(engine, "cursor");
  const write = (who: Who, content: string, more: Reply = {}) => caller(who)("cuba_pizarra", { action: "write", content, ...more });
  const read = (who: Who = {}, more: Reply = {}) => caller(who)("cuba_pizarra", { action: "read", ...more });
  const clear = (who: Who = {}, more: Reply = {}) => caller(who)("cuba_pizarra", { action: "clear", ...more });
  const open = async (client = "cursor") =>
    String(
      (
        await row(
          engine.db,
          sql`insert into brain_sessions (session_name, client_key) values ('w', ${`test/${client}`}::text) returning id`,
        )
      ).id,
    );

  test("writes, reads newest first, and says when a note expires", async () => {
    const session = await open();
    const made = await write({ session }, "first", { tag: "plan", ttl_seconds: 60 });
    expect(made).toMatchObject({ action: "write", session_id: session, tag: "plan", ttl_seconds: 60 });
    expect(await write({ session }, "second")).toMatchObject({ tag: null, ttl_seconds: 3_600 });
    const reply = await read({ session });
    expect(reply).toMatchObject({ action: "read", count: 2, session_id: session });
    expect(contents(reply)).toEqual(["second", "first"]);
    expect(items(reply, "entries")[1]).toMatchObject({ id: made.id, tag: "plan", expires_at: made.expires_at });
    const lives = await row(engine.db, sql`select extract(epoch from expires_at - created_at)::int as s from brain_wm where tag = 'plan'`);
    expect(lives.s).toBe(60);
    expect(contents(await read({ session }, { tag: "plan" }))).toEqual(["first"]);
    expect(contents(await read({ session }, { tag: "PLAN" }))).toEqual([]);
  });

  test("a note is its session's own: no other session, no client without one reads or clears it", async () => {
    const [mine, other] = [await open(), await open("zed")];
    await write({ session: mine }, "mine");
    await write({ client: "zed", session: other }, "other");
    await write({}, "without a session");
    await write({ client: "zed" }, "zed without a session");
    expect(contents(await read({ session: mine }))).toEqual(["mine"]);
    expect(contents(await read())).toEqual(["without a session"]);
    expect(contents(await read({ client: "zed" }))).toEqual(["zed without a session"]);
    expect(contents(await read({ client: "third" }))).toEqual([]);
    expect(await clear({ client: "third" })).toMatchObject({ deleted: 0 });
    expect(await clear({ client: "zed" })).toMatchObject({ deleted: 1 });
    expect(await clear({ session: mine })).toMatchObject({ deleted: 1, session_id: mine });
    expect(contents(await read({ client: "zed", session: other }))).toEqual(["other"]);
    expect(contents(await read())).toEqual(["without a session"]);
  });

  test("a client that cannot be recognised again writes nothing and sees nothing", async () => {
    const nobody = { client: "anonymous", bound: false };
    await rows(
      engine.db,
      sql`insert into brain_wm (client_key, content, expires_at) values ('test/anonymous', 'of another anonymous client', now() + interval '1 hour')`,
    );
    const error = await graphOver(engine.db).refusal(write(nobody, "lost"));
    expect(error.code).toBe("refused");
    expect(error.message).toContain("Mcp-Client-Id");
    expect(contents(await read(nobody))).toEqual([]);
    expect(await clear(nobody)).toMatchObject({ deleted: 0 });
    expect((await row(engine.db, sql`select count(*)::int as n from brain_wm`)).n).toBe(1);
  });

  test("what has expired is not there, is not counted as cleared, and goes with the next write", async () => {
    const session = await open();
    await write({ session }, "old");
    await write({ session }, "current");
    await rows(
      engine.db,
      sql`update brain_wm set created_at = now() - interval '2 s', expires_at = now() - interval '1 ms' where content = 'old'`,
    );
    expect(contents(await read({ session }))).toEqual(["current"]);
    expect(await read({ session })).toMatchObject({ count: 1 });
    await write({ session }, "newest");
    expect((await rows(engine.db, sql`select content from brain_wm order by created_at`)).map(({ content }) => content)).toEqual([
      "current",
      "newest",
    ]);
    await rows(
      engine.db,
      sql`update brain_wm set created_at = now() - interval '2 s', expires_at = now() - interval '1 ms' where content = 'current'`,
    );
    expect(await clear({ session })).toMatchObject({ deleted: 1 });
    expect((await row(engine.db, sql`select count(*)::int as n from brain_wm`)).n).toBe(0);
  });

  test("clearing a tag leaves the others", async () => {
    for (const [content, tag] of [
      ["a", "x"],
      ["b", "y"],
      ["c", undefined],
    ] as const)
      await write({}, content, tag === undefined ? {} : { tag });
    expect(await clear({}, { tag: "x" })).toEqual({ action: "clear", deleted: 1, tag: "x", session_id: null, warnings: [] });
    expect(contents(await read())).toEqual(["c", "b"]);
    expect(await clear()).toMatchObject({ deleted: 2, tag: null });
  });

  test("notes of one project are not read in another, and are cleared whatever the project", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    const session = await open();
    await write({ project: a, session }, "in A");
    await write({ session }, "in none");
    expect(contents(await read({ project: b, session }))).toEqual([]);
    expect(contents(await read({ project: a, session }))).toEqual(["in A"]);
    expect(contents(await read({ session }))).toEqual(["in none", "in A"]);
    expect(await clear({ project: b, session })).toMatchObject({ deleted: 2 });
  });

  test("ends with its session", async () => {
    const of = processOver(engine.db);
    const window = of.client();
    await of.sessions.start(await window.context(), { name: "w", goals: [], project: undefined });
    const { session } = await window.context();
    await write({ session: String(session?.id) }, "gone soon");
    await write({}, "stays");
    await of.sessions.end(await window.context(), { outcome: "success", summary: "", sessionId: undefined });
    expect((await rows(engine.db, sql`select content from brain_wm`)).map(({ content }) => content)).toEqual(["stays"]);
  });

  test("a board holds five hundred notes and says so", async () => {
    const session = await open();
    await rows(
      engine.db,
      sql`insert into brain_wm (session_id, content, expires_at) select ${session}::uuid, 'n', now() + interval '1 hour' from generate_series(1, 499)`,
    );
    await write({ session }, "the last");
    const error = await graphOver(engine.db).refusal(write({ session }, "one too many"));
    expect([error.code, error.message.includes("500 notes")]).toEqual(["conflict", true]);
    await write({}, "another board");
    await rows(
      engine.db,
      sql`update brain_wm set created_at = now() - interval '2 h', expires_at = now() - interval '1 h' where session_id is not null`,
    );
    await write({ session }, "room again");
  });

  test(
    "a hundred notes at once, below 10,000 tokens, and a long note can be read whole",
    async () => {
      for (let n = 0; n < 101; n++) await write({}, `note ${n}`);
      const first = await read();
      expect(first).toMatchObject({ count: 100, truncated: true, total: 101, next: { offset: 100 } });
      expect(contents(await read({}, { offset: 100 }))).toEqual(["note 0"]);
      const long = "界隈で決めた".repeat(3_600);
      await write({}, long);
      const cut = await read();
      expect((await tokenCounter())(JSON.stringify(cut))).toBeLessThan(10_000);
      expect(cut).toMatchObject({ count: 1, truncated: true, next: { offset: 0, limit: 1 } });
      expect(contents(await read({}, { limit: 1 }))).toEqual([long]);
    },
    SLOW_MS,
  );
});
