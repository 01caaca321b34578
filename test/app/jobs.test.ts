/** When cycles run by themselves. */
import { expect, test } from "bun:test";
import { startJobs } from "../../src/app/jobs.ts";
import { loadConfig } from "../../src/config/load.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { CycleOutcome, CycleRequest, Rem } from "../../src/services/rem/cycle.ts";

const configWith = (environment: Record<string, string>) =>
  loadConfig({ environment: { HOME: "/home/ana", ...environment }, machine: { platform: "linux", workingDirectory: "/" } });

function started(environment: Record<string, string>, run: (request: CycleRequest) => Promise<CycleOutcome>, given: object = {}) {
  const stop = new AbortController();
  const rem: Rem = { run, settled: async () => {}, recent: async () => [], llmCallsToday: async () => 0 };
  const jobs = startJobs({
    rem,
    db: { traits: { concurrent: true, crossProcessNotify: true, serverVersion: 0 }, asOwner: () => Promise.reject() },
    clients: { sweep: async () => {} },
    config: configWith(environment),
    consolidates: true,
    stopped: stop.signal,
    log: silentLogger,
    ...given,
  });
  return { jobs, stop };
}

test("the first cycle comes 300 seconds after the start, or when the variable says", () => {
  expect(configWith({}).settings.REM_FIRST_DELAY_SECS.value).toBe(300);
  expect(configWith({ CUBA_REM_FIRST_DELAY_SECS: "7" }).settings.REM_FIRST_DELAY_SECS.value).toBe(7);
  expect(configWith({ CUBA_REM_FIRST_DELAY_SECS: "0" }).settings.REM_FIRST_DELAY_SECS.value).toBe(0);
});

test("cycles follow one another, leaving out what was done within half an interval, and end with the product", async () => {
  const requests: CycleRequest[] = [];
  const third = Promise.withResolvers<void>();
  const { stop } = started(
    { CUBA_REM_FIRST_DELAY_SECS: "0" },
    async (request) => {
      requests.push(request);
      if (requests.length === 3) third.resolve();
      if (requests.length === 2) throw new Error("the database is away");
      return { kind: "busy" };
    },
    { everyMs: 1 },
  );
  await third.promise;
  stop.abort();
  expect(requests[0]?.unlessWithinSecs).toBe(0.0005);
  expect(requests[0]?.signal.aborted).toBe(true);
});

test("before an idle stop the overdue cycle runs once; a process of one command runs none", async () => {
  const requests: CycleRequest[] = [];
  const run = async (request: CycleRequest): Promise<CycleOutcome> => {
    requests.push(request);
    return { kind: "recent", secondsAgo: 5 };
  };
  const daemon = started({}, run);
  await daemon.jobs.beforeIdleStop();
  expect(requests.map(({ unlessWithinSecs }) => unlessWithinSecs)).toEqual([4 * 3_600]);
  daemon.stop.abort();
  const command = started({ CUBA_REM_FIRST_DELAY_SECS: "0" }, run, { consolidates: false });
  await command.jobs.beforeIdleStop();
  expect(requests.length).toBe(1);
  command.stop.abort();
});

test("batches of the language model are a number, auto or off; anything else is the default", () => {
  const batch = (text: string) => configWith({ CUBA_REM_RELATION_BATCH: text }).settings.REM_RELATION_BATCH.value;
  expect([batch("7"), batch("0"), batch("auto"), batch("-3"), batch("many")]).toEqual([7, 0, "auto", 0, 0]);
  expect(configWith({}).settings.REM_EXTRACTION_BATCH.value).toBe(0);
  expect(configWith({}).settings.LLM_DAILY_CAP.value).toBe(200);
  expect(configWith({ CUBA_REM_BACKFILL_LIMIT: "-1" }).settings.REM_BACKFILL_LIMIT.value).toBe(100);
});
