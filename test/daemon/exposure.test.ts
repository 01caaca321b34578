import { describe, expect, test } from "bun:test";
import { isLoopback, refuseExposure } from "../../src/daemon/exposure.ts";

const T32 = "ñ".repeat(32);
const refusal = (host: string, adminToken?: string, peerToken?: string, adopted = false) =>
  refuseExposure({ host, adminToken, peerToken, adopted });

describe("what serve refuses before it opens a port", () => {
  test("loopback needs no token", () => {
    for (const host of ["127.0.0.1", "127.8.9.1", "::1", "localhost"]) expect(refusal(host)).toBeUndefined();
  });

  test("elsewhere without a token the whole memory would be open", () => {
    expect(refusal("0.0.0.0")).toContain("CUBA_HTTP_TOKEN is not set");
    expect(refusal("192.168.1.5", "  ")).toContain("openssl rand");
  });

  test("a token is counted in characters: 31 are too few, 32 are enough", () => {
    expect(refusal("0.0.0.0", "ñ".repeat(31))).toContain("has 31 characters; at least 32");
    expect(refusal("0.0.0.0", T32)).toBeUndefined();
    expect(refusal("127.0.0.1", "short")).toBeUndefined();
  });

  test("a peer token must differ from the admin token, and needs one", () => {
    expect(refusal("127.0.0.1", T32, T32)).toContain("equals");
    expect(refusal("127.0.0.1", undefined, T32)).toContain("CUBA_PEER_TOKEN is set and CUBA_HTTP_TOKEN is not");
    expect(refusal("127.0.0.1", T32, "p".repeat(32))).toBeUndefined();
  });

  test("an adopted socket is blamed on its unit, not on an argument", () => {
    expect(refusal("0.0.0.0", undefined, undefined, true)).toContain(".socket unit");
  });
});

describe("loopback", () => {
  test.each([["127.0.0.1"], ["127.255.255.254"], ["::1"], ["[::1]"], ["::ffff:127.0.0.1"], ["localhost"]])("%s is", (host) =>
    expect(isLoopback(host)).toBe(true),
  );
  test.each([["0.0.0.0"], ["::"], ["10.0.0.1"], ["128.0.0.1"], ["1127.0.0.1"], ["127.0.0.1.evil.example"], [""]])("%p is not", (host) =>
    expect(isLoopback(host)).toBe(false),
  );
});
