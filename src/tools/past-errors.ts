import { z } from "zod";
import { firstChars } from "../kernel/text.ts";
import type { PastError, Resemblance } from "../services/errors.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { clamped, filledText, flag, LABEL_CHARS, offset, text } from "./fields.ts";
import { fitRows, readOn, tokensLeft } from "./fit.ts";
import { round } from "./numbers.ts";

/** Errors shown where nothing else was asked for, and at most. */
const ROWS = 20;
const MOST_ROWS = 50;
/** Of a message, code points. */
const MESSAGE_PREVIEW = 200;
/** Of a solution beside a warning, code points. */
const SOLUTION_PREVIEW = 500;
/** Resemblances shown; the warning counts all. */
const MOST_RESEMBLING = 5;
const QUERY_CHARS = 2_000;

export default defineTool({
  name: "cuba_expediente",
  group: "errors",
  profile: "lean",
  title: "Past errors",
  describe:
    "Search past errors and their solutions. Pass proposed_action before trying something: warns if a similar approach is on file as unresolved.",
  hints: { readOnly: true, destructive: false, openWorld: false },
  only: action({
    input: z.object({
      query: filledText(QUERY_CHARS, "words of the error or of its solution"),
      project: text(0, LABEL_CHARS, "only errors with this label of cuba_alarma").optional(),
      resolved_only: flag("only errors with a solution").default(false),
      proposed_action: text(0, QUERY_CHARS, "what you are about to do").optional(),
      limit: clamped(1, MOST_ROWS, "most rows").default(ROWS),
      offset: offset.optional(),
    }),
    run: async (ctx, a, { errors }) => {
      const label = a.project?.trim() || undefined;
      const start = a.offset ?? 0;
      const found = await errors.search(ctx, { query: a.query, label, resolvedOnly: a.resolved_only, limit: a.limit, offset: start });
      const plan = a.proposed_action?.trim() ?? "";
      const head = { query: a.query, ...(plan === "" ? {} : guard(await errors.resembling(ctx, plan, label))) };
      const page = await fitRows({
        rows: found.rows.map(shownError),
        total: found.total,
        offset: start,
        budget: await tokensLeft(head),
        long: "solution",
        whole: a.limit === 1,
      });
      return {
        ...head,
        count: page.rows.length,
        results: page.rows,
        ...readOn(page),
      };
    },
  }),
});

const shownError = (row: PastError) => ({
  id: row.id,
  error_type: row.errorType,
  error_message: firstChars(row.message, MESSAGE_PREVIEW),
  solution: row.solution,
  resolved: row.resolved,
  project: row.label,
  similarity: round(row.similarity),
});

/** Warns of what failed before and is still open; what was solved is shown without a warning. */
function guard(alike: readonly Resemblance[]): Answer {
  if (alike.length === 0) return {};
  const open = alike.filter((row) => !row.resolved).length;
  const warning = `Something like this failed before: ${open} unresolved ${open === 1 ? "error" : "errors"} on file. Read anti_repetition and try another way.`;
  return {
    ...(open > 0 ? { anti_repetition_warning: warning } : {}),
    anti_repetition: alike.slice(0, MOST_RESEMBLING).map((row) => ({
      id: row.id,
      error_message: firstChars(row.message, MESSAGE_PREVIEW),
      solution: row.solution === null ? null : firstChars(row.solution, SOLUTION_PREVIEW),
      resolved: row.resolved,
      similarity: round(row.similarity),
    })),
    ...(alike.length > MOST_RESEMBLING ? { anti_repetition_total: alike.length } : {}),
  };
}
