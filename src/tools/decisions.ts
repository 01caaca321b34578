import { z } from "zod";
import { DECISIONS_ENTITY, type Decision } from "../services/decisions.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { allowSecret, clamped, filledText, listOf, offset, text } from "./fields.ts";
import { fitRows, readOn } from "./fit.ts";
import { round } from "./numbers.ts";

const TITLE_CHARS = 300;
/** Of one part; the whole is one memory and no longer than that. */
const PART_CHARS = 9_900;
const QUERY_CHARS = 2_000;
const MOST_ALTERNATIVES = 50;
/** Decisions shown where nothing else was asked for, and at most. */
const QUERY_ROWS = 10;
const LIST_ROWS = 20;
const MOST_ROWS = 50;

const shown = { limit: clamped(1, MOST_ROWS, "query, list: most rows").optional(), offset: offset.optional() };

export default defineTool({
  name: "cuba_decreto",
  group: "sessions",
  profile: "lean",
  title: "Architecture decisions",
  describe: "Record design decisions: the options, the choice and the reason. query before deciding again. Decisions never fade.",
  hints: { readOnly: false, destructive: false, openWorld: false },
  actions: {
    record: action({
      input: z.object({
        title: filledText(TITLE_CHARS, "record: one line"),
        context: text(0, PART_CHARS, "record: what made it necessary").default(""),
        alternatives: listOf(text(1, PART_CHARS, "an option"), 0, MOST_ALTERNATIVES, "record: options weighed").default([]),
        chosen: filledText(PART_CHARS, "record: what was chosen"),
        rationale: text(0, PART_CHARS, "record: why").default(""),
        ...allowSecret,
      }),
      secretGate: ["title", "context", "alternatives[]", "chosen", "rationale"],
      run: async (ctx, { allow_secret: _, ...a }, { decisions }) => {
        const title = a.title.replace(/\s+/gu, " ").trim();
        const { id, similar } = await decisions.record(ctx, { ...a, title });
        return {
          action: "record",
          id,
          title,
          ...(similar.length === 0 ? {} : { similar: similar.map((row) => ({ id: row.id, similarity: round(row.similarity) })) }),
        };
      },
    }),
    query: action({
      input: z.object({ query: filledText(QUERY_CHARS, "query: words of a decision"), ...shown }),
      run: async (ctx, a, { decisions }) => {
        const start = a.offset ?? 0;
        const found = await decisions.query(ctx, a.query.trim(), { limit: a.limit ?? QUERY_ROWS, offset: start });
        const rows = found.rows.map((row) => ({ ...shownDecision(row), similarity: round(row.similarity) }));
        return await page("query", "results", rows, found.total, start, a.limit);
      },
    }),
    list: action({
      input: z.object(shown),
      run: async (ctx, a, { decisions }) => {
        const start = a.offset ?? 0;
        const found = await decisions.list(ctx, { limit: a.limit ?? LIST_ROWS, offset: start });
        return await page("list", "decisions", found.rows.map(shownDecision), found.total, start, a.limit);
      },
    }),
  },
});

const shownDecision = ({ id, content, entityName, createdAt }: Decision) => ({
  id,
  content,
  ...(entityName === DECISIONS_ENTITY ? {} : { entity: entityName }),
  created_at: createdAt,
});

async function page(
  act: string,
  key: string,
  rows: readonly Answer[],
  total: number,
  start: number,
  limited: number | undefined,
): Promise<Answer> {
  const fitting = await fitRows({ rows, total, offset: start, long: "content", whole: limited === 1 });
  return {
    action: act,
    [key]: fitting.rows,
    count: fitting.rows.length,
    ...readOn(fitting),
  };
}
