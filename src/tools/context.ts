import { z } from "zod";
import { projectOf } from "../kernel/context.ts";
import { charCount, firstChars } from "../kernel/text.ts";
import type { Layers } from "../services/context.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { clamped } from "./fields.ts";
import { round } from "./numbers.ts";

const LEAST_BUDGET = 1_000;
const MOST_BUDGET = 100_000;
const DEFAULT_BUDGET = 12_000;
/** Of one note or message, code points: a long one must not push out all others. `cuba_pizarra` has the whole. */
const NOTE_CHARS = 1_500;
const CLIENT_CHARS = 100;

/** Least worth first: this is the order in which layers lose entries from their ends. */
const byWorth = ["artifacts", "top_recall", "agent_notes", "working_memory"] as const;
type Layer = (typeof byWorth)[number];

export default defineTool({
  name: "cuba_contexto",
  group: "coordination",
  profile: "lean",
  title: "Context window",
  describe: "What to know first: this session's notes, messages for you, shared artifacts, the memories that matter. Call it at the start.",
  hints: { readOnly: true, destructive: false, openWorld: false },
  only: action({
    input: z.object({ budget_chars: clamped(LEAST_BUDGET, MOST_BUDGET, "bytes of the answer").default(DEFAULT_BUDGET) }),
    run: async (ctx, { budget_chars: budget }, { context }) => {
      const found = await context.look(ctx);
      const head = {
        action: "contexto",
        client_id: firstChars(ctx.client.split("::")[0] ?? ctx.client, CLIENT_CHARS),
        session_id: ctx.session?.id ?? null,
        project_id: projectOf(ctx.scope),
        budget_chars: budget,
        truncated: false,
        ...(found.incomplete.length === 0 ? {} : { incomplete: found.incomplete }),
      };
      return withinBudget(head, layersOf(found), budget);
    },
  }),
});

const shortened = (key: string, text: string): Answer =>
  charCount(text) > NOTE_CHARS ? { [key]: firstChars(text, NOTE_CHARS), [`${key}_truncated`]: true } : { [key]: text };

const layersOf = (found: Layers): Record<Layer, readonly Answer[]> => ({
  working_memory: found.notes.map(({ content, tag }) => ({ ...shortened("content", content), tag })),
  agent_notes: found.messages.map(({ message, from }) => ({ ...shortened("message", message), from_agent: from })),
  artifacts: found.artifacts.map(({ path, version, hash }) => ({ path, version, content_hash: hash })),
  top_recall: found.recall.map(({ entity, snippet, importance }) => ({ entity, snippet, importance: round(importance) })),
});

/** UTF-8 bytes: what is sent, and never less than the characters. */
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Whole entries go from the end of the layer of least worth until the answer fits; what went is counted. */
function withinBudget(head: Answer, layers: Record<Layer, readonly Answer[]>, budget: number): Answer {
  const whole = { ...head, layers };
  if (bytesOf(whole) <= budget) return whole;
  const kept = { ...layers };
  const dropped: Partial<Record<Layer, number>> = {};
  const answer = (): Answer => ({ ...head, truncated: true, dropped, next: { budget_chars: MOST_BUDGET }, layers: kept });
  for (const layer of byWorth)
    while (kept[layer].length > 0 && bytesOf(answer()) > budget) {
      kept[layer] = kept[layer].slice(0, -1);
      dropped[layer] = (dropped[layer] ?? 0) + 1;
    }
  return answer();
}
