/** Work on the schema itself (`migrate`, `reembed --dim`, `secure`): as its owner, without composing the product. */
import { join } from "node:path";
import { nodeName } from "../config/environment.ts";
import { chooseDatabase } from "../config/modes.ts";
import { requirePath } from "../config/paths.ts";
import { OWNER_LEAVES_WITHIN_MS, takeOwnership } from "../daemon/ownership.ts";
import { conflict, MemoryError } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import type { OwnerAccess } from "../store/connection.ts";
import { grants, migrations } from "../store/migrations.ts";
import { openPostgres } from "../store/postgres.ts";
import { startEmbedded } from "../store/start.ts";
import { linkTo } from "../transports/daemon-link.ts";
import { openAssets } from "./assets.ts";
import { openForReading } from "./bootstrap.ts";
import { cacheFolder } from "./cache-folder.ts";
import { helloOf, type ProcessFacts } from "./process.ts";

/** How long a running daemon may take for its welcome, milliseconds. */
const WELCOME_LIMIT_MS = 3_000;

export interface Opened {
  readonly db: OwnerAccess;
  /** Files that opening the embedded database applied. */
  readonly applied: readonly string[];
  readonly warnings: readonly string[];
}

export interface OwnerWork<T> {
  /** Looks and changes nothing: an embedded database is neither made nor migrated. */
  readonly onlyLook: boolean;
  readonly run: (opened: Opened) => Promise<T>;
  /** A daemon owns the embedded database; without this the work is refused. */
  readonly askDaemon?: () => Promise<T>;
}

/** @throws MemoryError `conflict` where a running daemon owns the embedded database; `unavailable` where the database cannot be opened */
export async function asSchemaOwner<T>(facts: ProcessFacts, work: OwnerWork<T>, signal: AbortSignal): Promise<T> {
  const { config, log } = facts;
  const choice = chooseDatabase(config);
  if (choice.kind === "embedded") return await onEmbedded(facts, work, signal);
  await using db = openPostgres({ url: choice.url, nodeName: nodeName(config), log });
  return await work.run({ db, applied: [], warnings: [] });
}

async function onEmbedded<T>({ config, log, paths }: ProcessFacts, work: OwnerWork<T>, signal: AbortSignal): Promise<T> {
  const found = await linkTo(paths().socket, helloOf("cli", config), WELCOME_LIMIT_MS);
  if (found.kind === "linked") {
    const { pid } = found.link.welcome;
    found.link.abort();
    if (work.askDaemon !== undefined) return await work.askDaemon();
    throw conflict(
      `The memory daemon (process ${pid}) owns the database; nothing was changed. Close the clients and stop 'serve', then run the command again.`,
    );
  }
  const owning = await takeOwnership({
    paths: paths(),
    version: VERSION,
    address: "alone",
    waitMs: OWNER_LEAVES_WITHIN_MS,
    stop: signal,
    log,
  });
  if (owning.kind !== "owned") throw new MemoryError("cancelled", "Broken off before anything was done.");
  try {
    const assets = openAssets();
    if (work.onlyLook) {
      await using db = await openForReading({ config, assets, nodeName: nodeName(config), log });
      return await work.run({ db, applied: [], warnings: [] });
    }
    const { db, report } = await startEmbedded({
      directory: join(requirePath(config.paths, "dataDir"), "db"),
      assets: await assets.engine(cacheFolder(config.paths)),
      template: assets.template,
      nodeName: nodeName(config),
      schema: { migrations, grants },
    });
    try {
      return await work.run({ db, ...report });
    } finally {
      await db[Symbol.asyncDispose]();
    }
  } finally {
    owning.lock.release();
  }
}
