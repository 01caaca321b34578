import { expect, test } from "bun:test";
import fc from "fast-check";
import { autoTags } from "../../src/domain/tags.ts";

test("most frequent words, ties by first appearance", () => {
  expect(autoTags("Redis cache timeout: redis timeout raised to 30s for the cache layer")).toEqual([
    "redis",
    "cache",
    "timeout",
    "raised",
    "30s",
  ]);
});

test("a frequent word that comes late goes before a rare one that comes first", () => {
  expect(autoTags("alpha beta gamma gamma delta gamma delta")).toEqual(["gamma", "delta", "alpha", "beta"]);
});

test("identifiers stay whole, outer joints go, a rule is no tag", () => {
  expect(autoTags("--- the _max_retries_ of queue-worker ---")).toEqual(["max_retries", "queue-worker"]);
});

test("stop words and words of two letters are no tags", () => {
  expect(autoTags("this is the one that was on it, para los que son as db")).toEqual(["one"]);
});

test("Chinese, Japanese and Korean words of two characters are tags", () => {
  expect(autoTags("数据仓库监听8080，数据仓库在上海")).toEqual(["数据", "仓库", "监听", "8080", "上海"]);
  expect(autoTags("서버 설정")).toEqual(["서버", "설정"]);
});

test("at most five, each once, none empty", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const tags = autoTags(text);
      expect(tags.length).toBeLessThanOrEqual(5);
      expect(new Set(tags).size).toBe(tags.length);
      expect(tags.every((tag) => tag.length > 1)).toBe(true);
    }),
  );
});
