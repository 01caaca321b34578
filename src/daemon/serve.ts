/** `serve` by a person or a service unit: refusals, then the port, then the daemon behind it (`cli-daemon.md` §4.1). */
import { causeChain, MemoryError, present } from "../kernel/errors.ts";
import { isLoopback, refuseExposure } from "./exposure.ts";
import { type HttpDoor, type HttpDoorOptions, openHttpDoor } from "./http-server.ts";
import { type DaemonOptions, runDaemon } from "./run.ts";
import type { HealthFacts } from "./served-app.ts";

export interface ServeOptions extends Omit<DaemonOptions, "door"> {
  readonly http: HttpDoorOptions;
  /** The port answers, the data directory is ours and the database is open; `unreachable`: a server that is away, each call tries it again. */
  readonly onReady?: ((url: string, database: HealthFacts["database"]) => void) | undefined;
}

/** Runs `serve` until it is told to stop. @returns exit code 0, or 1 where it could not start; the reason went to `stderr` */
export async function serve(options: ServeOptions): Promise<number> {
  const { http, log } = options;
  let door: HttpDoor;
  try {
    const isAdopted = http.adopted !== undefined;
    const { host } = http.adopted ?? http.address;
    const refusal = refuseExposure({ host, adminToken: http.adminToken, peerToken: http.peerToken, adopted: isAdopted });
    if (refusal !== undefined) throw new MemoryError("refused", refusal);
    if (options.idleShutdownMs !== undefined && !isAdopted)
      log.warn("idle shutdown is on for a serve that nothing starts again; its port stays closed afterwards");
    door = await openHttpDoor(http);
    log.info("port open", { address: door.address, auth: http.adminToken === undefined ? "none" : "token", loopback: isLoopback(host) });
  } catch (error) {
    options.stderr(`memory-industry serve: ${present(error).text}`);
    return 1;
  }
  const open: HttpDoor["open"] = (house) => {
    door.open(house);
    const { onReady, stop } = options;
    if (onReady === undefined) return;
    const tell = async () => {
      const { database } = await (await house.app).health();
      if (!stop.aborted) onReady(door.url, database);
    };
    // Why it could not be composed is said by the daemon, once.
    tell().catch((error: unknown) => log.debug("not ready", { cause: causeChain(error) }));
  };
  return await runDaemon({ ...options, door: { ...door, open } });
}
