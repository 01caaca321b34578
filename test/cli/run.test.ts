import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commandHelp, overview } from "../../src/cli/help.ts";
import { commands } from "../../src/cli/registry.ts";
import { runCli } from "../../src/cli/run.ts";
import { fakeHost } from "./fake-host.ts";

/** A host on which reading the configuration or opening anything fails. */
const untouchable = () => {
  const host = fakeHost();
  const refuse = () => {
    throw new Error("help must touch nothing");
  };
  return { ...host, installation: refuse, openGateway: refuse, serve: refuse };
};

describe("version and help", () => {
  test("--version, -V and version print one line and touch nothing", async () => {
    for (const word of ["--version", "-V", "version"]) {
      const host = untouchable();
      expect(await runCli([word], host)).toBe(0);
      expect(host.out()).toBe("memory-industry 1.2.3\n");
      expect(host.err()).toBe("");
    }
  });

  test("--help, -h and help are the same bytes and name every command", async () => {
    const texts = await Promise.all(
      ["--help", "-h", "help"].map(async (word) => {
        const host = untouchable();
        expect(await runCli([word], host)).toBe(0);
        return host.out();
      }),
    );
    expect(new Set(texts).size).toBe(1);
    for (const { name, internal } of commands) if (internal !== true) expect(texts[0]).toContain(`\n  ${name} `);
  });

  test.each(commands.map(({ name }) => name))("%s --help prints its usage and touches nothing, wherever the flag stands", async (name) => {
    const first = untouchable();
    expect(await runCli([name, "--help"], first)).toBe(0);
    expect(first.out()).toStartWith(`usage: memory-industry ${name}`);
    expect(first.out()).not.toContain("\u001b");
    expect(first.err()).toBe("");
    const last = untouchable();
    expect(await runCli([name, "some", "--words", "-h"], last)).toBe(0);
    expect(last.out()).toBe(first.out());
    expect(readdirSync(first.home)).toEqual([]);
  });

  test("the texts are the ones in test/golden/help", async () => {
    const golden = (name: string) => readFileSync(join(import.meta.dir, "../golden/help", `${name}.txt`), "utf8");
    expect(overview(commands)).toBe(golden("overview"));
    for (const command of commands) if (command.internal !== true) expect(await commandHelp(command)).toBe(golden(command.name));
  });

  test("the help does not depend on the terminal", async () => {
    const program = `import { runCli } from ${JSON.stringify(new URL("../../src/cli/run.ts", import.meta.url).pathname)};
      await runCli(["search", "--help"], { version: "1", stdout: (t) => process.stdout.write(t), stderr: () => {} });`;
    const print = (env: Record<string, string>) => Bun.spawnSync([process.execPath, "-e", program], { env }).stdout.toString();
    expect(print({ CI: "1" })).toBe(print({ TERM: "xterm-256color", FORCE_COLOR: "1" }));
    expect(print({ CI: "1" })).toStartWith("usage: memory-industry search");
  });
});

describe("wrong usage", () => {
  test("an unknown command is named with the known ones and never starts the server", async () => {
    const host = untouchable();
    expect(await runCli(["doctro"], host)).toBe(2);
    expect(host.err()).toStartWith("Unknown command 'doctro'. Did you mean 'doctor'?\n\n");
    expect(host.err()).toContain("usage: memory-industry");
    expect(host.out()).toBe("");
  });

  test.each(commands.map(({ name }) => name))("%s refuses a flag it does not know, by name, before anything is opened", async (name) => {
    const host = untouchable();
    expect(await runCli([name, "word", "--no-such-flag"], host)).toBe(2);
    expect(host.err()).toContain("--no-such-flag");
    expect(host.out()).toBe("");
  });
});

describe("exit codes", () => {
  test("a failure is 1, said on standard error only", async () => {
    const host = fakeHost({ failToOpen: new Error("secret internals") });
    expect(await runCli(["search", "x"], host)).toBe(1);
    expect(host.out()).toBe("");
    expect(host.err()).not.toContain("secret internals");
  });

  test("what a signal broke off is 130", async () => {
    const host = fakeHost({ signal: AbortSignal.abort(), failToOpen: new Error("aborted") });
    expect(await runCli(["search", "x"], host)).toBe(130);
  });
});
