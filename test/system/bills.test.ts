/**
 * A chat program on PATH, keys of vendors in the environment, and a proxy that hears every connection: nothing of it is started or used until a person
 * chooses it, by no tool that can reach a judge and by no consolidation cycle; what was chosen is, and nothing beside it.
 */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { readOwner } from "../../src/daemon/owner-lock.ts";
import { lives, until } from "./processes/harness.ts";

setDefaultTimeout(180_000);

const main = resolve(import.meta.dir, "../../src/main.ts");
let home: string;
let connections: number;
let proxy: ReturnType<typeof listen>;

/** A proxy that hangs up on whoever comes, and counts. */
const listen = () =>
  Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        connections++;
        socket.end();
      },
      data() {},
    },
  });

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "mi-bills-"));
  mkdirSync(join(home, "bin"));
  for (const name of ["claude", "gemini", "ollama"]) {
    const file = join(home, "bin", name);
    writeFileSync(
      file,
      `#!/bin/sh\necho ${name} >> ${join(home, "started")}\ncat > /dev/null\necho '{"verdict":"unknown","confidence":0.1,"reason":"-"}'\n`,
    );
    chmodSync(file, 0o755);
  }
  connections = 0;
  proxy = listen();
});

afterEach(async () => {
  const owner = readOwner(join(home, "data", "daemon.lock"));
  if (owner !== undefined && lives(owner.pid)) {
    process.kill(owner.pid, "SIGTERM");
    await until("the daemon to end", () => !lives(owner.pid));
  }
  proxy.stop(true);
  rmSync(home, { recursive: true, force: true });
});

const started = () => (existsSync(join(home, "started")) ? readFileSync(join(home, "started"), "utf8").trim().split("\n") : []);

/** A day in small: everything that can reach a judge, then two cycles. @returns the programs that were started. */
async function live(chosen: Record<string, string>): Promise<string[]> {
  const address = `http://127.0.0.1:${proxy.port}`;
  const env = {
    HOME: home,
    PATH: `${join(home, "bin")}:/usr/bin:/bin`,
    MEMORY_INDUSTRY_DATA_DIR: join(home, "data"),
    HTTPS_PROXY: address,
    HTTP_PROXY: address,
    ANTHROPIC_API_KEY: "key-of-a-vendor",
    OPENAI_API_KEY: "key-of-a-vendor",
    ...chosen,
  };
  const client = new Client({ name: "bills", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [main], cwd: home, env, stderr: "ignore" }));
  const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
  for (const port of [8080, 9090])
    await call("cuba_cronica", { action: "add", entity_name: "gateway", content: `The gateway listens on port ${port}` });
  await call("cuba_faro", { mode: "verify", query: "The gateway listens on port 8080" });
  await call("cuba_juez", { action: "scan_entity", entity_name: "gateway" });
  await call("cuba_contradiccion", { action: "scan" });
  await call("cuba_ingesta", { action: "auto_extract", text: "The gateway moved to port 9090.", supersede_conflicts: true });
  await client.close();
  for (let cycle = 0; cycle < 2; cycle++) {
    const rem = Bun.spawn([process.execPath, main, "rem"], { cwd: home, env, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    expect(await rem.exited).toBe(0);
  }
  return started();
}

test.skipIf(process.platform === "win32")(
  "nobody chose anything: no program is started and no connection made, batches of the cycle or not",
  async () => {
    expect(await live({ CUBA_REM_RELATION_BATCH: "5", CUBA_REM_EXTRACTION_BATCH: "5" })).toEqual([]);
    expect(connections).toBe(0);
  },
);

test.skipIf(process.platform === "win32")(
  "one program was chosen: that one answers the tools, the cycle starts none of its own, and nothing else is used",
  async () => {
    const programs = await live({ CUBA_JUDGE: "claude_cli" });
    expect(new Set(programs)).toEqual(new Set(["claude"]));
    // A verification of two memories, a pair, an extraction: none of them in a cycle, which has no batch.
    expect(programs.length).toBeLessThanOrEqual(4);
    expect(connections).toBe(0);
  },
);

test.skipIf(process.platform === "win32")("an address was chosen: it is asked, and no program is started", async () => {
  expect(await live({ CUBA_LLM_BASE_URL: "http://chat.example/v1", CUBA_LLM_API_KEY: "mine" })).toEqual([]);
  expect(connections).toBeGreaterThan(0);
});
