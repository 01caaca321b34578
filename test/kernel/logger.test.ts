import { expect, test } from "bun:test";
import { createLogger } from "../../src/kernel/logger.ts";

const now = () => new Date("2026-01-02T03:04:05.678Z");

test("a field that is called like the line's own never replaces it", () => {
  const lines: string[] = [];
  const log = createLogger({ level: "info", write: (line) => lines.push(line), now });
  log.with({ level: "bound" }).info("memory plan", { at: "there", message: "other", budgetMb: 7 });
  expect(lines).toEqual([
    '{"at":"2026-01-02T03:04:05.678Z","level":"info","message":"memory plan","field_level":"bound","field_at":"there","field_message":"other","budgetMb":7}',
  ]);
});

test("what is below the level is not written, and a field without a value is left out", () => {
  const lines: string[] = [];
  const log = createLogger({ level: "warn", write: (line) => lines.push(line), now });
  log.info("small talk");
  log.warn("trouble", { pid: undefined, port: 1 });
  expect(lines).toEqual(['{"at":"2026-01-02T03:04:05.678Z","level":"warn","message":"trouble","port":1}']);
});

test("a text of megabytes is logged by its start, and a secret at the cut is not cut open", () => {
  const lines: string[] = [];
  const log = createLogger({ level: "info", write: (line) => lines.push(line) });
  log.info("a short one", { text: `${"x ".repeat(3_000_000)}` });
  for (const before of [16_300, 16_370, 16_380, 16_384, 20_470, 20_479])
    log.info(`${"x".repeat(before)} ghp_abcdefghijklmnop ${"y ".repeat(9_000)}`);
  expect(lines.map((line) => line.length < 16_600)).toEqual(lines.map(() => true));
  expect(lines.join("")).not.toContain("ghp_");
  expect(lines[0]).toContain("…");
});
