import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { findAdoptedSocket, readKernelAddress } from "../../src/daemon/activation.ts";

describe("what the service manager hands over", () => {
  test.each([
    ["0100007F:2253", { host: "127.0.0.1", port: 8787 }],
    ["00000000:0050", { host: "0.0.0.0", port: 80 }],
    ["0501A8C0:2253", { host: "192.168.1.5", port: 8787 }],
    ["00000000000000000000000000000000:2253", { host: "::", port: 8787 }],
    ["00000000000000000000000001000000:2253", { host: "::1", port: 8787 }],
    ["nonsense", undefined],
    ["0100007F", undefined],
  ])("%s is read", (text, address) => {
    expect(readKernelAddress(text)).toEqual(address);
  });

  test("is ours only when it names our pid and at least one descriptor", () => {
    expect(findAdoptedSocket({ listenPid: undefined, listenFds: "1" })).toBeUndefined();
    expect(findAdoptedSocket({ listenPid: "1", listenFds: "1" }, 2)).toBeUndefined();
    expect(findAdoptedSocket({ listenPid: "2", listenFds: "0" }, 2)).toBeUndefined();
    expect(findAdoptedSocket({ listenPid: "2", listenFds: "x" }, 2)).toBeUndefined();
  });

  test.skipIf(process.platform !== "linux")("is served, with the address that was adopted and the client's own address", async () => {
    const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { port } = listener;
    const descriptor: unknown = Reflect.get(listener, "fd");
    if (typeof descriptor !== "number") throw new Error("this Bun does not tell the descriptor of a listener");
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "activation-child.ts")], {
      env: { ...process.env, LISTEN_FDS: "1" },
      stdio: ["ignore", "pipe", "inherit", descriptor],
    });
    try {
      const { value } = await child.stdout.getReader().read();
      listener.stop();
      expect(JSON.parse(new TextDecoder().decode(value))).toEqual({ descriptor: 3, host: "127.0.0.1", port });
      const url = `http://127.0.0.1:${port}`;
      const post = (name: string, args: object) =>
        fetch(`${url}/mcp`, {
          method: "POST",
          headers: { "content-type": "application/json", "mcp-machine-id": "laptop" },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
        });
      // A loopback client has no machine: the relay did not hide where it comes from.
      const who = JSON.parse(JSON.parse(await (await post("whoami", {})).text()).result.content[0].text);
      expect(who.machine).toBeUndefined();
      const large = JSON.parse(await (await post("large", { chars: 5_000_000 })).text());
      expect(large.result.content[0].text).toHaveLength(5_000_000);
      const echoed = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => (await post("echo", { n, pad: "x".repeat(n * 10_000) })).status),
      );
      expect(new Set(echoed)).toEqual(new Set([200]));
      expect((await fetch(`${url}/health`, { headers: { host: "evil.example" } })).status).toBe(403);
    } finally {
      child.kill("SIGKILL");
      await child.exited;
      listener.stop(true);
    }
  });
});
