import { describe, expect, test } from "bun:test";
import { type DoorRules, isForwarded, knock } from "../../src/daemon/guard.ts";

const rules: DoorRules = {
  host: "127.0.0.1",
  port: 8787,
  scheme: "http",
  ownAddresses: () => ["192.168.1.5", "fe80::1"],
  allowedHosts: ["memory.example", "tunnel.example:444"],
  allowedOrigins: ["https://app.example", "vscode-webview://abc"],
};

const ask = (headers: Record<string, string>, method = "GET", change: Partial<DoorRules> = {}) =>
  knock({ method, headers: new Headers(headers) }, { ...rules, ...change });
const status = (headers: Record<string, string>, method?: string, change?: Partial<DoorRules>) => {
  const verdict = ask(headers, method, change);
  return verdict.kind === "pass" ? 200 : verdict.status;
};

describe("the Host of a request", () => {
  test.each([
    ["127.0.0.1:8787"],
    ["127.0.0.1"],
    ["localhost:8787"],
    ["LOCALHOST"],
    ["[::1]:8787"],
    ["[::1]"],
    ["memory.example"],
    ["memory.example:8787"],
    ["tunnel.example:444"],
  ])("%s is let in", (host) => expect(status({ host })).toBe(200));

  test.each([
    ["evil.example:8787"],
    ["evil.example"],
    ["127.0.0.1:8788"],
    ["127.0.0.1.evil.example"],
    ["localhost.evil.example:8787"],
    ["evil.example#127.0.0.1"],
    ["user@127.0.0.1:8787"],
    ["tunnel.example"],
    ["192.168.1.5:8787"],
    [""],
  ])("%p is refused", (host) => expect(status({ host })).toBe(403));

  test("none at all is refused", () => expect(status({})).toBe(403));

  test("where every interface is bound, this machine's own addresses are let in, names and other addresses not", () => {
    const wildcard = { host: "0.0.0.0" };
    expect(status({ host: "192.168.1.5:8787" }, "GET", wildcard)).toBe(200);
    expect(status({ host: "[fe80::1]:8787" }, "GET", wildcard)).toBe(200);
    expect(status({ host: "192.168.1.6:8787" }, "GET", wildcard)).toBe(403);
    expect(status({ host: "evil.example:8787" }, "GET", wildcard)).toBe(403);
  });
});

describe("the Origin of a request", () => {
  const host = "127.0.0.1:8787";
  test("none, the server's own and a listed one are let in", () => {
    expect(ask({ host })).toEqual({ kind: "pass", cors: undefined });
    expect(ask({ host, origin: "http://127.0.0.1:8787" })).toEqual({ kind: "pass", cors: undefined });
    expect(ask({ host, origin: "https://app.example" })).toEqual({ kind: "pass", cors: "https://app.example" });
    expect(ask({ host, origin: "vscode-webview://abc" })).toEqual({ kind: "pass", cors: "vscode-webview://abc" });
    expect(ask({ host, origin: "https://app.example", "sec-fetch-site": "cross-site" })).toMatchObject({ kind: "pass" });
  });

  test.each([
    ["http://evil.example"],
    ["https://127.0.0.1:8787"],
    ["http://127.0.0.1:3000"],
    ["http://localhost:8787"],
    ["null"],
    [""],
    ["http://127.0.0.1:8787.evil.example"],
    ["https://app.example.evil.example"],
  ])("%p is refused", (origin) => {
    expect(status({ host, origin })).toBe(403);
  });

  test("a default port is the same written and unwritten", () => {
    expect(status({ host: "localhost:80", origin: "http://localhost" }, "GET", { port: 80 })).toBe(200);
  });
});

describe("what browsers tell besides", () => {
  const host = "127.0.0.1:8787";
  test("cross-site is refused, same-origin is not, and Sec-Fetch-Mode does not count", () => {
    expect(status({ host, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(status({ host, "sec-fetch-site": "same-origin" })).toBe(200);
    expect(status({ host, "sec-fetch-mode": "cors" })).toBe(200);
  });

  test.each([
    ["application/json", 200],
    ["application/json; charset=utf-8", 200],
    ["Application/JSON", 200],
    ["text/plain", 415],
    ["text/plain;application/json", 415],
    ["application/x-www-form-urlencoded", 415],
    ["application/jsonp", 415],
  ])("a POST of %s gets %d", (type, wanted) => {
    expect(status({ host, "content-type": type }, "POST")).toBe(wanted);
  });

  test("a POST without a content type gets 415, a GET needs none", () => {
    expect(status({ host }, "POST")).toBe(415);
    expect(status({ host })).toBe(200);
  });
});

describe("a forwarded request", () => {
  test.each([
    ["Forwarded"],
    ["CF-Connecting-IP"],
    ["CF-Ray"],
    ["X-Forwarded-For"],
    ["X-Forwarded-Host"],
    ["X-Forwarded-Proto"],
    ["X-Real-IP"],
    ["X-Client-IP"],
    ["True-Client-IP"],
  ])("is known by %s", (name) => {
    expect(isForwarded(new Headers({ [name]: "x" }))).toBe(true);
  });
  test("is not any other", () => expect(isForwarded(new Headers({ host: "x", via: "y" }))).toBe(false));
});
