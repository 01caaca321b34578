import { MemoryError, refused, usage } from "../../kernel/errors.ts";
import { oneOf, text } from "../../kernel/kinds.ts";
import { flag, option, optionOr, positional, words } from "../arguments.ts";
import { command } from "../define.ts";

const types = ["fact", "decision", "lesson", "preference", "context", "tool_usage", "error", "solution"] as const;

export default command({
  name: "save",
  summary: "save one memory about an entity",
  needs: "database",
  writes: "database",
  flagHint: "Text that starts with dashes must come after '--'.",
  args: {
    entity: positional(text, "what it is about"),
    content: words("the memory; - reads it from standard input"),
    type: optionOr(oneOf(types), "fact", "kind of memory", { hint: types.join("|"), short: "t" }),
    project: option(text, "project to save it in", { hint: "NAME", short: "p" }),
    allowSecret: flag("keep text that looks like a credential, in clear; else it is refused"),
  },
  run: async ({ entity, content, type, project, allowSecret }, { gateway, host, out }) => {
    const body = content === "-" ? (await host.stdin()).trim() : content;
    if (body === "") throw usage("Standard input was empty; nothing was saved.");
    const road = await gateway({ project });
    const answer = await road
      .callTool("cuba_cronica", {
        action: "add",
        entity_name: entity,
        content: body,
        observation_type: type,
        source: "user",
        ...(allowSecret ? { allow_secret: true } : {}),
      })
      .catch((error: unknown) => {
        throw asTyped(error);
      });
    if (answer.deduplicated === true) {
      out.line(`Known already as ${String(answer.existing_id)}; nothing was added.`);
      if (typeof answer.existing_content === "string") out.line(`  ${answer.existing_content}`);
      return 0;
    }
    if (answer.prediction_error === "reinforce") {
      out.line(`Close to ${String(answer.reinforced_id)}, which was strengthened; nothing was added.`);
      return 0;
    }
    out.line(`Saved under '${String(answer.entity_name ?? entity)}' as ${type}.`);
    out.line(`  id    ${String(answer.id)}`);
    if (Array.isArray(answer.tags) && answer.tags.length > 0) out.line(`  tags  ${answer.tags.map(String).join(", ")}`);
    if (typeof answer.possible_conflict === "object" && answer.possible_conflict !== null)
      out.note("It may contradict an earlier memory: see 'possible_conflict' of cuba_cronica, and correct with cuba_eco.");
    return 0;
  },
});

/** The refusal names the argument of a tool; here it is an option, at the very end: what follows a word like it is masked on every screen. */
const asTyped = (error: unknown): unknown =>
  error instanceof MemoryError && error.code === "refused"
    ? refused(error.message.replace("pass allow_secret: true if this is a false match.", "if this is a false match say --allow-secret."), {
        cause: error,
      })
    : error;
