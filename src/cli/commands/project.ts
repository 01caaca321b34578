import { oneOf, text } from "../../kernel/kinds.ts";
import { byName, number, object, orNull, readAnswer } from "../answer.ts";
import { flag, positional } from "../arguments.ts";
import { command } from "../define.ts";
import { showPlan } from "../output.ts";

const rowsByTable = orNull(byName(number));
const backfill = object({ result: object({ assigned: rowsByTable, would_assign: rowsByTable }) });

export default command({
  name: "project",
  summary: "adopt memories that belong to no project",
  needs: "database",
  writes: "plan",
  args: {
    what: positional(oneOf(["backfill"]), "backfill"),
    name: positional(text, "project that the memories without one go to"),
    apply: flag("do it"),
  },
  details: ["While a project is active, memories without one are hidden from it."],
  run: async ({ name, apply }, { gateway, host, out }) => {
    const road = await gateway();
    const { result } = readAnswer(backfill, await road.callTool("cuba_proyecto", { action: "backfill", name, confirm: apply }));
    const rows = Object.entries(result.assigned ?? result.would_assign ?? {});
    const steps = rows.map(([table, count]) => `  ${String(count).padStart(6)}  ${table}`);
    if (steps.length === 0) {
      out.line("Every memory belongs to a project already; nothing to adopt.");
      return 0;
    }
    if (apply) for (const line of [`Assigned to '${name}':`, ...steps]) out.line(line);
    else showPlan(out, host.typed, { steps: [`Assign to '${name}':`, ...steps], apply: ["project", "backfill", name, "--apply"] });
    return 0;
  },
});
