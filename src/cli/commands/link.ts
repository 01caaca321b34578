import { LINK_THRESHOLDS } from "../../domain/defaults.ts";
import { decimal, integer } from "../../kernel/kinds.ts";
import { oneLine } from "../../kernel/text.ts";
import { listOf, number, object, readAnswer, string } from "../answer.ts";
import { flag, optionOr } from "../arguments.ts";
import { command } from "../define.ts";
import { showPlan } from "../output.ts";

/** Longest piece of a name in the list, characters. */
const NAME_CHARS = 40;

const answerShape = object({
  found: listOf(object({ aName: string, bName: string, npmi: number, sessions: number })),
  total: number,
  made: number,
});

export default command({
  name: "link",
  summary: "relate entities that turn up in the same sessions",
  needs: "database",
  writes: "plan",
  args: {
    threshold: optionOr(decimal(0, 1), LINK_THRESHOLDS.threshold, "least NPMI: 0 is chance, 1 is always together", { hint: "N" }),
    minSessions: optionOr(integer(1, 1_000), LINK_THRESHOLDS.minSessions, "least number of sessions that both are in", { hint: "N" }),
    show: optionOr(integer(1, 10_000), 40, "pairs shown", { hint: "N" }),
    apply: flag("store the relations"),
  },
  details: ["Stored as related_to, both ways, marked as predicted. A relation that is there is never changed."],
  run: async ({ threshold, minSessions, show, apply }, { gateway, host, out }) => {
    const road = await gateway();
    const { found, total, made } = readAnswer(answerShape, await road.ask("owner/links", { threshold, minSessions, show, apply }));
    if (found.length === 0) {
      out.line("No two entities turn up together often enough that are not related already.");
      return 0;
    }
    const lines = found.map(
      (pair) =>
        `  ${pair.npmi.toFixed(3)}  ${pair.sessions} sessions  ${oneLine(pair.aName, NAME_CHARS)} — ${oneLine(pair.bName, NAME_CHARS)}`,
    );
    const rest = total > found.length ? [`  … and ${total - found.length} more (--show)`] : [];
    if (apply) {
      for (const line of [`Related ${made} pairs:`, ...lines, ...rest]) out.line(line);
      return 0;
    }
    showPlan(out, host.typed, {
      steps: [`Relate ${total} pairs:`, ...lines, ...rest],
      apply: ["link", "--threshold", String(threshold), "--min-sessions", String(minSessions), "--apply"],
    });
    return 0;
  },
});
