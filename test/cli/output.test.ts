import { describe, expect, test } from "bun:test";
import { createOutput, spellCommands } from "../../src/cli/output.ts";
import { runCli } from "../../src/cli/run.ts";
import { fakeHost } from "./fake-host.ts";

const names = ["models", "doctor"];
const fromSource = ["/opt/my bun", "/src/main.ts"];

describe("commands that a text names", () => {
  test("are spelled out where the shell does not know the program, quoted for it", () => {
    expect(spellCommands("Install it with 'memory-industry models embed'.\n→ memory-industry doctor", fromSource, names)).toBe(
      "Install it with ''/opt/my bun' /src/main.ts models embed'.\n→ '/opt/my bun' /src/main.ts doctor",
    );
  });
  test("stay as they are where it does, and so does everything that is no command", () => {
    expect(spellCommands("run memory-industry doctor", ["memory-industry"], names)).toBe("run memory-industry doctor");
    for (const prose of ["memory-industry is it", "/home/a/memory-industry doctor", "~/.cache/memory-industry", "memory-industry doctors"])
      expect(spellCommands(prose, ["/x/$&/b"], names)).toBe(prose);
  });
  test("in failures and usage errors of a command too", async () => {
    const host = { ...fakeHost(), typed: ["/opt/bun", "/src/main.ts"] as const };
    expect(await runCli(["models", "status", "--model", "x"], host)).toBe(2);
    expect(host.err()).toContain("'/opt/bun /src/main.ts models --help' shows its arguments.");
    const failing = { ...fakeHost({ failToOpen: new Error("boom") }), typed: ["/opt/bun", "/src/main.ts"] as const };
    expect(await runCli(["search", "x"], failing)).toBe(1);
    expect(failing.err()).toContain("'/opt/bun /src/main.ts doctor' checks the installation");
  });
});

describe("what a memory says", () => {
  const STORED = "\u001b[2J\u001b]0;owned\u0007 red \u009b31m and \u202e backwards\ta tab\nand a line";
  const SEEN = "\\u001b[2J\\u001b]0;owned\\u0007 red \\u009b31m and \\u202e backwards\ta tab\nand a line";

  test("cannot drive the terminal of whoever looks at it: escape sequences are written out", () => {
    let out = "";
    let err = "";
    const output = createOutput({ stdout: (text) => (out += text), stderr: (text) => (err += text) });
    output.line(STORED);
    output.note(STORED);
    expect([out, err]).toEqual([`${SEEN}\n`, `${SEEN}\n`]);
  });

  test("stays the same value as JSON", () => {
    let out = "";
    createOutput({ stdout: (text) => (out += text), stderr: () => {} }).json({ content: STORED });
    for (const sign of ["\u001b", "\u0007", "\u009b", "\u202e"]) expect(out).not.toContain(sign);
    expect(JSON.parse(out)).toEqual({ content: STORED });
  });
});
