import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readClaimReply, readPairReply } from "../../../src/domain/trust/reply.ts";

const verdict = '{"verdict":"contradicts","confidence":0.9,"reason":"another port"}';
const read = { verdict: "contradicts", confidence: 0.9, reason: "another port", newer: null };

describe("a reply", () => {
  test.each([
    ["that is the JSON itself", verdict],
    ["in a program's envelope", JSON.stringify({ type: "result", is_error: false, result: verdict })],
    ["in an envelope, fenced", JSON.stringify({ type: "result", result: `\`\`\`json\n${verdict}\n\`\`\`` })],
    ["with prose around it", `I think this is clear. ${verdict} Let me know {if} you need more`.replace(" {if}", "")],
    ["with blanks around it", `\n  ${verdict}\n`],
  ])("%s is read", (_, text) => {
    expect<unknown>(readClaimReply(text)).toEqual(read);
    expect<unknown>(readPairReply(text)).toEqual(read);
  });

  test.each([
    ["rambling", "rambling"],
    ["an unknown verdict", '{"verdict":"weird","confidence":1}'],
    ["an empty reply", ""],
    ["braces without JSON", "{not json}"],
    ["a list", "[1,2]"],
    ["an envelope of nothing", '{"result":""}'],
    ["a verdict that is no text", '{"verdict":["supports"],"confidence":1}'],
  ])("of %s decides nothing", (_, text) => {
    expect<unknown>(readClaimReply(text)).toEqual({ verdict: "unknown", confidence: 0, reason: null, newer: null });
  });

  test("only the words of the question asked count", () => {
    expect(readPairReply('{"verdict":"supports","confidence":0.9}').verdict).toBe("unknown");
    expect(readClaimReply('{"verdict":"supersedes","confidence":0.9}').verdict).toBe("unknown");
    expect(readPairReply('{"verdict":"supersedes","confidence":0.9,"newer":"b"}')).toEqual({
      verdict: "supersedes",
      confidence: 0.9,
      reason: null,
      newer: "b",
    });
    expect(readPairReply('{"verdict":"supersedes","confidence":0.9,"newer":"c"}').newer).toBeNull();
  });

  test.each([
    ["7", 1],
    ["-1", 0],
    ['"0.9"', 0],
    ["null", 0],
    ["1e999", 0],
  ])("confidence %s is read as %p", (written, confidence) => {
    expect(readClaimReply(`{"verdict":"supports","confidence":${written}}`).confidence).toBe(confidence);
  });

  test("whatever comes back, a verdict is one of ours and a confidence is in 0–1", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const reply = readPairReply(text);
        expect(["contradicts", "supersedes", "complementary", "unrelated", "unknown"]).toContain(reply.verdict);
        expect(reply.confidence).toBeGreaterThanOrEqual(0);
        expect(reply.confidence).toBeLessThanOrEqual(1);
      }),
    );
  });
});
