import { z } from "zod";
import { firstChars } from "../kernel/text.ts";
import { type KnownSolution, MESSAGE_CHARS } from "../services/errors.ts";
import { action, defineTool } from "./define.ts";
import { allowSecret, LABEL_CHARS, longText, storedObject, text } from "./fields.ts";
import { round } from "./numbers.ts";
import { shownReminder } from "./shown-reminder.ts";

const TYPE_CHARS = 200;
const CONTEXT_KIB = 64;
/** Of the message and the solution of a similar error, code points. */
const MESSAGE_PREVIEW = 200;
const SOLUTION_PREVIEW = 2_000;

export default defineTool({
  name: "cuba_alarma",
  group: "errors",
  profile: "lean",
  title: "Report an error",
  describe: "Report an error at once. Warns when three or more similar ones are on file and shows known fixes.",
  hints: { readOnly: false, destructive: false, openWorld: false },
  only: action({
    input: z.object({
      error_type: text(0, TYPE_CHARS, "category, e.g. TypeError"),
      error_message: longText(`the message; the first ${MESSAGE_CHARS} characters are kept`),
      context: storedObject(CONTEXT_KIB, "file, function, line, attempted (what you tried), …").default({}),
      project: text(0, LABEL_CHARS, "free label; the active project's name by default").optional(),
      ...allowSecret,
    }),
    secretGate: ["error_message", "context", "error_type", "project"],
    run: async (ctx, a, { errors }) => {
      const errorType = a.error_type.trim() || "Unknown";
      const reported = await errors.report(ctx, {
        errorType,
        message: a.error_message,
        context: a.context,
        label: a.project?.trim() || undefined,
      });
      const { similar, solutions, reminders } = reported;
      return {
        error_id: reported.id,
        error_type: errorType,
        project: reported.label,
        similar_errors: similar,
        ...(reported.truncated ? { truncated: true, kept_chars: MESSAGE_CHARS } : {}),
        ...(reported.isPattern
          ? {
              pattern_warning: `A pattern: ${similar} similar errors are on file under '${reported.label}'. Look at them with cuba_expediente before you try again.`,
            }
          : {}),
        ...(solutions.length === 0 ? {} : { known_solutions: solutions.map(shownSolution) }),
        ...(reminders.length === 0 ? {} : { triggered_reminders: reminders.map(shownReminder) }),
      };
    },
  }),
});

function shownSolution({ id, message, solution, similarity }: KnownSolution) {
  const shown = firstChars(solution, SOLUTION_PREVIEW);
  return {
    id,
    error_message: firstChars(message, MESSAGE_PREVIEW),
    solution: shown,
    ...(shown.length < solution.length ? { solution_truncated: true } : {}),
    similarity: round(similarity),
  };
}
