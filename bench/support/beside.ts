/** Whether work holds somebody up who searches meanwhile, and how long the work keeps the thread to itself. */
import { loadavg } from "node:os";
import { percentile } from "../../src/domain/retrieval/metrics.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type Calls, createCalls } from "../../src/services/pace.ts";
import { createSearch } from "../../src/services/search/search.ts";
import type { Database, Query, Tx } from "../../src/store/port.ts";
import { faroAsAsked } from "../../src/tools/search.ts";
import { benchContext, withoutModel } from "../retrieval/bench-database.ts";

const SEARCH_EVERY_MS = 50;
const ALONE_SEARCHES = 100;
const WARM_SEARCHES = 20;
/** How often the event loop is looked at: a stretch is known to so many milliseconds. */
const LOOK_EVERY_MS = 2;
/** Of a long statement, what is shown. */
const SHOWN_CHARS = 110;

/** Processor time of this thread, milliseconds: what others do on the machine is not in it. */
const threadMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** The longest of something since it was last asked for. */
interface Longest {
  ms: number;
  what: string;
}

export interface Meter {
  /** The database as the measured work sees it. */
  readonly db: Database;
  /** The longest transaction, statement and stretch without a look at the event loop since the last call, processor time of the thread. */
  take(): { readonly turn: Longest; readonly statement: Longest; readonly stretch: number };
  stop(): void;
}

/** Watches the thread, and the statements of whoever uses `db` through it. In the embedded engine a statement is a function call on this thread. */
export function meter(db: Database): Meter {
  let turn: Longest = { ms: 0, what: "" };
  let statement: Longest = { ms: 0, what: "" };
  let stretch = 0;
  let last = threadMs();
  const timer = setInterval(() => {
    const now = threadMs();
    stretch = Math.max(stretch, now - last);
    last = now;
  }, LOOK_EVERY_MS);

  const text = (query: Query<unknown> | Parameters<Tx["run"]>[0]) => {
    const chunks = "statement" in query ? query.statement.queryChunks : query.queryChunks;
    const shown = chunks.map((each) => (typeof each === "object" && each !== null && "value" in each ? String(each.value) : "?")).join("");
    return shown.replaceAll(/\s+/g, " ").trim().slice(0, SHOWN_CHARS);
  };
  const timed =
    (tx: Tx, seen: string[]) =>
    async <T>(what: Query<unknown> | Parameters<Tx["run"]>[0], send: (tx: Tx) => Promise<T>): Promise<T> => {
      const before = threadMs();
      const result = await send(tx);
      const ms = threadMs() - before;
      seen.push(text(what));
      if (ms > statement.ms) statement = { ms, what: text(what) };
      return result;
    };
  const watched = (tx: Tx, seen: string[]): Tx => {
    const time = timed(tx, seen);
    return {
      all: (query) => time(query, (inner) => inner.all(query)),
      first: (query) => time(query, (inner) => inner.first(query)),
      run: (query) => time(query, (inner) => inner.run(query)),
      savepoint: (work) => tx.savepoint((inner) => work(watched(inner, seen))),
    };
  };
  const measured =
    <T>(work: (tx: Tx) => Promise<T>) =>
    async (tx: Tx): Promise<T> => {
      const seen: string[] = [];
      const before = threadMs();
      const result = await work(watched(tx, seen));
      const ms = threadMs() - before;
      if (ms > turn.ms) turn = { ms, what: `${seen.length} statements, first: ${seen[0] ?? "none"}` };
      return result;
    };

  return {
    db: {
      ...db,
      get traits() {
        return db.traits;
      },
      read: (ctx, work, limits) => db.read(ctx, measured(work), limits),
      write: (ctx, work, limits) => db.write(ctx, measured(work), limits),
      [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
    },
    take() {
      const found = { turn, statement, stretch };
      turn = { ms: 0, what: "" };
      statement = { ms: 0, what: "" };
      stretch = 0;
      last = threadMs();
      return found;
    },
    stop: () => clearInterval(timer),
  };
}

export const shownMeter = ({ turn, statement, stretch }: ReturnType<Meter["take"]>) =>
  `longest transaction ${turn.ms.toFixed(1)} (${turn.what}), statement ${statement.ms.toFixed(1)} (${statement.what}), stretch ${stretch.toFixed(1)} ms of processor time`;

export const shownTimes = (values: readonly number[]) =>
  `${values.length} searches, p50 ${percentile(values, 0.5).toFixed(1)} p95 ${percentile(values, 0.95).toFixed(1)} most ${Math.max(...values).toFixed(1)} ms`;

export interface Searcher {
  readonly calls: Calls;
  /** Searches every 50 ms while `isRunning`; each search's time goes to `took`. */
  during(isRunning: () => boolean, took: (ms: number) => void): Promise<void>;
  /** Times with nothing beside, after a warm-up. */
  alone(onWarm?: () => void): Promise<readonly number[]>;
}

/** A client that asks for a word of one row: questions whose every word is in a third of the rows cost seconds by themselves here, and would hide what is asked. */
export function createSearcher(db: Database, observations: number): Searcher {
  const calls = createCalls();
  const ask = faroAsAsked({
    search: createSearch({ db, embedder: withoutModel, fusion: "scores", entityLeg: true }),
    presentation: { compactChars: 1_200 },
  });
  const ctx = benchContext({ kind: "none" });
  let asked = 0;
  const search = async (): Promise<number> => {
    const query = String((++asked * 1_301) % observations);
    const startedAt = performance.now();
    const leave = calls.enter(newId());
    await ask(ctx, { query, track_access: false }, {}).finally(leave);
    return performance.now() - startedAt;
  };
  const during: Searcher["during"] = async (isRunning, took) => {
    while (isRunning()) {
      took(await search());
      await Bun.sleep(SEARCH_EVERY_MS);
    }
  };
  return {
    calls,
    during,
    async alone(onWarm = () => {}) {
      for (let warm = 0; warm < WARM_SEARCHES; warm++) await search();
      onWarm();
      const times: number[] = [];
      await during(
        () => times.length < ALONE_SEARCHES,
        (ms) => times.push(ms),
      );
      return times;
    },
  };
}

/** Runs work by itself and then beside a searching client, and prints a line of each. */
export async function compared(
  label: string,
  { searcher, watch }: { readonly searcher: Searcher; readonly watch: Meter },
  aloneP50: number,
  work: () => Promise<string>,
): Promise<void> {
  watch.take();
  const startedAt = performance.now();
  const what = await work();
  console.log(`${label.padEnd(12)} ${((performance.now() - startedAt) / 1_000).toFixed(1)} s (${what}); ${shownMeter(watch.take())}`);
  const times: number[] = [];
  let running = true;
  const again = work().finally(() => {
    running = false;
  });
  await searcher.during(
    () => running,
    (ms) => times.push(ms),
  );
  await again;
  const heldUp = times.map((ms) => Math.max(0, ms - aloneP50));
  console.log(
    `${"".padEnd(12)} beside it ${shownTimes(times)}; held up p95 ${percentile(heldUp, 0.95).toFixed(1)} most ${Math.max(...heldUp).toFixed(1)} ms (load ${loadavg()[0]?.toFixed(1)})`,
  );
}
