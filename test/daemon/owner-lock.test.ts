import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { acquireOwnerLock, liveOwner, type OwnerLock, readOwner } from "../../src/daemon/owner-lock.ts";
import { type DaemonPaths, daemonPaths } from "../../src/daemon/paths.ts";
import { isOwn, prepareDataDir, preparePrivateDir } from "../../src/daemon/private-directory.ts";
import { bootId, isRunning, ownIdentity, processStart } from "../../src/daemon/process-identity.ts";

let paths: DaemonPaths;
const started: Bun.Subprocess[] = [];

beforeEach(() => {
  const dataDir = mkdtempSync(join(tmpdir(), "mi-lock-"));
  paths = daemonPaths({ dataDir, temporaryDir: tmpdir(), platform: process.platform, uid: 0 });
});
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
  rmSync(paths.dataDir, { recursive: true, force: true });
});

const acquire = (address = "auto") => acquireOwnerLock({ paths, version: "1.2.3", address });
async function own(address?: string): Promise<OwnerLock> {
  const got = await acquire(address);
  if (got.kind !== "owned") throw new Error("expected to own the directory");
  return got.lock;
}

/** Starts a process that tries to take the lock; answers with what it said. */
async function holder(...mode: string[]) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "lock-holder.ts"), paths.dataDir, ...mode], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  const { value } = await child.stdout.getReader().read();
  const [said = "", grandchild = ""] = new TextDecoder().decode(value).trim().split(" ");
  return { child, said, grandchild: Number(grandchild) };
}

describe("the owner of a data directory", () => {
  test("writes who it is, for its own user alone, and leaves nothing behind", async () => {
    const lock = await own("127.0.0.1:8787");
    const record = readOwner(paths.lock);
    expect(record).toMatchObject({ pid: process.pid, version: "1.2.3", address: "127.0.0.1:8787", bootId: bootId() });
    expect(record?.processStart).toBe(processStart(process.pid) ?? "missing");
    expect(statSync(paths.lock).mode & 0o777).toBe(0o600);
    expect(liveOwner(paths.lock)?.pid).toBe(process.pid);
    lock.release();
    lock.release();
    expect(existsSync(paths.lock)).toBe(false);
  });

  test("is told to those who come second, also after it changed its record", async () => {
    const lock = await own();
    lock.update({ heir: "2.0.0" });
    expect(await acquire()).toMatchObject({ kind: "held", owner: { pid: process.pid, address: "auto", heir: "2.0.0" } });
    lock.release();
    (await own()).release();
  });

  test("killed with -9 is taken over at once, and named", async () => {
    const { child, said } = await holder();
    expect(said).toBe("owned");
    expect(await acquire()).toMatchObject({ kind: "held", owner: { pid: child.pid } });
    child.kill("SIGKILL");
    await child.exited;
    expect(existsSync(paths.lock)).toBe(true);
    const lock = await own();
    expect(lock.previous?.pid).toBe(child.pid);
    lock.release();
  });

  test("keeps its lock while it is stopped: a live owner's is never taken", async () => {
    const { child } = await holder();
    child.kill("SIGSTOP");
    expect(await acquire()).toMatchObject({ kind: "held", owner: { pid: child.pid } });
  });

  test("does not leave the lock to the children it started", async () => {
    const { child, grandchild } = await holder("with-child");
    try {
      child.kill("SIGKILL");
      await child.exited;
      expect(processStart(grandchild)).toBeDefined();
      (await own()).release();
    } finally {
      process.kill(grandchild, "SIGKILL");
    }
  });

  test("is one, however many start at the same moment", async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => holder()));
    expect(all.map(({ said }) => said).toSorted()).toEqual(["held", "held", "held", "held", "held", "owned"]);
  });

  test.each([
    ["the pid of a living stranger", () => ({ ...ownIdentity(), processStart: "1" })],
    ["another boot", () => ({ ...ownIdentity(), bootId: "11111111-2222-3333-4444-555555555555" })],
    ["a pid that is no more", () => ({ ...ownIdentity(), pid: 2 ** 22 + 1 })],
  ])("a record with %s is stale and taken over at once", async (_, identity) => {
    writeFileSync(paths.lock, JSON.stringify({ ...identity(), version: "1.0.0", address: "auto", since: "2026-01-01T00:00:00Z" }));
    chmodSync(paths.lock, 0o644);
    expect(liveOwner(paths.lock)).toBeUndefined();
    const lock = await own();
    expect(readOwner(paths.lock)?.pid).toBe(process.pid);
    expect(statSync(paths.lock).mode & 0o777).toBe(0o600);
    lock.release();
  });

  test.each([["nothing"], ["{"], ["[]"], ['{"pid":"1"}'], ['{"pid":1}']])("a record of %p is nobody's", async (text) => {
    writeFileSync(paths.lock, text === "nothing" ? "" : text);
    expect(readOwner(paths.lock)).toBeUndefined();
    (await own()).release();
  });

  test("stays the owner when somebody deletes its record", async () => {
    const { said } = await holder();
    expect(said).toBe("owned");
    rmSync(paths.lock);
    expect(await acquire()).toEqual({ kind: "held", owner: undefined });
    expect(existsSync(paths.lock)).toBe(false);
  });

  test("a link in the record's place is not followed", async () => {
    const target = join(paths.dataDir, "precious");
    writeFileSync(target, "precious");
    const { symlinkSync, readFileSync } = await import("node:fs");
    symlinkSync(target, paths.lock);
    await expect(acquire()).rejects.toThrow("cannot be opened");
    expect(readFileSync(target, "utf8")).toBe("precious");
  });
});

describe("who a pid is", () => {
  test("this process runs, the same pid with another start does not", () => {
    expect(isRunning(ownIdentity())).toBe(true);
    expect(isRunning({ ...ownIdentity(), processStart: "0" })).toBe(false);
    expect(processStart(2 ** 22 + 1)).toBeUndefined();
  });
});

describe("directories of the owner alone", () => {
  test("the data directory is made, or closed to others, with all its parents", () => {
    const dir = join(paths.dataDir, "a", "b");
    prepareDataDir(dir);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    chmodSync(dir, 0o755);
    prepareDataDir(dir);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });

  test("a shared directory keeps its mode", () => {
    const dir = join(paths.dataDir, "shared");
    prepareDataDir(dir);
    chmodSync(dir, 0o1777);
    prepareDataDir(dir);
    expect(statSync(dir).mode & 0o7777).toBe(0o1777);
  });

  test("a file in its place is an error that says what to do", () => {
    const file = join(paths.dataDir, "file");
    writeFileSync(file, "");
    expect(() => prepareDataDir(join(file, "x"))).toThrow("CUBA_DATA_DIR");
  });

  test("a link is not a directory of ours", async () => {
    const { symlinkSync } = await import("node:fs");
    const link = join(paths.dataDir, "link");
    symlinkSync(paths.dataDir, link);
    expect(isOwn(link)).toBe(false);
    expect(isOwn(paths.dataDir)).toBe(true);
    expect(() => preparePrivateDir(link)).toThrow("is a link");
  });
});
