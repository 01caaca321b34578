import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { negationDiffers } from "../../src/domain/negation.ts";
import { differenceKind, sameWords } from "../../src/domain/same-words.ts";
import { trigramSimilarity } from "../../src/domain/trigrams.ts";

describe("texts with the same words", () => {
  test.each([
    ["Retries are capped at five per request in the gateway client", "Retries are capped at five per request in the gateway client."],
    ["retry limit of the queue", "retry limit of queue"],
    ["The  cache is\nwarm", "cache is warm"],
    ["Deploys go out on Friday", "deploys go out on friday!"],
    ["usa «Redis» en la caché", "usa Redis en caché"],
    ["数据仓库在上海。", "数据仓库在上海"],
    ["- cache is warm", "• cache is warm"],
    ["the cache is **warm**.", "the cache is warm"],
    ["it doesn’t retry", "it doesn't retry"],
  ])("%p and %p", (a, b) => expect(sameWords(a, b)).toBe(true));
});

describe("texts that differ in a word", () => {
  test.each([
    ["PostgreSQL is pinned to version 17", "PostgreSQL is pinned to version 18", "number"],
    ["The retry limit is 5 attempts per request", "The retry limit is 3 attempts per request", "number"],
    ["The retry limit is five attempts", "The retry limit is three attempts", "number"],
    ["the service listens on port 8080", "the service listens on port 9090", "number"],
    ["runs on 10.0.0.1:5432", "runs on 10.0.0.1:6379", "number"],
    ["needs python3.11 here", "needs python3.12 here", "number"],
    [
      "Deploys to production are approved by the platform team lead",
      "Deploys to production are not approved by the platform team lead",
      "negation",
    ],
    ["Uses uvicorn", "Replaced uvicorn with granian", "negation"],
    ["el servicio usa colas", "el servicio ya no usa colas", "negation"],
    ["服务使用缓存", "服务不使用缓存", "negation"],
    ["call renewToken first", "call revokeToken first", "identifier"],
    ["see src/auth/session.ts", "see src/auth/user.ts", "identifier"],
    ["uses `redis` here", "uses `valkey` here", "identifier"],
    ["Ana approves production releases for the payments team", "Bea approves production releases for the payments team", "word"],
    ["A depends on B", "B depends on A", "word"],
    ["is written in C", "is written in C++", "word"],
    ["the year of the año", "the year of the ano", "word"],
    ["retry > limit", "retry < limit", "word"],
    ["build ✅", "build ❌", "word"],
    ["plan A is ready", "plan is ready", "word"],
    ["端口>8080", "端口<8080", "identifier"],
    ["call __init__ first", "call init first", "identifier"],
    ["watch *.ts files", "watch .ts files", "identifier"],
  ] as const)("%p and %p: %s", (a, b, kind) => {
    expect(sameWords(a, b)).toBe(false);
    expect(differenceKind(a, b)).toBe(kind);
  });

  test("identifiers count exactly as written, ordinary words in any case", () => {
    expect(sameWords("set maxRetries", "set maxretries")).toBe(false);
    expect(sameWords("Set retries", "set Retries")).toBe(true);
  });
});

test("is the same seen from either side, and true of a text and itself", () => {
  const text = fc.string({ unit: fc.constantFrom(..."aAbB1. ,_`界。不-"), maxLength: 24 });
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(sameWords(a, a)).toBe(true);
      expect(sameWords(a, b)).toBe(sameWords(b, a));
    }),
  );
});

test("negation is a whole word", () => {
  expect(negationDiffers("plays piano daily", "plays guitar daily")).toBe(false);
  expect(negationDiffers("the casino is open", "the bar is open")).toBe(false);
  expect(negationDiffers("is fast", "is safe")).toBe(false);
  expect(negationDiffers("it does retry", "it doesn't retry")).toBe(true);
  expect(negationDiffers("两个不同的端口", "两个端口")).toBe(false);
});

test.each([
  ["PostgreSQL is pinned to version 17", "PostgreSQL is pinned to version 18", 0.8889],
  ["A depends on B", "B depends on A", 1],
  ["Error: connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED 127.0.0.1:6379", 0.7561],
  ["", "x", 0],
])("trigram similarity of %p and %p is what pg_trgm gives", (a, b, similarity) => {
  expect(trigramSimilarity(a, b)).toBeCloseTo(similarity, 4);
});
