import { inBrief } from "../../domain/decision-text.ts";
import { integer, text } from "../../kernel/kinds.ts";
import { oneLine } from "../../kernel/text.ts";
import { flag, option, optionOr, words } from "../arguments.ts";
import { command } from "../define.ts";
import type { ToolAnswer } from "../gateway.ts";
import type { Output } from "../output.ts";

/** Longest piece of a memory in the list, in characters. */
const BODY_CHARS = 140;

export default command({
  name: "search",
  summary: "search the memories",
  needs: "database",
  writes: "database",
  flagHint: "A word of the question that starts with dashes must come after '--'.",
  args: {
    words: words("what to look for"),
    limit: optionOr(integer(1, 50), 10, "most results", { hint: "N", short: "n" }),
    project: option(text, "project to search in", { hint: "NAME", short: "p" }),
    associative: flag("follow relations too; measured to hurt, for comparison"),
    json: flag("print the answer as JSON"),
  },
  run: async ({ words: query, limit, project, associative, json }, { gateway, out }) => {
    const road = await gateway({ project });
    // Whoever mistypes a name wants no new project of it.
    if (project !== undefined) await road.ask("owner/project", { name: project });
    const answer = await road.callTool("cuba_faro", { query, limit, associative, format: "verbose" });
    if (json) out.json(answer);
    else if (!showHits(answer, out)) out.tell(nothingFound(await road.callTool("cuba_whoami", {})));
    return 0;
  },
});

type Row = Readonly<Record<string, unknown>>;
const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null;
const string = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Memories belong to projects, and the directory decides which: a search from elsewhere finds nothing, and would not say why. */
function nothingFound(who: ToolAnswer): string {
  const project = string(who.project_name);
  const where = project === undefined ? "" : ` in the project '${oneLine(project, BODY_CHARS)}' (--project searches another)`;
  return `Nothing found${where}. If you expected something: 'memory-industry doctor' shows whether search works fully.`;
}

/** @returns false where there was none */
function showHits(answer: ToolAnswer, out: Output): boolean {
  const rows = Array.isArray(answer.results) ? answer.results.filter(isRow) : [];
  for (const [at, row] of rows.entries()) {
    const score = typeof row.fused_score === "number" ? row.fused_score.toFixed(4) : "  –   ";
    out.line(`${String(at + 1).padStart(2)}. ${score}  ${titleOf(row)}`);
    const body = oneLine(inBrief(string(row.content) ?? string(row.error_message) ?? ""), BODY_CHARS);
    if (body !== "") out.line(`    ${body}`);
    out.line(`    ${string(row.id) ?? ""}`);
  }
  for (const key of ["degraded", "reranker_degraded"])
    if (answer[key] === true) out.note(`Search was limited: ${string(answer[`${key}_reason`]) ?? "the reason was not given"}`);
  if (answer.abstain_reason !== undefined)
    out.note(`Abstained: ${string(answer.abstain_reason) ?? "no memory is close enough to the question"}`);
  return rows.length > 0;
}

function titleOf(row: Row): string {
  const error = string(row.error_type);
  if (error !== undefined) return `${error} (error, ${row.resolved === true ? "resolved" : "UNRESOLVED"})`;
  const kind = string(row.observation_type) ?? string(row.entity_type) ?? string(row.type) ?? "memory";
  return `${string(row.entity_name) ?? string(row.name) ?? "?"} (${kind})`;
}
