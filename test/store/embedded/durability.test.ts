import { afterEach, beforeEach, expect, test } from "bun:test";
import fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createWalSync, type HookedModule, type WalSync } from "../../../src/store/embedded/durability.ts";

const SEGMENT = "pg_wal/000000010000000000000001";
const NEXT = "pg_wal/000000010000000000000002";

let root = "";
let sync: WalSync;
let ops: HookedModule["NODEFS"]["stream_ops"];
let nodeOps: HookedModule["NODEFS"]["node_ops"];

beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), "memory-industry-test-"));
  fs.mkdirSync(path.join(root, "pg_wal"));
  fs.mkdirSync(path.join(root, "base"));
  for (const file of [SEGMENT, NEXT, "base/1"]) fs.writeFileSync(path.join(root, file), "x");
  sync = createWalSync(root);
  ops = { write: () => 8, setattr: () => {} };
  nodeOps = { setattr: () => {} };
  sync.install({ NODEFS: { stream_ops: ops, node_ops: nodeOps } });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const stream = (name: string) => ({ path: `/pglite/data/${name}` });
const write = (name: string) => ops.write(stream(name));
const fsync = (name: string, nfd?: number) => ops.fsync?.(nfd === undefined ? stream(name) : { ...stream(name), nfd });

/** Runs `work` with the system calls counted by name. */
async function counting(work: () => Promise<void> | void): Promise<{ fdatasyncSync: number; fsyncSync: number; fdatasync: number }> {
  const calls = { fdatasyncSync: 0, fsyncSync: 0, fdatasync: 0 };
  const real = { fdatasyncSync: fs.fdatasyncSync, fsyncSync: fs.fsyncSync, fdatasync: fs.fdatasync };
  fs.fdatasyncSync = (descriptor) => {
    calls.fdatasyncSync++;
    real.fdatasyncSync(descriptor);
  };
  fs.fsyncSync = (descriptor) => {
    calls.fsyncSync++;
    real.fsyncSync(descriptor);
  };
  Object.assign(fs, {
    fdatasync: (...given: Parameters<typeof fs.fdatasync>) => {
      calls.fdatasync++;
      real.fdatasync(...given);
    },
  });
  try {
    await work();
  } finally {
    Object.assign(fs, real);
  }
  return calls;
}

test("a sync of the log is only noted; durable carries it out, one for all who wait", async () => {
  expect(await counting(() => void fsync(SEGMENT))).toEqual({ fdatasyncSync: 0, fsyncSync: 0, fdatasync: 0 });
  const mark = sync.asked;
  expect(mark).toBe(1);
  const calls = await counting(async () => {
    await Promise.all(Array.from({ length: 20 }, () => sync.durable(mark)));
  });
  expect(calls.fdatasync).toBe(1);
  expect(await counting(() => sync.durable(mark))).toMatchObject({ fdatasync: 0 });
});

test("a commit after a group has started waits for the next one", async () => {
  fsync(SEGMENT);
  const calls = await counting(async () => {
    const first = sync.durable(sync.asked);
    fsync(SEGMENT);
    await Promise.all([first, sync.durable(sync.asked)]);
  });
  expect(calls.fdatasync).toBe(2);
});

test("a page is not written before its log is on disk", async () => {
  fsync(SEGMENT);
  fsync(NEXT);
  expect((await counting(() => void write("base/1"))).fdatasyncSync).toBe(2);
  expect((await counting(() => void write("base/1"))).fdatasyncSync).toBe(0);
  expect(await counting(() => sync.durable(sync.asked))).toMatchObject({ fdatasync: 0 });
});

test("a page does not wait for a group on its way either: it syncs the log itself", async () => {
  fsync(SEGMENT);
  const pending = sync.durable(sync.asked);
  expect((await counting(() => void write("base/1"))).fdatasyncSync).toBe(1);
  await pending;
});

test("files and directories are synced when the engine asks", async () => {
  const descriptor = fs.openSync(path.join(root, "base/1"), "r+");
  expect((await counting(() => void fsync("base/1", descriptor))).fsyncSync).toBe(1);
  fs.closeSync(descriptor);
  expect((await counting(() => void fsync("pg_wal"))).fsyncSync).toBe(process.platform === "win32" ? 0 : 1);
});

test("while the engine starts, only what it has changed is synced again", async () => {
  const descriptor = fs.openSync(path.join(root, "base/1"), "r+");
  const synced = async () => (await counting(() => void fsync("base/1", descriptor))).fsyncSync;
  sync.starting();
  expect(await synced()).toBe(0);
  write("base/1");
  expect(await synced()).toBe(1);
  sync.starting();
  ops.setattr(stream("base/1"));
  expect(await synced()).toBe(1);
  sync.starting();
  nodeOps.setattr({}, {});
  expect(await synced()).toBe(0);
  nodeOps.setattr({}, { size: 0 });
  expect(await synced()).toBe(1);
  sync.starting();
  sync.started();
  expect(await synced()).toBe(1);
  fs.closeSync(descriptor);
});

test("the volume of the log is counted until it is forgotten", () => {
  write(SEGMENT);
  write("base/1");
  write(NEXT);
  expect(sync.volume).toBe(16);
  sync.forgetVolume();
  expect(sync.volume).toBe(0);
});

test("a segment that the engine has renamed meanwhile is no failure", async () => {
  fsync(SEGMENT);
  fs.rmSync(path.join(root, SEGMENT));
  await sync.durable(sync.asked);
  fsync(SEGMENT);
  write("base/1");
  await sync.durable(sync.asked);
});

test("a disk that refuses ends all writes, with words", async () => {
  const real = fs.fdatasync;
  Object.assign(fs, { fdatasync: (_: number, done: (error: Error) => void) => done(new Error("EIO: i/o error, /home/somebody")) });
  fsync(SEGMENT);
  await expect(sync.durable(sync.asked)).rejects.toThrow("The disk did not confirm a write.");
  Object.assign(fs, { fdatasync: real });
  fsync(SEGMENT);
  await expect(sync.durable(sync.asked)).rejects.toThrow("takes no more changes");
});

test("groups move on to the next segment and give their descriptor back at the end", async () => {
  const open = () =>
    fs.readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${fd}`).includes(root);
      } catch {
        return false; // closed meanwhile: the directory's own descriptor
      }
    });
  for (const segment of [SEGMENT, SEGMENT, NEXT, NEXT]) {
    fsync(segment);
    await sync.durable(sync.asked);
  }
  if (process.platform === "linux") expect(open()).toHaveLength(1);
  await sync.close();
  if (process.platform === "linux") expect(open()).toHaveLength(0);
});

test("what is not the data directory is none of our business", async () => {
  expect(await counting(() => void ops.write({ path: "/tmp/pgstdout" }))).toEqual({ fdatasyncSync: 0, fsyncSync: 0, fdatasync: 0 });
});
