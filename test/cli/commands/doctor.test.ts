import { expect, test } from "bun:test";
import { stripVTControlCharacters } from "node:util";
import { runCli } from "../../../src/cli/run.ts";
import type { Finding } from "../../../src/doctor/check.ts";
import { fakeHost } from "../fake-host.ts";

const findings: Finding[] = [
  { name: "mode", status: "ok", detail: "local" },
  { name: "onnx_model", status: "warn", detail: "none" },
];

test("warnings leave the exit code 0, one failure makes it 1", async () => {
  expect(await runCli(["doctor"], fakeHost({ findings }))).toBe(0);
  const broken: Finding[] = [...findings, { name: "connection", status: "fail", detail: "refused" }];
  expect(await runCli(["doctor"], fakeHost({ findings: broken }))).toBe(1);
});

test("--json is one value on standard output, also when something failed", async () => {
  const host = fakeHost({ findings: [{ name: "connection", status: "fail", detail: "refused", hint: "start it" }] });
  expect(await runCli(["doctor", "--json"], host)).toBe(1);
  expect(JSON.parse(host.out())).toEqual({
    healthy: false,
    failed: 1,
    warnings: 0,
    checks: [{ name: "connection", status: "fail", detail: "refused", hint: "start it" }],
  });
});

test("only a terminal gets colours, and then the words are the same", async () => {
  const plain = fakeHost({ findings });
  const coloured = fakeHost({ findings, hasColours: true });
  await runCli(["doctor"], plain);
  await runCli(["doctor"], coloured);
  expect(plain.out()).not.toContain("\u001b");
  expect(stripVTControlCharacters(coloured.out())).toBe(plain.out());
});
