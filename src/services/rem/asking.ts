/** What the two phases that ask a language model share: who may be asked, how often, and when to stop. */
import type { Scope } from "../../kernel/context.ts";
import { unavailable } from "../../kernel/errors.ts";
import type { Ladder } from "../../llm/ladder.ts";
import type { Chat } from "../../llm/port.ts";
import { SPENT } from "../ingest/ask.ts";
import type { PhaseContext, PhaseOutcome, RemParts } from "./phase.ts";

/** Failures in a row that mean that the model is gone; a single slow row must not take the batch with it. */
const MOST_FAILURES_IN_A_ROW = 2;
/** `auto`: rows of one cycle, and more while many wait. */
const AUTO_BATCH = 5;
const AUTO_LARGE_BATCH = 20;
const AUTO_LARGE_FROM = 50;

/** @param waiting undefined where the larger batch does not exist for this phase. */
export const batchSize = (setting: number | "auto", waiting: number | undefined): number =>
  setting === "auto" ? ((waiting ?? 0) >= AUTO_LARGE_FROM ? AUTO_LARGE_BATCH : AUTO_BATCH) : setting;

/** The chosen models, each question counted before it is put. */
export interface CappedLadder extends Ladder {
  /** The day's cap kept a question from being put. */
  isSpent(): boolean;
}

function capped({ chats, problem }: Ladder, { budget }: PhaseContext): CappedLadder {
  let spent = false;
  const counting = (chat: Chat): Chat => ({
    ...chat,
    async complete(request, signal) {
      if (spent || !(await budget.take())) {
        spent = true;
        throw unavailable("The day's cap of questions to a language model is reached (CUBA_LLM_DAILY_CAP). Nothing was asked.", {
          reason: SPENT,
        });
      }
      return await chat.complete(request, signal);
    },
  });
  return { chats: chats.map(counting), problem, isSpent: () => spent };
}

export const scopeOf = (projectId: string | null): Scope => (projectId === null ? { kind: "none" } : { kind: "project", id: projectId });

/** What came of one row. `refused`: it can never succeed, and is done with; nothing was asked. */
export type Reading = { readonly kind: "read"; readonly count: number } | { readonly kind: "refused" } | { readonly kind: "failed" };

/**
 * Reads rows with the chosen models until the batch, the cap or the models' patience ends.
 * @param setting of the phase's variable; 0 asks nobody.
 */
export async function readRows<Row>(
  ctx: PhaseContext,
  { ladder, settings }: RemParts,
  phase: {
    readonly variable: string;
    readonly setting: number | "auto";
    readonly rows: () => Promise<readonly Row[]>;
    readonly read: (row: Row, ladder: CappedLadder) => Promise<Reading>;
    readonly fail: (row: Row) => Promise<void>;
  },
): Promise<PhaseOutcome> {
  if (phase.setting === 0) return { count: 0, skipped: `switched off (${phase.variable})` };
  const chosen = ladder();
  if (chosen.chats.length === 0)
    return { count: 0, skipped: chosen.problem ?? "no language model was chosen ('memory-industry llm use …'); nothing was asked" };
  const capNote = `the cap of ${settings.llmDailyCap} questions of this UTC day is reached (CUBA_LLM_DAILY_CAP)`;
  let count = 0;
  let failed = 0;
  let inARow = 0;
  for (const row of await phase.rows()) {
    await ctx.pace.turn(ctx.signal);
    const models = capped(chosen, ctx);
    const reading = await phase.read(row, models);
    if (models.isSpent()) return { count, failed, note: capNote };
    if (reading.kind === "read") count += reading.count;
    if (reading.kind !== "failed") {
      inARow = 0;
      continue;
    }
    await phase.fail(row);
    failed++;
    if (++inARow === MOST_FAILURES_IN_A_ROW)
      return { count, failed, note: `ended after ${MOST_FAILURES_IN_A_ROW} failures in a row: the model seems to be gone` };
  }
  return { count, failed };
}
