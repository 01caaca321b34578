import { expect, test } from "bun:test";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost, toolFailure, toolResult } from "../fake-host.ts";

const added = {
  action: "add",
  id: "id-1",
  entity_name: "Redis",
  observation_type: "decision",
  tags: ["redis", "cache"],
  embedding: "pending",
};

test("a memory goes through the same tool as a client's, as the user's", async () => {
  const host = fakeHost({ answer: () => toolResult(added) });
  expect(await runCli(["save", "Redis", "is", "our", "cache", "-t", "decision"], host)).toBe(0);
  expect(host.sent[0]?.params).toEqual({
    name: "cuba_cronica",
    arguments: { action: "add", entity_name: "Redis", content: "is our cache", observation_type: "decision", source: "user" },
  });
  expect(host.out()).toBe("Saved under 'Redis' as decision.\n  id    id-1\n  tags  redis, cache\n");
  expect(host.life).toEqual(["open -", "drain"]);
});

test("an unknown type is refused here, with the list", async () => {
  const host = fakeHost();
  expect(await runCli(["save", "Redis", "x", "--type", "note"], host)).toBe(2);
  expect(host.err()).toContain("fact, decision, lesson, preference, context, tool_usage, error, solution");
  expect(host.life).toEqual([]);
});

test("- reads standard input; an empty one saves nothing", async () => {
  const host = fakeHost({ stdin: "two\nlines\n", answer: () => toolResult(added) });
  await runCli(["save", "Redis", "-"], host);
  expect(host.sent[0]?.params.arguments).toMatchObject({ content: "two\nlines" });
  const empty = fakeHost({ stdin: " \n" });
  expect(await runCli(["save", "Redis", "-"], empty)).toBe(2);
  expect(empty.sent).toEqual([]);
});

test("what was known already is said, with its id", async () => {
  const host = fakeHost({ answer: () => toolResult({ deduplicated: true, existing_id: "id-0", existing_content: "is our cache" }) });
  expect(await runCli(["save", "Redis", "is our cache."], host)).toBe(0);
  expect(host.out()).toBe("Known already as id-0; nothing was added.\n  is our cache\n");
});

test("a save that fails after the row was written is drained before exit 1", async () => {
  const host = fakeHost({
    answer: () => {
      throw new Error("connection lost");
    },
  });
  expect(await runCli(["save", "Redis", "x"], host)).toBe(1);
  expect(host.life).toEqual(["open -", "drain"]);
});

test("a refused credential names the option of this command, which passes it on", async () => {
  const text = "refusing to write content: … Store where the secret is kept instead, or pass allow_secret: true if this is a false match.";
  const host = fakeHost({ answer: () => toolFailure(text) });
  expect(await runCli(["save", "Redis", "password: example9"], host)).toBe(1);
  expect(host.err()).toContain("or if this is a false match say --allow-secret.");
  const allowing = fakeHost({ answer: () => toolResult(added) });
  expect(await runCli(["save", "Redis", "password: example9", "--allow-secret"], allowing)).toBe(0);
  expect(allowing.sent[0]?.params.arguments).toMatchObject({ content: "password: example9", allow_secret: true });
});
