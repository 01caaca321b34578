/** An acknowledged write is on disk: the system calls show it. Needs `strace`; skipped with this line where it is missing or may not trace. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { cloneDirectory } from "../../support/engines.ts";

const canTrace =
  process.platform === "linux" && Bun.which("strace") !== null && Bun.spawnSync(["strace", "-o", "/dev/null", "true"]).exitCode === 0;

let directory = "";
beforeAll(async () => {
  if (canTrace) directory = await cloneDirectory();
}, 60_000);
afterAll(() => {
  if (canTrace) rmSync(directory, { recursive: true, force: true });
}, 60_000);

/** Runs the writer under strace and answers its lines: syncs of the log, and the acknowledgements. */
async function trace(count: number, writers: number): Promise<{ readonly syncs: number; readonly order: readonly string[] }> {
  const log = `${directory}.strace`;
  const command = ["strace", "-f", "-y", "-s", "64", "-e", "trace=fdatasync,write,writev,sendto,sendmsg", "-o", log];
  const child = Bun.spawn(
    [...command, process.execPath, path.join(import.meta.dir, "writer.ts"), directory, String(count), String(writers)],
    {
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  const said = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  const lines = readFileSync(log, "utf8").split("\n");
  rmSync(log);
  const start = lines.findIndex((line) => line.includes("ready\\n"));
  const names = said.split("\n").slice(1, -1);
  const order = lines.slice(start).flatMap((line) => {
    if (/(fdatasync\(\d+<[^>]*pg_wal\/[0-9A-F]{24}>|fdatasync resumed>)/.test(line) && / = 0$/.test(line)) return ["sync"];
    return names.some((name) => line.includes(`"${name}\\n`)) ? ["said"] : [];
  });
  return { syncs: order.filter((event) => event === "sync").length, order };
}

test.skipIf(!canTrace)(
  "each write is synced before it is acknowledged",
  async () => {
    const { order } = await trace(5, 1);
    expect(order.filter((event) => event === "said")).toHaveLength(5);
    // Between two acknowledgements of a single writer lies at least one completed fdatasync of the log.
    expect(order.join(" ")).toMatch(/^(sync )+said( (sync )+said){4}/);
  },
  120_000,
);

test.skipIf(!canTrace)(
  "writers at once share their syncs",
  async () => {
    const { syncs } = await trace(60, 12);
    expect(syncs).toBeGreaterThan(0);
    expect(syncs).toBeLessThan(60);
  },
  120_000,
);
