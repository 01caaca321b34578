import { describe, expect, test } from "bun:test";
import { readExtraction, supportCheck } from "../../src/domain/extraction.ts";

const fact = { entity_name: " Redis ", content: " Redis is the cache. ", observation_type: "decision" };
const read = { entityName: "Redis", content: "Redis is the cache.", observationType: "decision" };

describe("a reply of facts and relations", () => {
  test("is found in a code fence with prose around it, and in a program's envelope", () => {
    const json = JSON.stringify({ facts: [fact], relations: [{ from: "API", to: "Redis", relation_type: "uses" }] });
    const wanted = { facts: [read], relations: [{ from: "API", to: "Redis", relation: "uses" }], dropped: 0, isReadable: true };
    expect(readExtraction(`Here it is:\n\`\`\`json\n${json}\n\`\`\`\nDone.`)).toEqual(wanted as never);
    expect(readExtraction(JSON.stringify({ type: "result", result: json }))).toEqual(wanted as never);
  });

  test("may be a bare array of facts, or have no relations", () => {
    expect(readExtraction(`[${JSON.stringify(fact)}]`)).toMatchObject({ facts: [read], relations: [] });
    expect(readExtraction(JSON.stringify({ facts: [fact] }))).toMatchObject({ facts: [read], relations: [], isReadable: true });
  });

  test("keeps a relation of unknown type as related_to, and drops loops and blank ends", () => {
    const relations = [
      { from: "a", to: "b", relation_type: "invented" },
      { from: "a", to: "A", relation_type: "uses" },
      { from: "a", to: " " },
      "no object",
    ];
    expect(readExtraction(JSON.stringify({ facts: [], relations }))).toMatchObject({
      relations: [{ from: "a", to: "b", relation: "related_to" }],
      dropped: 3,
    });
  });

  test("drops facts without a name or text, and what is beyond fifty", () => {
    const many = Array.from({ length: 60 }, (_, i) => ({ entity_name: "E", content: `Fact ${i}` }));
    const found = readExtraction(JSON.stringify({ facts: [{ entity_name: "", content: "x" }, { entity_name: "E" }, ...many] }));
    expect(found.facts).toHaveLength(50);
    expect(found.dropped).toBe(12);
  });

  test.each(["", "I could not find anything.", "{broken", "[1, 2", '{"other": 1}'])("%p has nothing in it and is not readable", (reply) => {
    expect(readExtraction(reply)).toMatchObject({ facts: [], relations: [], isReadable: false });
  });
});

describe("support by the words of the text", () => {
  test.each([
    ["Redis caches the sessions", "The session cache is Redis.", true],
    ["Redis caches the sessions", "John Doe lives in Paris.", false],
    ["我们决定使用缓存保存会话", "会话保存在缓存里", true],
    ["我们决定使用缓存保存会话", "The sessions are cached.", false],
    ["of the and", "anything goes", true],
  ])("%p and %p: %p", (text, statement, isSupported) => {
    expect(supportCheck(text)(statement)).toBe(isSupported);
  });
});
