/**
 * A daemon of the tests: the real one around a small application that keeps notes in a file, synced before each answer.
 * A note `break` is kept, and then the application is broken, as a crashed database engine is.
 * Arguments: data directory, then `key=value`: version, idle (ms), fail (text), delay (ms before it is composed), mark (a file that each start appends to),
 * serve (host:port, 0 = any free one; the bound address goes to stdout).
 */
import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createEventBus } from "../../../src/daemon/events.ts";
import { daemonPaths } from "../../../src/daemon/paths.ts";
import { type DaemonOptions, runDaemon } from "../../../src/daemon/run.ts";
import { serve } from "../../../src/daemon/serve.ts";
import { type MemoryError, unavailable } from "../../../src/kernel/errors.ts";
import { parseAddress } from "../../../src/kernel/kinds.ts";
import { createLogger } from "../../../src/kernel/logger.ts";
import { createSmallServer } from "../../transports/small-server.ts";

const [dataDir = "", ...pairs] = process.argv.slice(2);
const given = new Map(pairs.map((pair): [string, string] => [pair.split("=")[0] ?? "", pair.slice(pair.indexOf("=") + 1)]));
const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());

const write = (line: string) => void process.stderr.write(`${line}\n`);
const paths = daemonPaths({ dataDir, temporaryDir: "/tmp", platform: process.platform, uid: process.getuid?.() });
const idle = given.get("idle");

const options: Omit<DaemonOptions, "door"> = {
  paths,
  version: given.get("version") ?? "1.0.0",
  command: [process.execPath, import.meta.path, ...process.argv.slice(2)],
  settings: {},
  idleShutdownMs: idle === undefined ? undefined : Number(idle),
  stop: stop.signal,
  stderr: write,
  log: createLogger({ level: "debug", write }),
  async compose() {
    const mark = given.get("mark");
    if (mark !== undefined) appendFileSync(mark, `${process.pid}\n`);
    await Bun.sleep(Number(given.get("delay") ?? 0));
    const failure = given.get("fail");
    if (failure !== undefined) throw unavailable(failure);
    const notes = join(dataDir, "notes");
    const file = openSync(notes, "a+", 0o600);
    const before = readFileSync(notes, "utf8")
      .split("\n")
      .filter((line) => line !== "");
    const broken = Promise.withResolvers<MemoryError>();
    const mcp = createSmallServer({
      notes: before,
      version: given.get("version") ?? "1.0.0",
      onNote(text) {
        writeSync(file, `${text}\n`);
        fsyncSync(file);
        if (text === "break") broken.resolve(unavailable("The engine of the tests broke."));
      },
    });
    return {
      mcp,
      broken: broken.promise,
      health: async () => ({ status: "ok", version: "1.0.0", database: "up", ready: true, models: {} }),
      drain: async () => 0,
      beforeIdleStop: async () => {},
      close: async () => closeSync(file),
    };
  },
};

const serving = given.get("serve");
const address = serving === undefined ? undefined : parseAddress(serving);
process.exitCode =
  address === undefined
    ? await runDaemon({ ...options, door: "auto" })
    : await serve({
        ...options,
        onReady: (url) => void process.stdout.write(`${url}\n`),
        http: {
          address,
          version: options.version,
          adminToken: given.get("token"),
          peerToken: undefined,
          allowedHosts: [],
          allowedOrigins: [],
          handlerTimeoutMs: 10_000,
          events: createEventBus(),
          log: options.log,
        },
      });
