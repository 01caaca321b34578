import { describe, expect, test } from "bun:test";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost } from "../fake-host.ts";

const report = { model: "e5", dimensions: 384, due: 3, fetched: 3, updated: 3, failed: 0, remaining: 0 };

describe("reembed", () => {
  test("asks the owner, with progress, and says what was done", async () => {
    const host = fakeHost({ answer: () => report });
    expect(await runCli(["reembed", "--batch=7"], host)).toBe(0);
    expect(host.sent).toEqual([{ method: "owner/reembed", params: { all: false, batch: 7, _meta: { progressToken: "owner/reembed" } } }]);
    expect(host.out()).toBe("3 vectors computed, 0 failed, 0 still to do.\n");
    expect(host.life).toEqual(["open -", "drain"]);
  });
  test("what failed or is left makes the exit code 1; much that is new asks for a new threshold", async () => {
    const host = fakeHost({ answer: () => ({ ...report, updated: 101, failed: 1 }) });
    expect(await runCli(["reembed"], host)).toBe(1);
    expect(host.out()).toContain("threshold");
  });
  test("a batch outside of 1 to 5000 is refused", async () => {
    for (const batch of ["0", "5001"]) expect(await runCli(["reembed", "--batch", batch], fakeHost())).toBe(2);
  });
  test("broken off, it tells the owner to stop, and ends with 130", async () => {
    const stop = new AbortController();
    const host = fakeHost({
      signal: stop.signal,
      answer: () => {
        stop.abort();
        return new Promise(() => {});
      },
    });
    expect(await runCli(["reembed"], host)).toBe(130);
    expect(host.sent.at(-1)).toEqual({ method: "notifications/cancelled", params: { requestId: 1 } });
    expect(host.life).toEqual(["open -", "drain"]);
  });
  test("without a model the owner's reason is told", async () => {
    const host = fakeHost({
      answer: () => {
        throw new Error("No embedding model is loaded. Nothing was written.");
      },
    });
    expect(await runCli(["reembed", "--all"], host)).toBe(1);
    expect(host.err()).toContain("Nothing was written");
  });
});

describe("reembed --dim", () => {
  test("shows the columns first, changes them with --apply, and never opens the product", async () => {
    const host = fakeHost({ columns: ["brain_observations.embedding (384)"] });
    expect(await runCli(["reembed", "--dim", "1024"], host)).toBe(0);
    expect(host.out()).toContain("memory-industry reembed --dim 1024 --apply");
    expect(await runCli(["reembed", "--dim", "1024", "--apply"], host)).toBe(0);
    expect(host.life).toEqual(["looked", "changed"]);
  });
  test("--apply alone is wrong usage", async () => {
    expect(await runCli(["reembed", "--apply"], fakeHost())).toBe(2);
  });
});
