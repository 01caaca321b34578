import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createHouse, type House, lives, PATIENCE_MS, request, textOf, until } from "./harness.ts";

let house: House;
beforeEach(() => {
  house = createHouse();
});
afterEach(async () => {
  await house[Symbol.asyncDispose]();
});

const LIMIT_MS = 2 * PATIENCE_MS;

/** Starts a `serve`; answers with its address once the port answers. */
async function serve(...words: string[]) {
  const child = house.daemon("serve=127.0.0.1:0", ...words);
  const { value } = await child.stdout.getReader().read();
  const url = new TextDecoder().decode(value).trim();
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", "mcp-client-id": "c", ...headers },
      body: JSON.stringify(body),
    });
  const call = async (name: string, args: object = {}) => textOf(JSON.parse(await (await post(request(1, name, args))).text()));
  return { child, url, post, call };
}

describe("serve", () => {
  test(
    "a client goes on after a restart as if nothing had happened: no session is lost, no initialize needed",
    async () => {
      const first = await serve();
      const session = { "mcp-session-id": "s1" };
      const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2099-01-01", capabilities: { roots: {} } } };
      expect(JSON.parse(await (await first.post(hello, session)).text()).result.protocolVersion).toBe("2025-11-25");
      expect(await first.call("note", { text: "before" })).toBe("kept");
      first.child.kill("SIGTERM");
      expect(await first.child.exited).toBe(0);
      expect(existsSync(join(house.dir, "daemon.lock"))).toBe(false);
      const second = await serve();
      const answer = await second.post(request(2, "notes"), session);
      expect([answer.status, textOf(JSON.parse(await answer.text()))]).toEqual([200, '["before"]']);
      expect(JSON.parse(await (await second.post(request(3, "whoami"), session)).text()).result.content[0].text).toContain(
        '"protocolSession":"s1"',
      );
    },
    LIMIT_MS,
  );

  test(
    "requests that come while the database opens wait and are answered",
    async () => {
      const { call } = await serve("delay=400");
      expect(await call("note", { text: "early" })).toBe("kept");
    },
    LIMIT_MS,
  );

  test(
    "bridges and HTTP clients share it, and it is named to those who want to be a second one",
    async () => {
      const { child, call, url } = await serve();
      await call("note", { text: "over http" });
      const client = house.client();
      expect(textOf(await client.call("notes"))).toBe('["over http"]');
      const second = house.daemon("serve=127.0.0.1:0");
      expect(await second.exited).toBe(1);
      const why = await new Response(second.stderr).text();
      expect(why).toContain(`process ${child.pid}`);
      expect(why).toContain(`listening on ${new URL(url).host}`);
    },
    LIMIT_MS,
  );

  test(
    "asks an auto-started daemon to make room; its bridges follow without an error",
    async () => {
      const client = house.client();
      await client.call("note", { text: "one" });
      const auto = Number(textOf(await client.call("pid")));
      const { child, call } = await serve();
      expect(await call("notes")).toBe('["one"]');
      expect(textOf(await client.call("pid"))).toBe(String(child.pid));
      expect(lives(auto)).toBe(false);
      // A person's serve is not ended for anybody, also not for a newer bridge.
      const newer = house.client({ bridge: ["version=2.0.0"] });
      expect(textOf(await newer.call("pid"))).toBe(String(child.pid));
      expect(newer.errors()).toContain("restart it when it suits you");
    },
    LIMIT_MS,
  );

  test(
    "a port that is taken ends it, naming port and remedy; bridges need no port",
    async () => {
      using stranger = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
      const child = house.daemon(`serve=127.0.0.1:${stranger.port}`);
      expect(await child.exited).toBe(1);
      const why = await new Response(child.stderr).text();
      expect(why).toContain(`127.0.0.1:${stranger.port} is already in use`);
      expect(why).toContain("CUBA_HTTP_ADDR");
      expect(textOf(await house.client().call("echo"))).toBe("{}");
    },
    LIMIT_MS,
  );

  test(
    "an address others reach needs a long token",
    async () => {
      const child = house.daemon("serve=0.0.0.0:0", `token=${"x".repeat(31)}`);
      expect(await child.exited).toBe(1);
      expect(await new Response(child.stderr).text()).toContain("has 31 characters; at least 32");
      expect(existsSync(join(house.dir, "daemon.lock"))).toBe(false);
    },
    LIMIT_MS,
  );

  test(
    "a product that cannot be composed ends it with the reason and exit 1",
    async () => {
      const { child } = await serve("fail=the database is from a newer version", "delay=100");
      expect(await child.exited).toBe(1);
      expect(await new Response(child.stderr).text()).toContain("the database is from a newer version");
    },
    LIMIT_MS,
  );

  test(
    "stops in order: the call in flight is answered, an open event stream holds up nothing, new ones are refused",
    async () => {
      const { child, url, post } = await serve();
      const stream = await fetch(`${url}/events`);
      const slow = post(request(1, "slow", { ms: 400 }));
      await until("the call to run", async () => (await (await fetch(`${url}/health`)).text()).includes('"requests_served":1'));
      const stopped = performance.now();
      child.kill("SIGTERM");
      expect(textOf(JSON.parse(await (await slow).text()))).toBe("slept");
      expect(await child.exited).toBe(0);
      expect(performance.now() - stopped).toBeLessThan(5_000);
      await stream.text();
      await expect(fetch(`${url}/health`)).rejects.toThrow();
    },
    LIMIT_MS,
  );

  test(
    "polling health does not keep it alive, and its end is exit 0",
    async () => {
      const { child, url } = await serve("idle=300");
      let polling = true;
      const poll = (async () => {
        while (polling) {
          await fetch(`${url}/health`).catch(() => {});
          await Bun.sleep(20);
        }
      })();
      expect(await child.exited).toBe(0);
      polling = false;
      await poll;
    },
    LIMIT_MS,
  );

  test(
    "eight megabytes and one byte are refused and cost no memory",
    async () => {
      const { child, url } = await serve();
      const before = resident(child.pid);
      for (let round = 0; round < 5; round++) {
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            for (let mb = 0; mb < 40; mb++) controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20));
            controller.close();
          },
        });
        const status = await fetch(`${url}/mcp`, { method: "POST", headers: { "content-type": "application/json" }, body }).then(
          (response) => response.status,
          () => "cut off",
        );
        expect([413, "cut off"]).toContain(status);
      }
      expect((await fetch(`${url}/health`)).status).toBe(200);
      expect(resident(child.pid) - before).toBeLessThan(150);
    },
    LIMIT_MS,
  );
});

/** Resident megabytes. */
function resident(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}
