/** The program on a disk that fills up: a small file system in memory, which only root can mount. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readOwner } from "../../../src/daemon/owner-lock.ts";
import { migratedDirectory } from "../../support/engines.ts";
import { type Client, createClient, lives, request, textOf, until } from "./harness.ts";

const main = resolve(import.meta.dir, "../../../src/main.ts");
const LIMIT_MS = 180_000;

let base: string;
let data: string;
let isMounted = false;
const children: Bun.Subprocess[] = [];

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), "mi-full-"));
  data = join(base, "data");
  mkdirSync(join(base, "home"));
  mkdirSync(data, { mode: 0o700 });
  isMounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=96m,mode=700", "none", data]).success;
  cpSync(await migratedDirectory(), join(data, "db"), { recursive: true });
}, LIMIT_MS);
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
  const owner = readOwner(join(data, "daemon.lock"))?.pid;
  if (owner !== undefined && lives(owner)) process.kill(owner, "SIGKILL");
  if (owner !== undefined) await until("the daemon to end", () => !lives(owner));
  // Lazily: a process that just ended may hold it a moment longer.
  if (isMounted) Bun.spawnSync(["umount", "-l", data]);
  rmSync(base, { recursive: true, force: true });
}, LIMIT_MS);

function start(): Client {
  const child = Bun.spawn([process.execPath, main], {
    cwd: base,
    env: { HOME: join(base, "home"), CUBA_DATA_DIR: data, PATH: "/nonexistent", LANG: "C" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  children.push(child);
  return createClient(child);
}

/** Takes every byte that is left. */
function fill(file: string) {
  const descriptor = openSync(file, "w");
  try {
    for (const block of [1 << 20, 1 << 12]) for (;;) if (writeFull(descriptor, block)) break;
  } finally {
    closeSync(descriptor);
  }
}

const writeFull = (descriptor: number, bytes: number) => {
  try {
    writeSync(descriptor, new Uint8Array(bytes));
    return false;
  } catch {
    return true;
  }
};

const add = (content: string) => ["cuba_cronica", { action: "add", entity_name: "Disk", content }] as const;
const list = ["cuba_cronica", { action: "list", entity_name: "Disk" }] as const;

test.skipIf(process.platform !== "linux" || process.getuid?.() !== 0)(
  "a write on a full disk is refused with a sentence, reading goes on, the daemon stops on SIGTERM, and with room again everything is there",
  async () => {
    if (!isMounted) return; // a container without the right to mount
    const client = start();
    expect((await client.call(...add("the disk has room"))).result?.isError).toBeUndefined();
    const daemon = readOwner(join(data, "daemon.lock"))?.pid ?? 0;
    const filler = join(data, "filler");
    fill(filler);
    const refused = await client.call(...add("the disk is full"));
    expect(refused.result?.isError).toBe(true);
    expect(textOf(refused)).toContain("0.0 MiB are free, and no write begins below 16.0 MiB. Nothing was written; reading still works.");
    for (const [name, args] of [
      list,
      ["cuba_alma", { action: "get", name: "Disk" }],
      ["cuba_faro", { query: "room on the disk" }],
    ] as const) {
      const answer = await client.call(name, args);
      expect([name, answer.result?.isError]).toEqual([name, undefined]);
      expect(textOf(answer)).toContain("the disk has room");
    }
    expect(lives(daemon)).toBe(true);

    rmSync(filler);
    expect((await client.call(...add("there is room again"))).result?.isError).toBeUndefined();
    fill(filler);
    process.kill(daemon, "SIGTERM");
    await until("the daemon to stop", () => !lives(daemon));
    client.end();
    rmSync(filler);

    const later = start();
    const kept = textOf(await later.call(...list));
    expect(kept).toContain("the disk has room");
    expect(kept).toContain("there is room again");
    expect(kept).not.toContain("the disk is full");
    later.send(request("end", "cuba_whoami"));
    later.end();
    expect(await later.exited).toBe(0);
  },
  LIMIT_MS,
);
