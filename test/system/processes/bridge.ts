/** A bridge of the tests: the real one, which starts `daemon.ts`. Arguments: data directory, `key=value` of the bridge (version, label, handshake ms), `--`, then those of the daemon. */

import { liveOwner } from "../../../src/daemon/owner-lock.ts";
import { daemonPaths } from "../../../src/daemon/paths.ts";
import { startDetached } from "../../../src/daemon/start-detached.ts";
import { createLogger } from "../../../src/kernel/logger.ts";
import { runBridge } from "../../../src/transports/bridge.ts";
import { standardInput, standardOutput } from "../../../src/transports/process-streams.ts";

const [houseDir = "", ...words] = process.argv.slice(2);
const split = words.indexOf("--");
const own = split === -1 ? words : words.slice(0, split);
const forDaemon = split === -1 ? [] : words.slice(split + 1);
const given = new Map(own.map((pair): [string, string] => [pair.split("=")[0] ?? "", pair.slice(pair.indexOf("=") + 1)]));
const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());

/** `dir=` moves the data directory away from the one that names the test. */
const dataDir = given.get("dir") ?? houseDir;
const version = given.get("version") ?? "1.0.0";
const paths = daemonPaths({ dataDir, temporaryDir: "/tmp", platform: process.platform, uid: process.getuid?.() });
const handshake = given.get("handshake");

process.exitCode = await runBridge({
  input: standardInput(),
  output: standardOutput(),
  socket: paths.socket,
  hello: {
    kind: "bridge",
    version,
    connection: crypto.randomUUID(),
    label: given.get("label"),
    project: undefined,
    syncDir: undefined,
    profile: undefined,
    directory: process.cwd(),
    settings: {},
  },
  command: [process.execPath, `${import.meta.dir}/daemon.ts`, dataDir, `version=${version}`, ...forDaemon],
  start: (command) => startDetached(command, { paths, env: process.env }),
  heir: () => liveOwner(paths.lock)?.heir,
  startLimitMs: 20_000,
  handlerTimeoutMs: 10_000,
  handshakeLimitMs: handshake === undefined ? undefined : Number(handshake),
  stop: stop.signal,
  async offline(reason) {
    const { offlineConnection } = await import("./offline.ts");
    return offlineConnection(reason);
  },
  log: createLogger({ level: "debug", write: (line) => void process.stderr.write(`${line}\n`) }),
});
process.exit();
