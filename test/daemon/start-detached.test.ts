import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lastWords, lastWordsMark, startDetached } from "../../src/daemon/start-detached.ts";

let base: string;
let paths: { dataDir: string; log: string };
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "mi-start-"));
  paths = { dataDir: join(base, "data"), log: join(base, "data", "daemon.log") };
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const script = (code: string) => [process.execPath, "-e", code];

async function ended(child: ReturnType<typeof startDetached>) {
  while (child.exitCode() === undefined) await Bun.sleep(5);
  return child.exitCode();
}

describe("a daemon started beside us", () => {
  test("works in the data directory, with its words in a log for its owner alone and nothing of ours", async () => {
    const code = `
      const { readdirSync, readlinkSync } = require("node:fs");
      console.error(JSON.stringify({ cwd: process.cwd(), label: process.env.CUBA_CLIENT_ID, mode: process.env.CUBA_MODE, stdin: readlinkSync("/proc/self/fd/0"), stdout: readlinkSync("/proc/self/fd/1") }));`;
    const child = startDetached(script(code), { paths, env: { ...process.env, CUBA_MODE: "red" } });
    expect(await ended(child)).toBe(0);
    expect(JSON.parse(readFileSync(paths.log, "utf8"))).toEqual({
      cwd: paths.dataDir,
      mode: "red",
      stdin: "/dev/null",
      stdout: "/dev/null",
    });
    expect([statSync(paths.dataDir).mode & 0o777, statSync(paths.log).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  test("that fails leaves its last words, told apart from those of others in the same log", async () => {
    const child = startDetached(script("console.error('memory-industry[' + process.pid + ']: the disk is full'); process.exitCode = 1"), {
      paths,
      env: process.env,
    });
    expect(await ended(child)).toBe(1);
    appendFileSync(paths.log, `${lastWordsMark(1)}something else\n`);
    expect(child.reason()).toBe("the disk is full");
    expect(lastWords(paths.log, 2)).toBeUndefined();
    expect(lastWords(join(base, "none"), 1)).toBeUndefined();
  });

  test("that is killed is known to have been killed", async () => {
    const child = startDetached(script("setInterval(() => {}, 1000)"), { paths, env: process.env });
    process.kill(child.pid, "SIGKILL");
    expect(await ended(child)).toBe("killed");
  });

  test("turns a log that has grown too large, keeping one", async () => {
    await ended(startDetached(script(""), { paths, env: process.env }));
    writeFileSync(paths.log, "x".repeat(1024 * 1024 + 1));
    await ended(startDetached(script("console.error('new')"), { paths, env: process.env }));
    expect(readFileSync(paths.log, "utf8")).toBe("new\n");
    expect(statSync(`${paths.log}.1`).size).toBe(1024 * 1024 + 1);
  });

  test("whose program does not exist is an error with a text", () => {
    expect(() => startDetached([join(base, "nothing")], { paths, env: {} })).toThrow("cannot be started");
  });

  test("whose data directory cannot be made is an error that says what to set, and nothing is left", () => {
    writeFileSync(join(base, "file"), "");
    const place = { dataDir: join(base, "file", "data"), log: join(base, "file", "data", "daemon.log") };
    expect(() => startDetached(script(""), { paths: place, env: {} })).toThrow("CUBA_DATA_DIR");
    expect(existsSync(place.dataDir)).toBe(false);
  });
});
