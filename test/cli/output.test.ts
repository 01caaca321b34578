import { describe, expect, test } from "bun:test";
import { spellCommands } from "../../src/cli/output.ts";
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
