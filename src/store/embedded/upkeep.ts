/**
 * What a server's background processes do and single-user PostgreSQL does not: checkpoints, ANALYZE, VACUUM. Without it the log grows without
 * end, the planner stays blind, and each decay cycle leaves a dead copy of every row it touched. All of it waits for moments in which nobody
 * asks anything, one table at a time, since the engine does one thing at a time and a running statement cannot be stopped.
 */
import type { Connection } from "../connection.ts";

/** Log volume after which a quiet moment is used for a checkpoint, bytes: recovery after a crash reads at most this and a little. */
const CHECKPOINT_BYTES = 32 * 1024 * 1024;
/** Log volume at which the checkpoint no longer waits. */
const CHECKPOINT_NOW_BYTES = 4 * CHECKPOINT_BYTES;
/** Quiet time before a checkpoint or an ANALYZE (tens of milliseconds), and how often it is looked whether something is due. */
const PAUSE_MS = 2_000;
/** Quiet time before a VACUUM: 0.1 s for 4,000 rows with 12,000 dead ones, growing with the table. */
const LONG_PAUSE_MS = 30_000;
/** Autovacuum's own measures: a fixed number of rows plus a share of the table. */
const LEAST_ROWS = 50;
const VACUUM_SHARE = 0.2;
const ANALYZE_SHARE = 0.1;

export interface UpkeepOptions {
  readonly connection: Connection;
  /** Runs work in a turn of its own. */
  readonly take: <T>(work: () => Promise<T>) => Promise<T>;
  readonly log: { readonly volume: number; forgetVolume(): void };
  /** False where the disk is too full for anything that can wait. */
  readonly hasRoom?: () => boolean;
  /** Milliseconds, monotonic. */
  readonly clock?: () => number;
}

export interface Upkeep {
  /** A transaction ended; `wrote` where it may have changed something. */
  used(wrote: boolean): void;
  /** Does what is due after `quietMs` without a call; answers the statements that it ran. At most one table. */
  step(quietMs: number): Promise<string[]>;
  checkpoint(): Promise<void>;
  stop(): void;
}

export function createUpkeep(options: UpkeepOptions): Upkeep {
  const { connection, log } = options;
  const clock = options.clock ?? (() => performance.now());
  let lastUse = clock();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;

  const run = (statement: string) =>
    options.take(async () => {
      if (!stopped) await connection.script(statement);
    });

  const checkpoint = async () => {
    await run("checkpoint");
    log.forgetVolume();
  };

  /** The table that needs it most, or undefined. */
  const due = async (counter: "n_dead_tup" | "n_mod_since_analyze", share: number): Promise<string | undefined> => {
    const { rows } = await options.take(() =>
      connection.query(`
        select quote_ident(relname) as name
        from pg_stat_user_tables
        where schemaname = 'public' and ${counter} > ${LEAST_ROWS} + ${share} * n_live_tup
        order by ${counter} desc, relname
        limit 1`),
    );
    const name = rows[0]?.name;
    return typeof name === "string" ? name : undefined;
  };

  const step = async (quietMs: number): Promise<string[]> => {
    if (stopped) return [];
    if (log.volume >= CHECKPOINT_NOW_BYTES || (log.volume >= CHECKPOINT_BYTES && quietMs >= PAUSE_MS)) {
      await checkpoint();
      return ["checkpoint"];
    }
    if (quietMs < PAUSE_MS || options.hasRoom?.() === false) return [];
    const stale = await due("n_mod_since_analyze", ANALYZE_SHARE);
    const full = stale === undefined && quietMs >= LONG_PAUSE_MS ? await due("n_dead_tup", VACUUM_SHARE) : undefined;
    const statement = stale !== undefined ? `analyze ${stale}` : full !== undefined ? `vacuum (analyze) ${full}` : undefined;
    if (statement === undefined) return [];
    await run(statement);
    return [statement];
  };

  const tick = async () => {
    timer = undefined;
    const quietMs = clock() - lastUse;
    const done = await step(quietMs);
    // Until the long pause something may become due by waiting alone; after it, only by a new write.
    if (done.length > 0 || quietMs < LONG_PAUSE_MS) arm();
  };

  const arm = () => {
    if (stopped || timer !== undefined) return;
    // A failure here (a full disk) is met again by the next write, which has somebody to tell.
    timer = setTimeout(() => void tick().catch(() => undefined), PAUSE_MS);
    timer.unref();
  };

  return {
    used(wrote) {
      lastUse = clock();
      if (wrote) arm();
    },
    step,
    checkpoint,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
