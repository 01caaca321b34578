import { describe, expect, test } from "bun:test";
import {
  diversityWords,
  jaccard,
  overlapCoefficient,
  pickDiverse,
  withoutRepetitions,
  wordSet,
} from "../../../src/domain/retrieval/diversity.ts";
import { sessionBoost } from "../../../src/domain/retrieval/session-boost.ts";

test("overlap of words", () => {
  const overlap = (a: string, b: string) => overlapCoefficient(wordSet(a), wordSet(b));
  expect(overlap("Hello World", "hello there")).toBe(0.5);
  expect(overlap("", "x")).toBe(0);
  expect(overlap("same words", "Same words!")).toBe(1);
});

describe("repetitions among results", () => {
  const row = (id: string, entity: string, content: string | undefined) => ({ id, entity, content });
  const keep = (...rows: ReturnType<typeof row>[]) => withoutRepetitions(rows, (each) => each).map((each) => each.id);

  test("go where the words are the same under the same entity", () => {
    expect(keep(row("1", "api", "listens on port 8080"), row("2", "api", "Listens on port 8080."))).toEqual(["1"]);
  });

  test("stay where one number differs, where the entity differs, where a short note stands in a long one", () => {
    expect(keep(row("1", "api", "listens on port 8080"), row("2", "api", "listens on port 9090"))).toEqual(["1", "2"]);
    expect(keep(row("1", "api", "uses Redis"), row("2", "worker", "uses Redis"))).toEqual(["1", "2"]);
    expect(keep(row("1", "api", "the worker uses Redis for its queue"), row("2", "api", "uses Redis"))).toEqual(["1", "2"]);
  });

  test("are never rows without text", () => {
    expect(keep(row("1", "api", undefined), row("2", "api", undefined), row("3", "api", ""))).toEqual(["1", "2", "3"]);
  });
});

describe("maximal marginal relevance", () => {
  const similar = (pairs: Record<string, number>) => (a: number, b: number) => pairs[`${a},${b}`] ?? pairs[`${b},${a}`] ?? 0;

  test.each([
    ["relevance only", 1, [0.1, 0.9, 0.5, 0.3], {}, 3, [1, 2, 3]],
    ["a copy gives way", 0.5, [0.9, 0.88, 0.7], { "0,1": 0.99 }, 2, [0, 2]],
    ["a stranger does not win by being strange", 0.5, [0.9, 0.8, 0.7], { "0,1": 0.1, "0,2": 0.02 }, 2, [0, 1]],
    ["diversity first", 0.1, [1, 0.95, 0], { "0,1": 1 }, 2, [0, 2]],
    ["relevance first", 0.9, [1, 0.95, 0], { "0,1": 1 }, 2, [0, 1]],
    ["lambda above 1 counts as 1", 8, [0.1, 0.9, 0.5], {}, 3, [1, 2, 0]],
    ["none wanted", 0.7, [1, 2], {}, 0, []],
    ["more wanted than there are", 0.7, [2, 1], {}, 5, [0, 1]],
    ["small scores are stretched", 0.7, [0.03, 0.029, 0.001], { "0,1": 0.3 }, 2, [0, 1]],
  ])("%s", (_name, lambda, relevance, pairs, count, picks) => {
    expect(pickDiverse(relevance, similar(pairs), lambda, count)).toEqual(picks);
  });

  test("similarity sees words of three characters, in Chinese every word", () => {
    expect(jaccard(diversityWords("the db is up"), diversityWords("the db is down"))).toBeCloseTo(1 / 2, 12);
    expect(jaccard(diversityWords("数据 仓库"), diversityWords("数据 中心"))).toBeCloseTo(1 / 3, 12);
    expect(jaccard(new Set(), new Set())).toBe(0);
  });
});

describe("the open session", () => {
  test("lifts a row whose entity a goal names from 0.50 to 0.65, past one at 0.60", () => {
    const boost = sessionBoost(["Move PostgreSQL to version 18"]);
    expect(0.5 * boost({ entity: "PostgreSQL", content: "pinned" })).toBeCloseTo(0.65, 12);
    expect(boost({ entity: "Redis", content: "unrelated" })).toBe(1);
  });

  test("lifts by the best share of shared words, stop words aside", () => {
    const boost = sessionBoost(["the of and de la", "retry queue limits now"]);
    expect(boost({ entity: undefined, content: "the queue of la API de retry" })).toBeCloseTo(1 + 0.3 * (2 / 4), 12);
    expect(boost({ entity: undefined, content: "the of and de la" })).toBe(1);
  });
});
