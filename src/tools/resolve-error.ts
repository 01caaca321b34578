import { z } from "zod";
import { firstChars } from "../kernel/text.ts";
import { action, defineTool } from "./define.ts";
import { allowSecret, CONTENT_CHARS, filledText, uuid } from "./fields.ts";
import { fitText } from "./fit.ts";
import { round } from "./numbers.ts";

/** Of an error that is still open, code points. */
const MESSAGE_PREVIEW = 100;

export default defineTool({
  name: "cuba_remedio",
  group: "errors",
  profile: "lean",
  title: "Resolve an error",
  describe: "Mark an error as resolved with the solution that worked, and list similar errors still open.",
  hints: { readOnly: false, destructive: false, openWorld: false },
  only: action({
    input: z.object({
      error_id: uuid("the id that cuba_alarma answered"),
      solution: filledText(CONTENT_CHARS, "what fixed it"),
      ...allowSecret,
    }),
    secretGate: ["solution"],
    run: async (ctx, a, { errors }) => {
      const id = a.error_id.toLowerCase();
      const { replaced, open } = await errors.resolve(ctx, id, a.solution);
      return {
        error_id: id,
        resolved: true,
        ...(await fitText("solution", a.solution)),
        ...(replaced ? { replaced: true } : {}),
        similar_unresolved: open.map((row) => ({
          id: row.id,
          error_message: firstChars(row.message, MESSAGE_PREVIEW),
          similarity: round(row.similarity),
        })),
        similar_count: open.length,
      };
    },
  }),
});
