import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withValues } from "../../../src/cli/llm-file.ts";
import { runCli } from "../../../src/cli/run.ts";
import { type FakeHost, fakeHost } from "../fake-host.ts";

const fileOf = (host: FakeHost) => join(host.home, ".config", "memory-industry", "llm.env");
const contentOf = (host: FakeHost) => readFileSync(fileOf(host), "utf8");

describe("the lines of llm.env", () => {
  test("are set and taken out by name; other lines stay", () => {
    const before = "# mine\nCUBA_JUDGE=nli\nexport A=1\n\nB=2\r\n";
    expect(withValues(before, { A: "3", B: undefined, C: "x y" })).toBe('# mine\nCUBA_JUDGE=nli\nA=3\nC="x y"\n');
    expect(withValues("A=1\n", { A: undefined })).toBe("");
    expect(withValues("", { A: undefined })).toBe("");
  });
});

describe("llm set", () => {
  test("writes provider, model and key to a file that its owner alone can read; the key is said nowhere", async () => {
    const host = fakeHost();
    expect(await runCli(["llm", "set", "groq", "--key", "gsk-secret", "-m", "llama"], host)).toBe(0);
    expect(contentOf(host)).toBe(
      "MEMORY_INDUSTRY_LLM_PROVIDER=groq\nMEMORY_INDUSTRY_LLM_MODEL=llama\nMEMORY_INDUSTRY_LLM_API_KEY=gsk-secret\n",
    );
    if (process.platform !== "win32") expect(statSync(fileOf(host)).mode & 0o777).toBe(0o600);
    expect(host.out()).toContain("https://api.groq.com/openai/v1");
    expect(host.out() + host.err()).not.toContain("gsk-secret");
  });
  test.skipIf(process.platform === "win32")("a file that others could read is closed to them", async () => {
    const host = fakeHost();
    mkdirSync(join(host.home, ".config", "memory-industry"), { recursive: true });
    writeFileSync(fileOf(host), "OTHER=1\n", { mode: 0o644 });
    await runCli(["llm", "set", "ollama"], host);
    expect(statSync(fileOf(host)).mode & 0o777).toBe(0o600);
    expect(contentOf(host)).toBe("OTHER=1\nMEMORY_INDUSTRY_LLM_PROVIDER=ollama\n");
  });
  test("takes the key from standard input; what another provider left goes", async () => {
    const host = fakeHost({ stdin: "from-stdin\n" });
    await runCli(["llm", "set", "custom", "--url", "https://llm.example/v1/", "--model", "m"], host);
    await runCli(["llm", "set", "openai", "--key", "-"], host);
    expect(contentOf(host)).toBe("MEMORY_INDUSTRY_LLM_PROVIDER=openai\nMEMORY_INDUSTRY_LLM_API_KEY=from-stdin\n");
  });
  test("custom leaves the provider out; a missing key is a tip and is saved all the same", async () => {
    const host = fakeHost();
    expect(await runCli(["llm", "set", "custom", "--url", "https://llm.example/v1"], host)).toBe(0);
    expect(contentOf(host)).toBe("MEMORY_INDUSTRY_LLM_BASE_URL=https://llm.example/v1\n");
    expect(await runCli(["llm", "set", "openai"], host)).toBe(0);
    expect(host.out()).toContain("OPENAI_API_KEY is read from the environment");
  });
  test("an unknown provider without an address, an unreadable address and a key with a line break are refused; nothing is written", async () => {
    for (const words of [
      ["set", "nobody"],
      ["set"],
      ["set", "custom", "--url", "llm.example"],
      ["set", "openai", "--key", "a b"],
      ["use", "openai", "--key", "x"],
    ]) {
      const host = fakeHost();
      expect(await runCli(["llm", ...words], host)).toBe(2);
      expect(existsSync(fileOf(host))).toBe(false);
    }
  });
});

describe("llm use", () => {
  test("writes the choice and says whose account pays; none takes it back and leaves no file behind", async () => {
    const host = fakeHost();
    expect(await runCli(["llm", "use", "claude_cli"], host)).toBe(0);
    expect(contentOf(host)).toBe("MEMORY_INDUSTRY_JUDGE=claude_cli\n");
    expect(host.out()).toContain("account that it is logged in with pays");
    expect(await runCli(["llm", "use", "none"], host)).toBe(0);
    expect(existsSync(fileOf(host))).toBe(false);
  });
  test("none says where a chat service stays chosen", async () => {
    const host = fakeHost();
    await runCli(["llm", "set", "openai"], host);
    await runCli(["llm", "use", "none"], host);
    expect(host.out()).toContain("memory-industry llm clear");
  });
  test("a word that is no rung is refused; a variable of the environment that wins is named", async () => {
    const host = fakeHost();
    expect(await runCli(["llm", "use", "gpt"], host)).toBe(2);
    expect(await runCli(["llm", "use"], host)).toBe(2);
    const base = host.chatState();
    const loud = fakeHost({ chatState: { ...base, choice: "nli", overriding: "CUBA_JUDGE" } });
    await runCli(["llm", "use", "auto"], loud);
    expect(loud.err()).toContain("CUBA_JUDGE is set in the environment and wins");
  });
});

describe("llm status, list, clear", () => {
  test("status tells what is chosen and what merely lies there, and looks at nothing that is not set", async () => {
    const host = fakeHost();
    const lying = fakeHost({ chatState: { ...host.chatState(), lying: ["claude on PATH", "OPENAI_API_KEY"] } });
    expect(await runCli(["llm"], lying)).toBe(0);
    expect(lying.out()).toContain("asked     nobody");
    expect(lying.out()).toContain("claude on PATH, OPENAI_API_KEY: there, and nobody's choice");
    expect(lying.life).toEqual([]);
  });
  test("an endpoint that is set is looked at; the key is only set or missing", async () => {
    const host = fakeHost({
      chatState: {
        ...fakeHost().chatState(),
        provider: "groq",
        url: "https://api.groq.com/openai/v1",
        hasKey: true,
        hasEndpoint: true,
        chosen: ["openai_compat (groq:llama)"],
      },
    });
    await runCli(["llm", "status"], host);
    expect(host.life).toEqual(["probed"]);
    expect(host.out()).toContain("key       set");
    expect(host.out()).toContain("asked     openai_compat (groq:llama)");
  });
  test("list shows every provider; clear deletes the file and may be said twice", async () => {
    const host = fakeHost();
    await runCli(["llm", "list"], host);
    for (const id of ["ollama", "deepseek", "anthropic", "custom"]) expect(host.out()).toContain(id);
    await runCli(["llm", "set", "ollama"], host);
    expect(await runCli(["llm", "clear"], host)).toBe(0);
    expect(existsSync(fileOf(host))).toBe(false);
    expect(await runCli(["llm", "clear"], host)).toBe(0);
  });
});
