import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type CliProgram, cliChat, findProgram } from "../../src/llm/cli.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-cli-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** A program that runs `body` with its standard input in `prompt`; the runtime of these tests runs it. */
async function program(body: string, backend: CliProgram["backend"] = "claude_cli"): Promise<CliProgram> {
  const path = join(directory, "claude");
  await writeFile(path, `#!${process.execPath}\nconst prompt = await Bun.stdin.text();\n${body}\n`);
  await chmod(path, 0o755);
  return { backend, path, model: "claude-haiku-4-5", environment: { BUN_BE_BUN: "1", WHO: "test" } };
}
const ask = (cli: CliProgram, signal = new AbortController().signal) =>
  cliChat(cli).complete({ prompt: "is it so?", maxTokens: 256 }, signal);
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => ({ code: "none", message: "" }),
    (error: { code: string; message: string }) => error,
  );

describe.skipIf(process.platform === "win32")("a chat program", () => {
  test("gets the prompt on its standard input, no MCP servers, and only the environment it was given", async () => {
    const cli = await program(
      "console.log(JSON.stringify({ type: 'result', is_error: false, result: JSON.stringify({ prompt, args: process.argv.slice(2), who: process.env.WHO, home: process.env.HOME ?? null }) }));",
    );
    expect(JSON.parse(await ask(cli))).toEqual({
      prompt: "is it so?",
      args: ["--model", "claude-haiku-4-5", "--print", "--output-format", "json", "--strict-mcp-config"],
      who: "test",
      home: null,
    });
  });

  test("of another kind answers in its own envelope, or without one", async () => {
    expect(await ask(await program("console.log(JSON.stringify({ response: 'yes' }))", "gemini_cli"))).toBe("yes");
    expect((await ask(await program("console.log('plain words')"))).trim()).toBe("plain words");
  });

  test("that says it failed has failed, whatever its result says", async () => {
    const { code, message } = await failureOf(ask(await program("console.log(JSON.stringify({ is_error: true, result: 'supports' }))")));
    expect([code, message]).toEqual(["unavailable", "The claude program reported an error of its own instead of a reply."]);
  });

  test("that ends badly is told by status and the end of its complaint, redacted before it is cut", async () => {
    const token = "ghp_abcdefghijklmnop0123456789";
    const cli = await program(`console.error("${"x".repeat(30)} ${token} " + "y ".repeat(1018)); process.exit(3);`);
    const { code, message } = await failureOf(ask(cli));
    expect(code).toBe("unavailable");
    expect(message).toStartWith("The claude program ended with status 3: ");
    expect(message).not.toContain("ghp_");
    expect(message).not.toContain("0123456789");
    expect(message.length).toBeLessThan(2_200);
  });

  test("that takes too long is ended, also one that does not want to", async () => {
    const cli = await program(
      `process.on("SIGTERM", () => {}); await Bun.write("${join(directory, "pid")}", String(process.pid)); await Bun.sleep(60_000);`,
    );
    const waiting = failureOf(ask(cli, AbortSignal.timeout(700)));
    expect((await waiting).code).toBe("timeout");
    const pid = Number(await readFile(join(directory, "pid"), "utf8"));
    expect(() => process.kill(pid, 0)).toThrow();
  });
});

describe("where a program lies", () => {
  test.skipIf(process.platform === "win32")("a name is looked for along PATH, and must be an executable file", async () => {
    const [first, second] = [join(directory, "first"), join(directory, "second")];
    await mkdir(join(first, "claude"), { recursive: true });
    await mkdir(second);
    await writeFile(join(second, "claude"), "");
    const path = [first, "", second].join(delimiter);
    expect(findProgram("claude", path)).toBeUndefined();
    await chmod(join(second, "claude"), 0o755);
    expect(findProgram("claude", path)).toBe(join(second, "claude"));
    expect(findProgram(join(second, "claude"), "")).toBe(join(second, "claude"));
    expect(findProgram("second/claude", path)).toBeUndefined();
    expect(findProgram("claude", "")).toBeUndefined();
  });
  test("on Windows the usual endings are tried", async () => {
    await writeFile(join(directory, "claude.cmd"), "");
    await chmod(join(directory, "claude.cmd"), 0o755);
    expect(findProgram("claude", directory, "win32")).toBe(join(directory, "claude.cmd"));
  });
});
