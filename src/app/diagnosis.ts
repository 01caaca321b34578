/** Gathers what `doctor` judges: from the process that owns the database, and from outside. Migrates nothing, starts nothing. */
import { lstatSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { hookLogOf, readHookFailures } from "../cli/hook-log.ts";
import type { Config } from "../config/load.ts";
import { availableMb } from "../config/machine-readings.ts";
import { chooseDatabase, modes } from "../config/modes.ts";
import { liveOwner, readOwner } from "../daemon/owner-lock.ts";
import { type DaemonPaths, withoutPassword } from "../daemon/paths.ts";
import type { OurProcess, OutsideFacts, OwnerFacts, OwnerState } from "../doctor/check.ts";
import type { GoldenPairs } from "../inference/models/description.ts";
import { goldenCosine } from "../inference/models/golden.ts";
import type { PairSlot } from "../inference/models/locate-pair.ts";
import { VERSION } from "../kernel/version.ts";
import { openFileLimit } from "../store/embedded/open-files.ts";
import { migrationStatus } from "../store/migrate.ts";
import { migrations } from "../store/migrations.ts";
import type { Linked } from "../transports/daemon-link.ts";
import type { OwnedDatabase } from "./bootstrap.ts";
import { judgeFacts } from "./judge.ts";
import { locateModel, locatePair, type Models } from "./models.ts";

/** Tables that the shipped migrations create: read from the files, so that no list can fall behind. */
const shippedTables = (): string[] =>
  [
    ...new Set(
      migrations.flatMap(({ sql }) =>
        [...sql.matchAll(/^create table (?:if not exists )?(brain_[a-z_]+)/gim)].map((match) => match[1] ?? ""),
      ),
    ),
  ].sort();

export interface OwnerParts {
  readonly models: Models;
  readonly database: { readonly db: OwnedDatabase } | { readonly reason: string; readonly isNew: boolean };
}

/** What the owner of the database knows. */
export async function ownerFacts(
  parts: OwnerParts,
  options: { readonly deep: boolean; readonly signal: AbortSignal },
): Promise<OwnerFacts> {
  const { models, database } = parts;
  const { config, plan, embedder } = models;
  const { settings } = config;
  const choice = chooseDatabase(config);
  const model = await locateModel(config);
  const golden = model.kind === "installed" ? model.settings.golden : undefined;
  return {
    mode: { name: config.mode, description: modes[config.mode].doc },
    place: choice.kind === "postgres" ? withoutPassword(choice.url) : join(config.paths.dataDir ?? "", "db"),
    isEmbedded: choice.kind === "embedded",
    configurationWarnings: config.warnings.map(({ message }) => message),
    machine: {
      totalMb: plan.readings.totalMb,
      availableMb: availableMb(),
      cores: plan.readings.logicalCores,
      openFiles: openFileLimit(),
    },
    plan,
    reranker: models.reranker,
    rerank: models.rerank,
    entailment: models.entailment,
    judge: judgeFacts(config),
    deepMs: settings.DOCTOR_DEEP_SECS.value * 1_000,
    auditKey: { isSet: settings.AUDIT_KEY.value !== undefined },
    identifiesCallers: false,
    embedder,
    goldenPairs: { reranker: await goldenPairsOf(config, "reranker"), nli: await goldenPairsOf(config, "nli") },
    goldenCosine: golden === undefined ? undefined : (signal) => goldenCosine(embedder, golden, signal),
    database:
      "db" in database
        ? { db: database.db, migrations: () => database.db.asOwner((connection) => migrationStatus(connection, migrations)) }
        : { db: undefined, reason: database.reason, isNew: database.isNew },
    tables: shippedTables(),
    ...options,
  };
}

async function goldenPairsOf(config: Config, slot: PairSlot): Promise<GoldenPairs | undefined> {
  const found = await locatePair(config, slot);
  return found.kind === "installed" ? found.golden : undefined;
}

/** Who owns the data directory, from the lock and the answer on its socket. */
export function ownerState(place: DaemonPaths, found: Linked): OwnerState {
  if (found.kind === "linked") {
    const { pid, version, owner } = found.link.welcome;
    return { kind: "answers", pid, version, how: owner, address: readOwner(place.lock)?.address };
  }
  const record = readOwner(place.lock);
  const live = liveOwner(place.lock);
  if (live !== undefined || found.kind === "silent") return { kind: "silent", pid: live?.pid, version: live?.version };
  return record === undefined ? { kind: "none" } : { kind: "dead", pid: record.pid };
}

const SHOWN_HOOK_FAILURES = 3;
/** Longest wait for whoever listens on the HTTP address, milliseconds. */
const PORT_PROBE_MS = 1_000;

export function outsideFacts(config: Config, place: DaemonPaths, found: Linked): OutsideFacts {
  const { host, port } = config.settings.HTTP_ADDR.value;
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    version: VERSION,
    httpAddress: address,
    probePort: () => probePort(address),
    owner: ownerState(place, found),
    dataDirectory: place.dataDir,
    processes: async () => ourProcesses(),
    hookFailures: () => readHookFailures(hookLogOf(place.dataDir), SHOWN_HOOK_FAILURES),
    exposedFiles: async () => exposedFiles(config),
  };
}

async function probePort(address: string): Promise<"free" | "ours" | "taken"> {
  try {
    const answer = await fetch(`http://${address}/health`, { signal: AbortSignal.timeout(PORT_PROBE_MS), proxy: "" });
    const body: unknown = await answer.json();
    return typeof body === "object" && body !== null && "uptime_secs" in body && "connect" in body ? "ours" : "taken";
  } catch (error) {
    const refused = error instanceof Error && "code" in error && /^(ECONNREFUSED|ConnectionRefused)$/.test(String(error.code));
    return refused ? "free" : "taken";
  }
}

const programNames = new Set(["memory-industry", "cuba-memorys", "cuba-memorys-daemon"]);

/** Processes of ours but this one, where the system shows them (Linux): whole file name, since a prefix would accuse strangers. */
function ourProcesses(): OurProcess[] | undefined {
  let pids: number[];
  try {
    pids = readdirSync("/proc")
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && pid !== process.pid);
  } catch {
    return undefined;
  }
  return pids.flatMap((pid): OurProcess[] => {
    try {
      const image = readlinkSync(`/proc/${pid}/exe`);
      const path = image.replace(/ \(deleted\)$/, "");
      if (!programNames.has(basename(path))) return [];
      const replaced = image !== path || statSync(path).mtimeMs > statSync(`/proc/${pid}`).ctimeMs;
      return [{ pid, program: path, isStale: replaced }];
    } catch {
      return []; // gone meanwhile, or another user's
    }
  });
}

/** Files with secrets in them that others can read. */
function exposedFiles({ paths }: Config): string[] {
  if (process.platform === "win32") return [];
  const names = ["pgpass", "pgpass_app", "audit_key", "llm.env", "graph.env", "memory-industry.env"];
  const folders = [paths.configDir, paths.serviceEnvDir, paths.cacheRoot].filter((folder) => folder !== undefined);
  return [...new Set(folders.flatMap((folder) => names.map((name) => join(folder, name))))].filter((file) => {
    const stat = lstatSync(file, { throwIfNoEntry: false });
    return stat?.isFile() === true && (stat.mode & 0o077) !== 0;
  });
}
