import { decimal, integer } from "../../kernel/kinds.ts";
import { oneLine } from "../../kernel/text.ts";
import { flag, optionOr } from "../arguments.ts";
import { command } from "../define.ts";
import { showPlan } from "../output.ts";

/** Longest piece of a name in the list, characters. */
const NAME_CHARS = 40;

export default command({
  name: "link",
  summary: "relate entities that turn up in the same sessions",
  needs: "database",
  writes: "plan",
  args: {
    threshold: optionOr(decimal(0, 1), 0.3, "least NPMI: 0 is chance, 1 is always together", { hint: "N" }),
    minSessions: optionOr(integer(1, 1_000), 2, "least number of sessions that both are in", { hint: "N" }),
    show: optionOr(integer(1, 10_000), 40, "pairs shown", { hint: "N" }),
    apply: flag("store the relations"),
  },
  details: ["Stored as related_to, both ways, marked as predicted. A relation that is there is never changed."],
  run: async ({ threshold, minSessions, show, apply }, { gateway, host, out }) => {
    const road = await gateway();
    const answer = await road.ask("owner/links", { threshold, minSessions, apply });
    const found = pairsOf(answer);
    if (found.length === 0) {
      out.line("No two entities turn up together often enough that are not related already.");
      return 0;
    }
    const lines = found
      .slice(0, show)
      .map(
        (pair) =>
          `  ${pair.npmi.toFixed(3)}  ${pair.sessions} sessions  ${oneLine(pair.aName, NAME_CHARS)} — ${oneLine(pair.bName, NAME_CHARS)}`,
      );
    const rest = found.length > show ? [`  … and ${found.length - show} more (--show)`] : [];
    if (apply) {
      for (const line of [`Related ${Number(Reflect.get(Object(answer), "made"))} pairs:`, ...lines, ...rest]) out.line(line);
      return 0;
    }
    showPlan(out, host.typed, {
      steps: [`Relate ${found.length} pairs:`, ...lines, ...rest],
      apply: ["link", "--threshold", String(threshold), "--min-sessions", String(minSessions), "--apply"],
    });
    return 0;
  },
});

interface Pair {
  readonly aName: string;
  readonly bName: string;
  readonly npmi: number;
  readonly sessions: number;
}

function pairsOf(answer: unknown): Pair[] {
  const list: unknown = Reflect.get(Object(answer), "found");
  return (Array.isArray(list) ? list : []).map((each: unknown) => {
    const member = (key: string): unknown => Reflect.get(Object(each), key);
    return {
      aName: String(member("aName")),
      bName: String(member("bName")),
      npmi: Number(member("npmi")),
      sessions: Number(member("sessions")),
    };
  });
}
