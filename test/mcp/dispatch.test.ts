import { expect, test } from "bun:test";
import { z } from "zod";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createDispatcher, type Opening } from "../../src/mcp/dispatch.ts";
import { translate } from "../../src/store/failures.ts";
import { action, defineTool } from "../../src/tools/define.ts";
import type { Services } from "../../src/tools/services.ts";

const tool = defineTool({
  name: "cuba_note",
  group: "graph",
  profile: "lean",
  title: "Note",
  describe: "A text.",
  hints: { readOnly: false, destructive: false, openWorld: false },
  only: action({ input: z.object({ text: z.string() }), secretGate: ["text"], run: async () => ({ kept: true }) }),
});

/** Counts the turns that a call gives to others, where each look at the clock takes `stepMs`. */
async function turnsOf(text: string, stepMs: number) {
  let clock = 0;
  let turns = 0;
  const abort = new AbortController();
  const dispatcher = createDispatcher({
    tools: [tool],
    services: { telemetry: { record: () => {} } } as unknown as Services,
    now: () => (clock += stepMs),
    paceOf: () => ({
      now: () => clock,
      turn: async (signal) => {
        expect(signal).toBe(abort.signal);
        turns++;
      },
    }),
  });
  const opening: Opening = {
    id: "call",
    client: "tester",
    principal: { kind: "owner" },
    signal: abort.signal,
    log: silentLogger,
    open: async () => ({}) as never,
  };
  const { ok, answer } = await dispatcher.call(opening, "cuba_note", { text });
  return { ok, code: answer.code, turns };
}

test("a call with megabytes of text lets others go first while the gate reads them; a short one does not wait", async () => {
  const text = "a plain word and another one ".repeat(4_000);
  expect(await turnsOf(text.slice(0, 1_000), 25)).toEqual({ ok: true, code: undefined, turns: 0 });
  const long = await turnsOf(text, 25);
  expect(long.ok).toBe(true);
  expect(long.turns).toBeGreaterThan(20);
  expect((await turnsOf(text, 0)).turns).toBe(0);
});

test("where its project was gone, the connection is told, so that the client's next call does not begin in it", async () => {
  let told = 0;
  const failing = (error: Error) =>
    defineTool({
      ...tool,
      only: action({ input: z.object({ text: z.string() }), secretGate: ["text"], run: () => Promise.reject(error) }),
    });
  for (const error of [
    translate(Object.assign(new Error(), { code: "23503", constraint: "brain_observations_project_id_fkey" })),
    translate(Object.assign(new Error(), { code: "23503", constraint: "brain_observations_entity_id_fkey" })),
  ]) {
    const dispatcher = createDispatcher({
      tools: [failing(error as Error)],
      services: { telemetry: { record: () => {} } } as unknown as Services,
      now: () => 0,
      paceOf: () => ({ now: () => 0, turn: async () => {} }),
    });
    const opening: Opening = {
      id: "call",
      client: "tester",
      principal: { kind: "owner" },
      signal: new AbortController().signal,
      log: silentLogger,
      open: async () => ({}) as never,
      projectGone: () => void told++,
    };
    expect(await dispatcher.call(opening, "cuba_note", { text: "a note" })).toMatchObject({ ok: false, answer: { code: "conflict" } });
    expect(told).toBe(1);
  }
});

test("a refusal of a tool that only reads claims nothing about writing", async () => {
  const said = async (readOnly: boolean) => {
    const dispatcher = createDispatcher({
      tools: [{ ...tool, hints: { ...tool.hints, readOnly } }],
      services: { telemetry: { record: () => {} } } as unknown as Services,
      now: () => 0,
      paceOf: () => ({ now: () => 0, turn: async () => {} }),
    });
    const opening: Opening = {
      id: "call",
      client: "tester",
      principal: { kind: "owner" },
      signal: new AbortController().signal,
      log: silentLogger,
      open: async () => ({}) as never,
    };
    return (await dispatcher.call(opening, "cuba_note", {})).text;
  };
  expect(await said(false)).toEndWith("Nothing was written.");
  expect(await said(true)).toEndWith("Nothing was done.");
  expect(await said(true)).not.toContain("written");
});

test("a secret behind megabytes of text is refused", async () => {
  const refused = await turnsOf(`${"a plain word and another one ".repeat(4_000)} password: hunter22x`, 25);
  expect(refused).toMatchObject({ ok: false, code: "refused" });
  expect(refused.turns).toBeGreaterThan(20);
});
