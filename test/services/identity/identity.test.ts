import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { projectNamed } from "../../../src/services/identity/project-names.ts";
import { projectNames } from "../../../src/store/queries/projects.ts";
import { eachEngine } from "../../support/engines.ts";
import { git, repository } from "../../support/repositories.ts";
import { processOver } from "../../support/services.ts";

eachEngine("who is calling and in which project", (engine) => {
  let root = "";
  const at = (...parts: string[]) => path.join(root, ...parts);
  beforeAll(async () => {
    root = await realpath(await mkdtemp(path.join(os.tmpdir(), "memory-industry-identity-")));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));
  beforeEach(() => engine.db.reset());

  /** The project a new window opened in `directory` works in. */
  const projectIn = async (directory: string, of = processOver(engine.db)) => {
    const window = of.client({ directory, protocolSession: directory });
    return await of.projects.current(await window.context());
  };

  test("two repositories of one directory name are two projects; worktree, clone and sub-directory are the first", async () => {
    const one = await repository(at("a", "api"), "https://example.org/acme/api.git");
    const two = await repository(at("b", "api"), "https://example.org/other/api.git");
    await git(one, "worktree", "add", at("a", "tree"));
    await git(at("a"), "clone", one, at("a", "copy"));
    await Bun.write(path.join(one, "src", "x"), "x");
    expect(await projectIn(one)).toMatchObject({ name: "api", source: "directory" });
    expect((await projectIn(two))?.name).toBe("api-2");
    expect((await projectIn(at("a", "tree")))?.name).toBe("api");
    expect((await projectIn(at("a", "copy")))?.name).toBe("api");
    expect((await projectIn(path.join(one, "src")))?.name).toBe("api");
  });

  test("asked for by name, a project that is not there is not made, and those with names like it are named", async () => {
    const ctx = { principal: { kind: "owner" }, scope: { kind: "everything" }, signal: new AbortController().signal } as const;
    const named = (name: string) => engine.db.read(ctx, (tx) => projectNamed(tx, name, "project"));
    await repository(at("n", "gateway"), "https://example.org/acme/gateway.git");
    const made = await projectIn(at("n", "gateway"));
    expect((await named("gateway")).id).toBe(made?.id ?? "");
    await expect(named("gatewey")).rejects.toThrow("Project 'gatewey' not found. Close names: gateway.");
    await expect(named("billing")).rejects.toThrow("Project 'billing' not found. cuba_proyecto action=list shows all.");
    const names = await engine.db.read(ctx, (tx) => tx.all(projectNames({})));
    expect(names.map(({ name }) => name)).toEqual(["gateway"]);
  });

  test("a directory without git is known by its path, and stays the same project when it becomes a repository", async () => {
    const plain = at("c", "café 项目 [id]");
    await Bun.write(path.join(plain, "x"), "x");
    const before = await projectIn(plain);
    expect(before).toMatchObject({ name: "café 项目 [id]", identity: `path:${plain}` });
    await repository(plain, undefined);
    const after = await projectIn(plain);
    expect(after?.id).toBe(before?.id ?? "");
    expect(after?.identity).toStartWith("path:");
    expect((await projectIn(plain))?.identity).toStartWith("git:");
  });

  test("a path is not believed once its project is a repository's", async () => {
    const place = at("d", "site");
    await repository(place, "https://example.org/acme/site.git");
    const first = await projectIn(place);
    await rm(path.join(place, ".git"), { recursive: true });
    const second = await projectIn(place);
    expect([first?.name, second?.name]).toEqual(["site", "site-2"]);
  });

  test("a client whose name cannot be stored, or is endless, works like any other", async () => {
    const of = processOver(engine.db);
    for (const name of ["a\u0000b", "\ud800", "x".repeat(100_000)]) {
      const window = of.client({ label: undefined, protocolSession: undefined });
      window.caller.introduce(name);
      const started = await of.sessions.start(await window.context(), { name: "s", goals: [], project: undefined });
      expect(started.kind).toBe("started");
      expect(window.caller.key().length).toBeLessThanOrEqual(200);
    }
  });

  test("a project variable that is no name is refused by that name", async () => {
    const of = processOver(engine.db);
    expect(of.client({ project: "a\u001bb" }).context()).rejects.toThrow(/^CUBA_PROJECT holds a control character/);
    expect((await of.projects.current(await of.client({ project: " Cafe\u0301 " }).context()))?.name).toBe("Café");
  });

  test("the home directory and the root of the disk are no project", async () => {
    const of = processOver(engine.db, { home: root });
    expect(await projectIn(root, of)).toBeUndefined();
    expect(await projectIn("/", of)).toBeUndefined();
  });

  test("a name given to the connection goes before its directory, a client's root before the directory, a session before all", async () => {
    const of = processOver(engine.db);
    const here = await repository(at("e", "web"), undefined);
    const named = of.client({ directory: here, project: "payments", protocolSession: "n" });
    expect(await of.projects.current(await named.context())).toMatchObject({ name: "payments", source: "env" });
    const rooted = of.client({ directory: at("e"), protocolSession: "r" });
    await rooted.caller.adoptRoots({ roots: [{ uri: `file://${encodeURI(here)}` }] });
    expect(await of.projects.current(await rooted.context())).toMatchObject({ name: "web", source: "root" });
    await of.sessions.start(await rooted.context(), { name: "s", goals: [], project: "other" });
    expect(await of.projects.current(await rooted.context())).toMatchObject({ name: "other", source: "session" });
  });

  test("the kill switch takes the project away from everything", async () => {
    const here = await repository(at("f", "x"), undefined);
    const of = processOver(engine.db, { filterOn: false });
    const window = of.client({ directory: here });
    expect((await window.context()).scope).toEqual({ kind: "everything" });
    expect(await of.projects.current(await window.context())).toBeUndefined();
  });

  test("fifty windows opened at once on one repository make one project", async () => {
    const here = await repository(at("g", "busy"), "https://example.org/acme/busy.git");
    const of = processOver(engine.db);
    const found = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const window = of.client({ directory: here, protocolSession: `w${i}` });
        return (await window.context()).scope;
      }),
    );
    expect(new Set(found.map((scope) => JSON.stringify(scope))).size).toBe(1);
    const { total } = await of.projects.list(await of.client().context(), { limit: 10, offset: 0 });
    expect(total).toBe(1);
  });

  test("a client over HTTP that declares nothing has no state, and inherits nobody's", async () => {
    const of = processOver(engine.db);
    const declared = of.client({ transport: "http", protocolSession: undefined });
    await of.sessions.start(await declared.context(), { name: "mine", goals: [], project: "p" });
    const anonymous = of.client({ transport: "http", label: undefined, protocolSession: undefined });
    anonymous.caller.introduce("cursor");
    const context = await anonymous.context();
    expect([context.bound, context.scope.kind, context.session]).toEqual([false, "none", undefined]);
    expect(await of.sessions.start(context, { name: "x", goals: [], project: undefined })).toEqual({ kind: "unbound" });
  });

  test("two windows of one label keep their sessions apart, also after the process was killed", async () => {
    const of = processOver(engine.db);
    const [one, two] = [of.client({ protocolSession: "w1" }), of.client({ protocolSession: "w2" })];
    const started = await of.sessions.start(await one.context(), { name: "first", goals: ["g"], project: undefined });
    expect(await of.sessions.current(await two.context())).toBeUndefined();
    const successor = processOver(engine.db);
    const again = successor.client({ protocolSession: "w1" });
    expect((await successor.sessions.current(await again.context()))?.id).toBe(started.kind === "started" ? started.id : "");
    expect(await successor.sessions.current(await successor.client({ protocolSession: "w2" }).context())).toBeUndefined();
    expect(
      await processOver(engine.db, { nodeName: "desk" }).sessions.current(
        await processOver(engine.db, { nodeName: "desk" }).client({ protocolSession: "w1" }).context(),
      ),
    ).toBeUndefined();
  });

  test("forgetting a client forgets its chats and nobody whose name merely starts alike", () => {
    const { registry } = processOver(engine.db);
    for (const key of ["cursor", "cursor::chat-a", "cursory"]) registry.of(key);
    registry.forget("cursor");
    expect(registry.keys()).toEqual(["cursory"]);
  });
});
