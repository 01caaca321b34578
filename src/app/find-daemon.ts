/** The daemon of this data directory, started where none runs: for a bridge, and for a command that must not open the database itself. */
import { environment } from "../config/environment.ts";
import { connectionVariables } from "../config/variables.ts";
import { liveOwner } from "../daemon/owner-lock.ts";
import type { DaemonPaths } from "../daemon/paths.ts";
import { startDetached } from "../daemon/start-detached.ts";
import type { FinderOptions } from "../transports/find-daemon.ts";
import type { Hello } from "../transports/frames.ts";
import { daemonCommand } from "./process.ts";

/** How long somebody waits for the daemon: a first start unpacks a database, a migration may take a while. */
const START_LIMIT_MS = 60_000;

/** The environment of a daemon: ours, less what belongs to this connection. */
const daemonEnvironment = () => {
  const connection = new Set(connectionVariables());
  return Object.fromEntries(Object.entries(environment()).filter(([name]) => !connection.has(name)));
};

export const finderOf = (place: DaemonPaths, hello: Hello): Omit<FinderOptions, "log"> => ({
  socket: place.socket,
  hello,
  command: daemonCommand,
  start: (command) => startDetached(command, { paths: place, env: daemonEnvironment() }),
  heir: () => liveOwner(place.lock)?.heir,
  startLimitMs: START_LIMIT_MS,
});
