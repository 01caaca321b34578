import { usage } from "../../kernel/errors.ts";
import { oneOf, text } from "../../kernel/kinds.ts";
import { option, optionOr, positional, words } from "../arguments.ts";
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
  },
  run: async ({ entity, content, type, project }, { gateway, host, out }) => {
    const body = content === "-" ? (await host.stdin()).trim() : content;
    if (body === "") throw usage("Standard input was empty; nothing was saved.");
    const road = await gateway({ project });
    const answer = await road.callTool("cuba_cronica", {
      action: "add",
      entity_name: entity,
      content: body,
      observation_type: type,
      source: "user",
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
