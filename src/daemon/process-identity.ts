/** Which process a pid meant when it was written down: pids are used again, a pid with its start time and boot is not. */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";

export interface ProcessIdentity {
  readonly pid: number;
  /** Start of the process in the system's own units; compared, never computed with. Empty where the system does not tell. */
  readonly processStart: string;
  /** Changes with each start of the machine. */
  readonly bootId: string;
}

/** Position of `starttime` (field 22) after the command name, which may itself hold blanks and brackets. proc(5). */
const START_TIME_AFTER_NAME = 19;

/** When the process began; undefined where there is no such process, or it has ended. */
export function processStart(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // A zombie has ended and only waits to be asked for its exit code.
      return fields[0] === "Z" || fields[0] === "X" ? undefined : (fields[START_TIME_AFTER_NAME] ?? "");
    } catch {
      return undefined;
    }
  }
  if (process.platform === "darwin") {
    const asked = Bun.spawnSync(["/bin/ps", "-o", "lstart=", "-p", String(pid)], { env: { LC_ALL: "C", TZ: "UTC" } });
    const answer = asked.stdout.toString().trim();
    return answer === "" ? undefined : answer;
  }
  try {
    process.kill(pid, 0);
    return "";
  } catch (error) {
    // EPERM: it lives and belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM" ? "" : undefined;
  }
}

let boot: string | undefined;

/** Name of this start of the machine. */
export function bootId(): string {
  boot ??= readBootId();
  return boot;
}

function readBootId(): string {
  if (process.platform === "linux") {
    try {
      return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    } catch {
      // A container may hide it; the moment of the start is as good.
    }
  }
  if (process.platform === "darwin") {
    const answer = Bun.spawnSync(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]).stdout.toString().trim();
    if (answer !== "") return answer;
  }
  // Minutes, since the clock and the uptime are not read at one moment.
  return `up-since-${Math.round((Date.now() / 1000 - uptime()) / 60)}`;
}

export const ownIdentity = (): ProcessIdentity => ({ pid: process.pid, processStart: processStart(process.pid) ?? "", bootId: bootId() });

/** True where exactly this process still runs: same boot, same pid, same start. */
export function isRunning(identity: ProcessIdentity): boolean {
  return identity.bootId === bootId() && processStart(identity.pid) === identity.processStart;
}
