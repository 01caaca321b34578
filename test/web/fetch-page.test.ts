import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type Server } from "node:http";
import { createFetchPage, internet, type Network, type Reply } from "../../src/web/fetch-page.ts";
import { isPublicAddress } from "../../src/web/public-address.ts";

test.each([
  ["93.184.216.34", true],
  ["172.15.255.255", true],
  ["172.32.0.1", true],
  ["100.63.0.1", true],
  ["198.17.0.1", true],
  ["2606:2800:220:1:248:1893:25c8:1946", true],
  ["127.0.0.1", false],
  ["127.9.9.9", false],
  ["10.1.2.3", false],
  ["172.16.0.1", false],
  ["172.31.255.255", false],
  ["192.168.1.1", false],
  ["169.254.169.254", false],
  ["255.255.255.255", false],
  ["192.0.2.1", false],
  ["198.51.100.7", false],
  ["203.0.113.7", false],
  ["0.1.2.3", false],
  ["100.64.0.1", false],
  ["100.127.255.255", false],
  ["198.18.0.1", false],
  ["198.19.255.255", false],
  ["224.0.0.1", false],
  ["0.0.0.0", false],
  ["::1", false],
  ["::", false],
  ["fc00::1", false],
  ["fdff::1", false],
  ["fe80::1", false],
  ["ff02::1", false],
  ["::ffff:169.254.169.254", false],
  ["::ffff:93.184.216.34", false],
  ["64:ff9b::7f00:1", false],
  ["2001:db8::1", false],
  ["2002:7f00:1::1", false],
  ["localhost", false],
  ["", false],
])("%p is public: %p", (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});

const html = (text: string): Reply => ({
  status: 200,
  location: undefined,
  contentType: "text/html",
  body: new TextEncoder().encode(text),
});
const redirect = (location: string): Reply => ({ status: 302, location, contentType: "", body: new Uint8Array() });

/** A network of known hosts; every request is written down with the address it went to. */
function network(hosts: Readonly<Record<string, readonly string[]>>, pages: Readonly<Record<string, Reply>>) {
  const asked: string[] = [];
  const of: Network = {
    resolve: async (host) => hosts[host] ?? [],
    get: async (url, address) => {
      asked.push(`${url.href} at ${address}`);
      return pages[url.href] ?? { status: 404, location: undefined, contentType: "", body: new Uint8Array() };
    },
  };
  const get = (url: string) => createFetchPage(of)(url, new AbortController().signal);
  return { get, asked };
}

describe("fetching a page", () => {
  const hosts = { "docs.example": ["93.184.216.34"], "inner.example": ["93.184.216.34", "10.0.0.1"], "local.example": ["127.0.0.1"] };

  test("follows redirects and goes to the address that was checked", async () => {
    const { get, asked } = network(hosts, {
      "https://docs.example/": redirect("/latest"),
      "https://docs.example/latest": redirect("http://docs.example/here"),
      "http://docs.example/here": html("<p>hello</p>"),
    });
    expect(await get("https://docs.example/")).toEqual({ url: "http://docs.example/here", html: "<p>hello</p>" });
    expect(asked).toHaveLength(3);
    expect(asked.every((each) => each.endsWith(" at 93.184.216.34"))).toBe(true);
  });

  test("an address that is not public is not asked, and no redirect is blamed", async () => {
    const { get, asked } = network(hosts, {});
    await expect(get("https://inner.example/")).rejects.toThrow("inner.example was not asked: it lies on this machine or in its network.");
    expect(asked).toEqual([]);
  });

  test.each([
    ["http://127.0.0.1/", "it lies on this machine"],
    ["http://[::1]/", "it lies on this machine"],
    ["http://[::ffff:169.254.169.254]/", "it lies on this machine"],
    ["http://169.254.169.254/latest/meta-data", "it lies on this machine"],
    ["http://2130706433/", "it lies on this machine"],
    ["https://local.example/", "it lies on this machine"],
    ["https://inner.example/", "it lies on this machine"],
    ["file:///etc/passwd", "neither http nor https"],
    ["https://user:secret@docs.example/", "carries credentials"],
    ["https://nowhere.example/", "has no address"],
    ["https://[broken", "redirects to something that is no address"],
  ])("a redirect to %s is not followed", async (location, message) => {
    const { get, asked } = network(hosts, { "https://docs.example/": redirect(location) });
    const error = await get("https://docs.example/").then(String, String);
    expect(error).toContain(message);
    expect(error).not.toContain("secret");
    expect(asked).toHaveLength(1);
  });

  test.each([
    [{ status: 500, location: undefined, contentType: "", body: new Uint8Array() }, "status 500"],
    [{ ...html("x"), contentType: "application/pdf" }, "no text"],
    [redirect("https://docs.example/"), "redirects more than 5 times"],
  ])("%# is no page", async (reply, message) => {
    expect(await network(hosts, { "https://docs.example/": reply }).get("https://docs.example/").then(String, String)).toContain(message);
  });
});

describe("the real network", () => {
  let server: Server;
  let port = 0;
  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === "/endless") {
        response.setHeader("content-type", "text/html");
        response.write(Buffer.alloc(3 * 1_048_576, "x"));
        return;
      }
      if (request.url === "/silent") return;
      response.writeHead(302, { location: "/next" }).end(`host ${request.headers.host}`);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const address = server.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const get = (path: string, signal = new AbortController().signal) =>
    internet.get(new URL(`http://docs.invalid:${port}${path}`), "127.0.0.1", signal);

  test("connects to the given address under the host's name, without looking it up, and follows nothing by itself", async () => {
    const reply = await get("/");
    expect({ ...reply, body: new TextDecoder().decode(reply.body) }).toMatchObject({
      status: 302,
      location: "/next",
      body: `host docs.invalid:${port}`,
    });
  });

  test("a page is cut at 2 MiB although it never ends", async () => {
    expect((await get("/endless")).body).toHaveLength(2 * 1_048_576);
  });

  test("ends with its signal", async () => {
    const error = await createFetchPage({
      resolve: async () => ["93.184.216.34"],
      get: (_url, _address, signal) => get("/silent", signal),
    })("https://docs.example/", AbortSignal.timeout(20)).then(String, String);
    expect(error).toContain("docs.example did not answer in time");
  });

  test("ends with its signal while a host is looked up, the first one or that of a redirect", async () => {
    const never = new Promise<never>(() => {});
    const fetchPage = createFetchPage({
      resolve: async (host) => (host === "docs.example" ? ["93.184.216.34"] : await never),
      get: async () => redirect("https://hangs.example/"),
    });
    for (const start of ["https://hangs.example/", "https://docs.example/"])
      expect(await fetchPage(start, AbortSignal.timeout(20)).then(String, String)).toContain(
        "The address of hangs.example could not be found out in time. Nothing was stored.",
      );
  });
});
