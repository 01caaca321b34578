import { z } from "zod";
import type { FoundProcedure, Procedure, Step } from "../services/procedures.ts";
import { reliabilityOf } from "../services/procedures.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { allowSecret, clamped, entityName, filledText, flag, listOf, offset, text } from "./fields.ts";
import { fitRows, tokensLeft } from "./fit.ts";
import { round } from "./numbers.ts";

const QUERY_CHARS = 2_000;
const TRIGGER_CHARS = 1_000;
const CONDITION_CHARS = 2_000;
const SAY_CHARS = 1_000;
const RUN_CHARS = 4_000;
const MOST_STEPS = 100;
const SEARCH_ROWS = 5;
const MOST_FOUND = 25;
const LIST_ROWS = 20;
const MOST_LISTED = 100;
const LIMIT = `search (${SEARCH_ROWS}, at most ${MOST_FOUND}), list (${LIST_ROWS})`;
/** Of the steps beside other recipes, bytes as JSON; `get` shows them all. One that is longer alone has as many tokens. */
const STEPS_PREVIEW = 3_000;
/** What the texts of a recipe may take beside its steps, tokens; only scripts with several tokens a sign reach it. */
const TEXTS_TOKENS = 5_000;
/** What is cut first where a recipe, or a step of it, is too long for an answer. */
const longTexts = ["verification", "preconditions", "trigger"] as const;
const longParts = ["run", "expect", "do"] as const;

const step = z.object({
  do: filledText(SAY_CHARS, ""),
  run: text(0, RUN_CHARS, "a command").optional(),
  expect: text(0, SAY_CHARS, "").optional(),
});
const name = entityName("recipe name");

export default defineTool({
  name: "cuba_receta",
  group: "procedures",
  profile: "lean",
  title: "Procedures",
  describe:
    "What to do, not what is true: recipes ranked by whether they worked. Adding a known name edits it and keeps its record. Report outcome after each run, or nothing is learned; a recipe that keeps failing is worse than none.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  actions: {
    add: action({
      input: z.object({
        name,
        trigger: text(0, TRIGGER_CHARS, "add: when to use it").default(""),
        steps: listOf(step, 1, MOST_STEPS, "add: in order"),
        preconditions: text(0, CONDITION_CHARS, "add: what must hold before").default(""),
        verification: text(0, CONDITION_CHARS, "add: how to tell that it worked").default(""),
        ...allowSecret,
      }),
      secretGate: ["name", "trigger", "steps", "preconditions", "verification"],
      run: async (ctx, { allow_secret: _, ...recipe }, { procedures }) => {
        const stored = await procedures.put(ctx, recipe);
        return { action: "add", ...(await one(stored)), created: stored.created };
      },
    }),
    get: action({
      input: z.object({ name, offset: offset.optional() }),
      run: async (ctx, a, { procedures }) => whole(await procedures.get(ctx, a.name), a.offset ?? 0),
    }),
    search: action({
      input: z.object({
        query: filledText(QUERY_CHARS, "search: what you are about to do"),
        limit: clamped(1, MOST_LISTED, LIMIT).optional(),
        offset: offset.optional(),
      }),
      run: async (ctx, a, { procedures }) => {
        const start = a.offset ?? 0;
        const found = await procedures.search(ctx, a.query, { limit: Math.min(MOST_FOUND, a.limit ?? SEARCH_ROWS), offset: start });
        const head = {
          action: "search",
          query: a.query,
          ...(found.lost === undefined ? {} : { degraded: true, degraded_reason: found.lost }),
        };
        return await page(head, await Promise.all(found.rows.map(hit)), found.total, start);
      },
    }),
    outcome: action({
      input: z.object({ name, success: flag("outcome: whether it worked") }),
      run: async (ctx, a, { procedures }) => ({
        action: "outcome",
        ...(await one(await procedures.outcome(ctx, a.name, a.success))),
        ...(a.success ? {} : { hint: "add the same name with better steps to correct it; its record is kept" }),
      }),
    }),
    list: action({
      input: z.object({ limit: clamped(1, MOST_LISTED, LIMIT).optional(), offset: offset.optional() }),
      run: async (ctx, a, { procedures }) => {
        const start = a.offset ?? 0;
        const found = await procedures.list(ctx, { limit: a.limit ?? LIST_ROWS, offset: start });
        return await page({ action: "list" }, await Promise.all(found.rows.map(preview)), found.total, start);
      },
    }),
    delete: action({
      deletesAtOnce: true,
      input: z.object({ name }),
      run: async (ctx, a, { procedures }) => ({ action: "delete", ...(await procedures.remove(ctx, a.name)), deleted: true }),
    }),
  },
});

const facts = (recipe: Procedure) => ({
  id: recipe.id,
  name: recipe.name,
  ...(recipe.projectName === null ? {} : { project: recipe.projectName }),
  trigger: recipe.trigger,
  preconditions: recipe.preconditions,
  verification: recipe.verification,
  successes: recipe.successes,
  failures: recipe.failures,
  reliability: round(reliabilityOf(recipe)),
  last_outcome: recipe.lastOutcome,
  since_edit: { successes: recipe.successesSinceEdit, failures: recipe.failuresSinceEdit },
});

/** A recipe with as many of its steps as have room beside others, at least one. */
async function preview(recipe: Procedure) {
  const some: Step[] = [];
  let bytes = 0;
  for (const each of recipe.steps) {
    bytes += Buffer.byteLength(JSON.stringify(each));
    if (some.length > 0 && bytes > STEPS_PREVIEW) break;
    some.push(each);
  }
  const total = recipe.steps.length;
  const { rows: steps } = await fitRows({
    rows: some.map((each) => ({ ...each })),
    total,
    offset: 0,
    budget: STEPS_PREVIEW,
    long: longParts,
  });
  return { ...facts(recipe), steps, ...(steps.length < total ? { steps_total: total, steps_truncated: true } : {}) };
}

const hit = async (recipe: FoundProcedure) => ({ ...(await preview(recipe)), similarity: round(recipe.likeness) });

/** A recipe that is the answer. */
async function one(recipe: Procedure): Promise<Answer> {
  const { rows } = await fitRows({ rows: [await preview(recipe)], total: 1, offset: 0, long: longTexts });
  return rows[0] ?? {};
}

/** Steps are shown twice, as data and as text for people, so each list may take half of the room. */
async function whole(recipe: Procedure, start: number): Promise<Answer> {
  const texts = await fitRows({ rows: [facts(recipe)], total: 1, offset: 0, budget: TEXTS_TOKENS, long: longTexts });
  const head = { action: "get", ...texts.rows[0] };
  const steps = recipe.steps.slice(start).map((each, at) => ({ ...each, at: start + at }));
  const budget = await tokensLeft(head, 2);
  const shown = await fitRows({ rows: steps, total: recipe.steps.length, offset: start, budget, long: longParts });
  return {
    ...head,
    steps: shown.rows.map(({ at: _, ...each }) => each),
    markdown: shown.rows.map((each) => markdown(each, each.at + 1)).join("\n"),
    ...(shown.truncated ? { truncated: true, total: shown.total, next: { offset: start + shown.rows.length } } : {}),
  };
}

/** One numbered step; the command in a fence that no backtick of its own can close. */
function markdown(each: Step, number: number): string {
  const lines = [`${number}. ${each.do.replace(/\s*\n\s*/g, " ")}`];
  if (each.run !== undefined && each.run !== "") {
    const longest = Math.max(2, ...(each.run.match(/`+/g) ?? []).map((run) => run.length));
    const fence = "`".repeat(longest + 1);
    lines.push(...[fence, ...each.run.split("\n"), fence].map((line) => `   ${line}`));
  }
  if (each.expect !== undefined && each.expect !== "") lines.push(`   → ${each.expect.replace(/\s*\n\s*/g, " ")}`);
  return lines.join("\n");
}

async function page(head: Answer, rows: readonly Awaited<ReturnType<typeof preview>>[], total: number, start: number): Promise<Answer> {
  const shown = await fitRows({ rows, total, offset: start, budget: await tokensLeft(head), long: longTexts });
  return {
    ...head,
    count: shown.rows.length,
    procedures: shown.rows,
    ...(shown.truncated ? { truncated: true, total: shown.total, next: { offset: start + shown.rows.length } } : {}),
  };
}
