import { expect, test } from "bun:test";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost } from "../fake-host.ts";

const applied = { name: "0001_a", state: "applied", appliedAt: "2026-01-02" };
const pending = { name: "0002_b", state: "pending", appliedAt: undefined };

test("says what was applied, or that there was nothing to do", async () => {
  const host = fakeHost({ migrations: { applied: ["0001_a"], warnings: ["vector is 0.8.1"], files: [applied] } });
  expect(await runCli(["migrate"], host)).toBe(0);
  expect(host.out()).toBe("applied  0001_a\n");
  expect(host.err()).toBe("vector is 0.8.1\n");
  const done = fakeHost({ migrations: { applied: [], warnings: [], files: [applied] } });
  await runCli(["migrate"], done);
  expect(done.out()).toContain("up to date");
});

test("--status lists; pending is no failure there, an edited file is", async () => {
  const host = fakeHost({ migrations: { applied: [], warnings: [], files: [applied, pending] } });
  expect(await runCli(["migrate", "--status"], host)).toBe(0);
  expect(host.out()).toBe("applied  0001_a  2026-01-02\npending  0002_b\n");
  const edited = fakeHost({ migrations: { applied: [], warnings: [], files: [{ ...applied, state: "edited" }] } });
  expect(await runCli(["migrate", "--status"], edited)).toBe(1);
});
