import { describe, expect, test } from "bun:test";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost } from "../fake-host.ts";

describe("serve", () => {
  test("listens where the argument says, else where the variable says", async () => {
    const host = fakeHost({ installation: { httpAddress: { value: { host: "127.0.0.1", port: 9000 }, unreadable: undefined } } });
    expect(await runCli(["serve"], host)).toBe(0);
    expect(await runCli(["serve", "127.0.0.1:9001"], host)).toBe(0);
    expect(host.life).toEqual(["serve 127.0.0.1:9000", "serve 127.0.0.1:9001"]);
  });

  test("an unreadable argument ends with 2 before anything is started", async () => {
    for (const word of ["x", "127.0.0.1", "127.0.0.1:99999", "--verbose"]) {
      const host = fakeHost();
      expect(await runCli(["serve", word], host)).toBe(2);
      expect(host.err()).toContain(word);
      expect(host.life).toEqual([]);
    }
  });

  test("an unreadable variable ends with 2 and names the variable, unless an argument says where", async () => {
    const unreadable = { variable: "CUBA_HTTP_ADDR", problem: "CUBA_HTTP_ADDR=x is not usable: wanted ip:port." };
    const installation = { httpAddress: { value: { host: "127.0.0.1", port: 8787 }, unreadable } };
    const host = fakeHost({ installation });
    expect(await runCli(["serve"], host)).toBe(2);
    expect(host.err()).toContain("CUBA_HTTP_ADDR");
    expect(host.life).toEqual([]);
    expect(await runCli(["serve", "127.0.0.1:9001"], host)).toBe(0);
  });
});

describe("start", () => {
  test("takes another port where the usual one is taken, and says in a few lines how to go on", async () => {
    const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const host = fakeHost({ installation: { httpAddress: { value: { host: "127.0.0.1", port: taken.port }, unreadable: undefined } } });
    try {
      expect(await runCli(["start"], host)).toBe(0);
    } finally {
      taken.stop(true);
    }
    expect(host.life).toEqual(["serve 127.0.0.1:0"]);
    expect(host.out()).toContain("http://127.0.0.1:0/mcp");
    expect(host.out()).toContain(`Port ${taken.port} is taken by another program`);
    for (const client of ["claude", "cursor", "codex"]) expect(host.out()).toContain(`memory-industry setup ${client} --apply`);
    expect(host.out().trim().split("\n").length).toBeLessThanOrEqual(14);
  });

  test("where a server of this data directory already runs it starts none, says where that one is, and how to go on", async () => {
    const host = fakeHost({ runningServer: { pid: 4711, url: "http://127.0.0.1:8787" } });
    expect(await runCli(["start"], host)).toBe(0);
    expect(host.life).toEqual([]);
    expect(host.out()).toContain("MemoryIndustry already runs at http://127.0.0.1:8787/mcp (process 4711); nothing was started.");
    expect(host.out()).toContain("memory-industry setup claude --apply");
  });

  test("from source the lines to copy start with what started this program", async () => {
    const host = { ...fakeHost(), typed: ["/opt/my bun", "/src/main.ts"] as const };
    await runCli(["start"], host);
    expect(host.out()).toContain("'/opt/my bun' /src/main.ts setup claude --apply");
  });

  test("is no command of the lists", async () => {
    const host = fakeHost();
    await runCli(["--help"], host);
    expect(host.out()).toMatch(/^ {2}serve /m);
    expect(host.out()).not.toMatch(/^ {2}start /m);
  });
});
