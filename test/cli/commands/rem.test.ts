import { describe, expect, test } from "bun:test";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost } from "../fake-host.ts";

const record = { action: "rem", ran: true, decayed_count: 3, error: null, embeddings_missing_before: 2, embeddings_missing_after: 0 };

describe("rem", () => {
  test("asks for one cycle, prints its record as JSON and drains", async () => {
    const host = fakeHost({ answer: () => record });
    expect(await runCli(["rem"], host)).toBe(0);
    expect(host.sent.map(({ method }) => method)).toEqual(["owner/rem"]);
    expect(JSON.parse(host.out())).toEqual(record);
    expect(host.life).toEqual(["open -", "drain"]);
  });
  test("a phase that failed makes the exit code 1; a cycle that another one kept from running does not", async () => {
    expect(await runCli(["rem"], fakeHost({ answer: () => ({ ...record, error: "decay: …" }) }))).toBe(1);
    expect(await runCli(["rem"], fakeHost({ answer: () => ({ action: "rem", ran: false, reason: "busy" }) }))).toBe(0);
  });
  test("any flag but help is wrong usage, named, and nothing is asked", async () => {
    const host = fakeHost();
    expect(await runCli(["rem", "--now"], host)).toBe(2);
    expect(host.err()).toContain("--now");
    expect(host.life).toEqual([]);
  });
});
