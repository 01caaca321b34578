import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { differsFrom } from "../../../src/domain/trust/differs.ts";

describe("a memory that says the claim's words with something else", () => {
  test.each([
    ["The API listens on port 8080", "The API listens on port 9090", "number", "8080", "9090"],
    ["The API listens on port 8080", "Since May. The API listens on port 9090 in production, behind a proxy.", "number", "8080", "9090"],
    ["PostgreSQL is pinned to version 17", "PostgreSQL is pinned to version 18", "number", "17", "18"],
    ["The retry limit is three attempts per request", "The retry limit is 5 attempts per request", "number", "three", "5"],
    ["The certificate expires on 2026-03-01", "The certificate expires on 2026-04-01.", "number", "2026-03-01", "2026-04-01"],
    [
      "Deploys to production are approved by the platform team",
      "Deploys to production are not approved by the platform team",
      "negation",
      "",
      "not",
    ],
    ["The cache is never shared between tenants", "The cache is shared between tenants", "negation", "never", ""],
    ["El servicio usa la caché compartida", "El servicio no usa la caché compartida", "negation", "", "no"],
    [
      "Ana approves production releases for the payments team",
      "Bea approves production releases for the payments team",
      "word",
      "Ana",
      "Bea",
    ],
    ["Logs are written to `stdout` by the worker", "Logs are written to `stderr` by the worker", "identifier", "stdout", "stderr"],
    ["El límite de reintentos es 5 por petición", "El límite de reintentos es 3 por petición", "number", "5", "3"],
    ["默认端口是 8080", "默认端口是 9090", "number", "8080", "9090"],
  ])("%p beside %p: %p, %p, %p", (claim, evidence, kind, inClaim, inMemory) => {
    expect<unknown>(differsFrom(claim, evidence)).toEqual({ kind, claim: inClaim, memory: inMemory });
  });

  test.each([
    ["the same words", "The API listens on port 8080", "the API listens on port 8080."],
    ["one sentence of several", "The API listens on port 8080", "The API listens on port 9090 in tests. The API listens on port 8080."],
    ["a memory that says more", "The API listens on port 8080", "In production the API listens on port 8080 behind a proxy"],
    ["a claim that says more", "The API listens on port 8080 behind a proxy in Paris today", "The API listens on port 8080"],
    ["another statement", "The server is written in Rust", "Billing runs every night in Paris"],
    [
      "another statement with the same small words",
      "The server is written in plain Rust by two people",
      "The server is running in Paris since the last move to the south",
    ],
    ["a claim of two words", "Uses Redis", "Uses Memcached"],
    ["an empty memory", "The API listens on port 8080", ""],
  ])("%s differs in nothing", (_, claim, evidence) => {
    expect(differsFrom(claim, evidence)).toBeUndefined();
  });

  test("a text never differs from itself, nor from itself with more around it", () => {
    const word = fc.constantFrom("api", "port", "8080", "not", "uses", "Redis", "a/b.ts", "versión", "默认");
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 12 }), fc.array(word, { maxLength: 4 }), (text, more) => {
        const claim = text.join(" ");
        expect(differsFrom(claim, claim)).toBeUndefined();
        expect(differsFrom(claim, [...more, claim, ...more].join(" "))).toBeUndefined();
      }),
    );
  });
});
