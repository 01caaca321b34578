/** The line of a command: to the running daemon over its socket, or to the product composed in this process under the owner lock. */
import type { GatewayOptions } from "../cli/command.ts";
import { createGateway, type Gateway, type Line } from "../cli/gateway.ts";
import { drainAndClose } from "../daemon/leave.ts";
import { liveOwner } from "../daemon/owner-lock.ts";
import { OWNER_LEAVES_WITHIN_MS, takeOwnership } from "../daemon/ownership.ts";
import { MemoryError } from "../kernel/errors.ts";
import { isRecord } from "../kernel/is-record.ts";
import { VERSION } from "../kernel/version.ts";
import { type DaemonLink, linkTo } from "../transports/daemon-link.ts";
import { createDaemonFinder } from "../transports/find-daemon.ts";
import { openAssets } from "./assets.ts";
import { finderOf } from "./find-daemon.ts";
import { helloOf, type ProcessFacts, projectOf } from "./process.ts";

/** How long a running daemon may take for its welcome, milliseconds. */
const WELCOME_LIMIT_MS = 5_000;
/** How long the last answers may take once the command is done, milliseconds. */
const FINISH_LIMIT_MS = 12_000;

/** @throws MemoryError where a daemon holds the directory and does not answer, or the database does not open. */
export async function openGateway(facts: ProcessFacts, options: GatewayOptions, signal: AbortSignal): Promise<Gateway> {
  const hello = helloOf("cli", facts.config, options);
  for (;;) {
    const place = facts.paths();
    if (options.startsDaemon === true && facts.config.settings.DAEMON.value) {
      const link = await createDaemonFinder({ ...finderOf(place, hello), log: facts.log }).open();
      return createGateway(overSocket(link), signal);
    }
    const found = await linkTo(place.socket, hello, WELCOME_LIMIT_MS);
    if (found.kind === "linked") return createGateway(overSocket(found.link), signal);
    if (found.kind === "silent" && liveOwner(place.lock) !== undefined) throw silentOwner(liveOwner(place.lock)?.pid);
    const line = await inThisProcess(facts, options, signal);
    if (line !== undefined) return createGateway(line, signal);
  }
}

const silentOwner = (pid: number | undefined) =>
  new MemoryError(
    "unavailable",
    `The memory daemon (process ${pid ?? "unknown"}) holds the data directory and does not answer; nothing was done. 'memory-industry doctor' tells more.`,
  );

function overSocket(link: DaemonLink): Line {
  const waiting = new Map<
    unknown,
    { readonly resolve: (answer: unknown) => void; readonly notify: ((message: unknown) => void) | undefined }
  >();
  const gone = () => {
    for (const { resolve } of waiting.values()) resolve(undefined);
    waiting.clear();
  };
  link.attach({
    onLine(text) {
      const message: unknown = JSON.parse(text);
      if (!isRecord(message)) return;
      const asked = message.method === undefined ? waiting.get(message.id) : undefined;
      if (asked === undefined) for (const { notify } of waiting.values()) notify?.(message);
      else {
        waiting.delete(message.id);
        asked.resolve(message);
      }
    },
    onBye: () => {},
    onClosed: gone,
  });
  return {
    exchange: (request, onNotification) =>
      new Promise((resolve) => {
        waiting.set(request.id, { resolve, notify: onNotification });
        link.send(JSON.stringify(request));
      }),
    notify: (message) => link.send(JSON.stringify(message)),
    [Symbol.asyncDispose]: () => link.finish(FINISH_LIMIT_MS),
  };
}

/** Composes the product here; undefined where a daemon has come up meanwhile. */
async function inThisProcess(
  { config, log, paths }: ProcessFacts,
  { project, directory }: GatewayOptions,
  stop: AbortSignal,
): Promise<Line | undefined> {
  const owning = await takeOwnership({
    paths: paths(),
    version: VERSION,
    address: "alone",
    waitMs: OWNER_LEAVES_WITHIN_MS,
    stop,
    log,
  }).catch((error: unknown) => {
    // A daemon took the directory between our look and our try: its socket will answer.
    if (error instanceof MemoryError && error.code === "conflict" && liveOwner(paths().lock)?.address !== "alone") return undefined;
    throw error;
  });
  if (owning === undefined || owning.kind === "served") return undefined;
  if (owning.kind === "stopped") throw new MemoryError("cancelled", "Broken off before anything was done.");
  const { compose } = await import("./compose.ts");
  try {
    const app = await compose({ config, assets: openAssets(), log, servesHttp: false, consolidates: false });
    let notify: ((message: unknown) => void) | undefined;
    const connection = app.mcp.connect(
      {
        transport: "cli",
        principal: { kind: "owner" },
        label: config.settings.CLIENT_ID.value,
        machine: undefined,
        protocolSession: undefined,
        project: projectOf(config, { project, directory }),
        directory: directory ?? process.cwd(),
        profile: undefined,
      },
      (message) => notify?.(message),
    );
    return {
      exchange(request, onNotification) {
        notify = onNotification;
        return connection.handle(request);
      },
      notify: (message) => void connection.handle(message),
      async [Symbol.asyncDispose]() {
        connection.close();
        await drainAndClose(app, log);
        owning.lock.release();
      },
    };
  } catch (error) {
    owning.lock.release();
    throw error;
  }
}
