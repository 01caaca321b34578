import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { noDatabase } from "../support/no-database.ts";
import { project, row, rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];
const sha256 = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");

test("refuses bad paths, contents above 2 MiB, credentials, and an empty text to find", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const call = (more: Reply) => refusal(caller()("cuba_artefacto", { action: "put", path: "notes/plan.md", content: "x", ...more }));
  for (const path of ["", "a\0b", "界".repeat(171), undefined, 5]) expect((await call({ path })).field).toBe("path");
  expect((await call({ path: "界".repeat(170) })).code).toBe("unavailable");
  expect((await call({ content: "x".repeat(2_097_153) })).field).toBe("content");
  expect((await call({ content: "x".repeat(2_097_152) })).code).toBe("unavailable");
  expect((await call({ base_version: -1 })).field).toBe("base_version");
  const token = "use ghp_abcdefghijklmnop";
  expect((await call({ content: token })).message).toStartWith("refusing to write content: what looks like a github token");
  expect((await call({ content: token, allow_secret: true })).code).toBe("unavailable");
  const patch = (more: Reply) => call({ action: "patch", find: "a", replace: "b", ...more });
  expect((await patch({ replace: token })).message).toStartWith("refusing to write replace: what looks like a github token");
  expect((await patch({ find: "" })).field).toBe("find");
  expect(await caller()("cuba_artefacto", { action: "watch_hint" })).toEqual({
    action: "watch_hint",
    events_url: "/events",
    kinds: [
      "artifact.updated",
      "artifact.locked",
      "artifact.unlocked",
      "artifact.conflict",
      "peer.notice",
      "sync.import",
      "sync.fetch",
      "sync.conflict_resolved",
      "crdt.*",
    ],
    warnings: [],
  });
});

eachEngine("cuba_artefacto", (engine) => {
  const events: [string, Reply][] = [];
  beforeEach(async () => {
    events.length = 0;
    await engine.db.reset();
  });
  const over = () => graphOver(engine.db, { publish: (kind, payload) => void events.push([kind, payload as Reply]) });
  const as = (client: string, id?: string, bound = true) =>
    over().caller(id === undefined ? { kind: "none" } : { kind: "project", id }, { client, bound });
  const artifact = (more: Reply, call = as("ana")) => call("cuba_artefacto", { path: "notes/plan.md", ...more });
  const put = (content: string, base_version?: number, call = as("ana")) =>
    artifact({ action: "put", content, ...(base_version === undefined ? {} : { base_version }) }, call);
  const get = (call = as("ana"), more: Reply = {}) => artifact({ action: "get", ...more }, call);
  const refusal = (work: Promise<unknown>) => over().refusal(work);

  test("creates at version 1, goes on with the version that was edited, and gives the content back", async () => {
    const first = await put("one");
    expect(first).toMatchObject({ action: "put", path: "notes/plan.md", version: 1, content_hash: sha256("one") });
    expect(await put("two", 1)).toMatchObject({ id: first.id, version: 2, content_hash: sha256("two") });
    const back = await get();
    expect(back).toMatchObject({
      action: "get",
      id: first.id,
      content: "two",
      version: 2,
      content_hash: sha256("two"),
      locked_by: null,
      lock_until: null,
    });
    expect(back).not.toHaveProperty("truncated");
    const node = String((await row(engine.db, sql`select node_id from brain_node_identity`)).node_id);
    expect(back.origin_node).toBe(node);
    expect(await row(engine.db, sql`select crdt_actor, crdt_counter::int as counter from brain_artifacts`)).toEqual({
      crdt_actor: `${node}:ana`,
      counter: 2,
    });
    expect(events.map(([kind, { version, by }]) => [kind, version, by])).toEqual([
      ["artifact.updated", 1, "ana"],
      ["artifact.updated", 2, "ana"],
    ]);
    await put("", 2);
    expect(await get()).toMatchObject({ content: "", version: 3 });
  });

  test("a version that is not the current one is a conflict that names it, and changes nothing", async () => {
    await put("one");
    await put("two", 1);
    for (const base of [1, 0, 7]) {
      const error = await refusal(put("three", base));
      expect(error.code).toBe("conflict");
      expect(error.message).toContain(`at version 2, not ${base}`);
      expect(error.data).toEqual({ current_version: 2, current_hash: sha256("two") });
    }
    const blind = await refusal(put("three"));
    expect(blind.message).toContain("exists at version 2");
    expect(await get()).toMatchObject({ content: "two", version: 2 });
    expect(events.slice(2).map(([kind, { base_version, current_version }]) => [kind, base_version, current_version])).toEqual([
      ["artifact.conflict", 1, 2],
      ["artifact.conflict", 0, 2],
      ["artifact.conflict", 7, 2],
    ]);
    const absent = await refusal(artifact({ action: "put", path: "other.md", content: "x", base_version: 1 }));
    expect(absent.code).toBe("not_found");
    expect((await row(engine.db, sql`select count(*)::int as n from brain_artifacts`)).n).toBe(1);
  });

  test("of eight who create at once one does, and the others are told the version", async () => {
    const made = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => put(`by ${n}`, undefined, as(`client ${n}`))));
    expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const each of made) if (each.status === "rejected") expect(String(each.reason.message)).toContain("exists at version 1");
    expect(await row(engine.db, sql`select count(*)::int as n, max(version)::int as v from brain_artifacts`)).toEqual({ n: 1, v: 1 });
  });

  test("a lease keeps others from writing until it runs out; its holder writes, renews and releases it", async () => {
    await put("one");
    const lease = await artifact({ action: "lock", ttl_seconds: 30 });
    expect(lease).toMatchObject({ action: "lock", version: 1, locked_by: "ana", ttl_seconds: 30 });
    expect(await get(as("bea"))).toMatchObject({ locked_by: "ana", lock_until: lease.lock_until, content: "one" });
    for (const work of [
      () => put("two", 1, as("bea")),
      () => put("two", 1, as("ana::other window")),
      () => put("two", 1, as("ana", undefined, false)),
      () => artifact({ action: "patch", find: "one", replace: "two" }, as("bea")),
      () => artifact({ action: "lock" }, as("bea")),
      () => artifact({ action: "unlock" }, as("bea")),
    ]) {
      const error = await refusal(work());
      expect([error.code, error.message.includes("locked by ana")]).toEqual(["conflict", true]);
    }
    await put("two", 1);
    expect(await get()).toMatchObject({ version: 2, locked_by: "ana", lock_until: lease.lock_until });
    const renewed = await artifact({ action: "lock" });
    expect(renewed).toMatchObject({ ttl_seconds: 60 });
    await rows(engine.db, sql`update brain_artifacts set lock_until = now() - interval '1 ms'`);
    expect(await get()).toMatchObject({ locked_by: null, lock_until: null });
    expect(await put("three", 2, as("bea"))).toMatchObject({ version: 3 });
    expect(await artifact({ action: "lock" }, as("bea"))).toMatchObject({ locked_by: "bea" });
    expect(await artifact({ action: "unlock" }, as("bea"))).toEqual({ action: "unlock", path: "notes/plan.md", warnings: [] });
    expect(await get()).toMatchObject({ locked_by: null });
    expect(await artifact({ action: "unlock" })).toMatchObject({ action: "unlock" });
    expect(events.map(([kind]) => kind).filter((kind) => kind.includes("lock"))).toEqual([
      "artifact.locked",
      "artifact.locked",
      "artifact.locked",
      "artifact.unlocked",
      "artifact.unlocked",
    ]);
  });

  test("a lease is 5 to 3600 seconds, and nobody without an identity takes one", async () => {
    await put("one");
    expect(await artifact({ action: "lock", ttl_seconds: 1 })).toMatchObject({ ttl_seconds: 5 });
    expect(await artifact({ action: "lock", ttl_seconds: 99_999 })).toMatchObject({ ttl_seconds: 3_600 });
    expect(
      (await row(engine.db, sql`select extract(epoch from lock_until - now())::int between 3500 and 3600 as ok from brain_artifacts`)).ok,
    ).toBe(true);
    const error = await refusal(artifact({ action: "lock" }, as("anonymous", undefined, false)));
    expect([error.code, error.message.includes("Mcp-Client-Id")]).toEqual(["refused", true]);
    for (const action of ["lock", "unlock", "get"]) expect((await refusal(artifact({ action, path: "nowhere" }))).code).toBe("not_found");
    expect((await refusal(artifact({ action: "patch", path: "nowhere", find: "a", replace: "b" }))).code).toBe("not_found");
  });

  test("patch replaces the one place where the text stands, and refuses none or several", async () => {
    await put("aa aa and $& once");
    const several = await refusal(artifact({ action: "patch", find: "aa", replace: "b" }));
    expect([several.field, several.message.includes("2 occurrences")]).toEqual(["find", true]);
    const none = await refusal(artifact({ action: "patch", find: "nowhere", replace: "b" }));
    expect(none.message).toContain("0 occurrences");
    expect(await artifact({ action: "patch", find: "once", replace: "$& $1 twice" })).toMatchObject({ action: "patch", version: 2 });
    expect(await get()).toMatchObject({ content: "aa aa and $& $& $1 twice", version: 2 });
    await put("aaa", 2);
    expect((await refusal(artifact({ action: "patch", find: "aa", replace: "b" }))).message).toContain("2 occurrences");
    await put("x".repeat(2_097_150), 3);
    await put(`${"x".repeat(2_097_150)}y`, 4);
    expect((await refusal(artifact({ action: "patch", find: "y", replace: "yyy" }))).field).toBe("replace");
  });

  test("patches of different places at once are all stored, and none asks its caller for a version that a patch does not name", async () => {
    const places = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    await artifact({ action: "put", content: places.join(" ") });
    const answers = await Promise.all(
      places.map((find, at) => artifact({ action: "patch", find, replace: String(at + 1) }, as(`agent${at}`))),
    );
    expect(answers.map(({ version }) => version).sort()).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await artifact({ action: "get" })).toMatchObject({ content: "1 2 3 4 5 6 7 8", version: 9 });
  });

  test("a patch may not complete a credential, nor be stopped by one that was let in before", async () => {
    await put("token: ghp_abc HERE");
    const error = await refusal(artifact({ action: "patch", find: " HERE", replace: "defghijklmnop" }));
    expect(error.message).toStartWith("refusing to write content");
    expect(error.message).not.toContain("ghp_");
    expect(await get()).toMatchObject({ version: 1 });
    expect(await artifact({ action: "patch", find: " HERE", replace: "defghijklmnop", allow_secret: true })).toMatchObject({ version: 2 });
    expect(await artifact({ action: "patch", find: "token", replace: "the token" })).toMatchObject({ version: 3 });
  });

  test("a path means the project's own text, without a project the unscoped one, in every action", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    await put("in A", undefined, as("ana", a));
    await put("in none");
    await put("in none, again", 1);
    expect(await get(as("bea", a))).toMatchObject({ content: "in A", version: 1 });
    for (const action of ["get", "lock", "unlock"]) expect((await refusal(artifact({ action }, as("ana", b)))).code).toBe("not_found");
    await artifact({ action: "lock" });
    expect(await get(as("bea", a))).toMatchObject({ locked_by: null });
    expect(await put("in B", undefined, as("bea", b))).toMatchObject({ version: 1 });
    expect(await artifact({ action: "list" }, as("ana", a))).toMatchObject({ count: 1, artifacts: [{ version: 1 }] });
    expect(await artifact({ action: "list" })).toMatchObject({ count: 1, artifacts: [{ version: 2 }] });
  });

  test("lists by path, takes a prefix literally, and reads on", async () => {
    for (const path of ["b_c/1", "bxc/1", "b%/1", "a", "B"]) await artifact({ action: "put", path, content: "x" });
    const paths = async (more: Reply = {}) => items(await artifact({ action: "list", ...more }), "artifacts").map((each) => each.path);
    expect(await paths()).toEqual(["B", "a", "b%/1", "b_c/1", "bxc/1"]);
    expect(await paths({ prefix: "b_" })).toEqual(["b_c/1"]);
    expect(await paths({ prefix: "b%" })).toEqual(["b%/1"]);
    expect(await artifact({ action: "list", limit: 2 })).toMatchObject({ count: 2, truncated: true, total: 5, next: { offset: 2 } });
    expect(await paths({ limit: 2, offset: 4 })).toEqual(["bxc/1"]);
    expect(await paths({ limit: 0 })).toEqual(["B"]);
    const [first] = items(await artifact({ action: "list" }), "artifacts");
    expect(Object.keys(first ?? {})).toEqual([
      "id",
      "path",
      "content_hash",
      "version",
      "locked_by",
      "lock_until",
      "updated_at",
      "origin_node",
    ]);
  });

  test(
    "a long content is cut on a code point below 10,000 tokens, and the pieces make up the whole",
    async () => {
      const content = Array.from({ length: 6_000 }, (_, n) => `${n} 界🙂`).join("\n");
      await put(content);
      const count = await tokenCounter();
      let read = "";
      for (let from: unknown = 0; typeof from === "number"; ) {
        const reply = await get(as("ana"), { from_char: from });
        expect(count(JSON.stringify(reply))).toBeLessThan(10_000);
        expect(reply).toMatchObject({ truncated: true, total: Array.from(content).length });
        read += reply.content;
        from = (reply.next as Reply | null)?.from_char;
      }
      expect(read).toBe(content);
      for (let n = 0; n < 120; n++) await artifact({ action: "put", path: `${n}/${"長".repeat(150)}`, content: "x" });
      const list = await artifact({ action: "list", limit: 500 });
      expect(count(JSON.stringify(list))).toBeLessThan(10_000);
      expect(list).toMatchObject({ truncated: true, total: 121 });
    },
    SLOW_MS,
  );
});
