import { usage } from "../../kernel/errors.ts";
import { integer } from "../../kernel/kinds.ts";
import { number, object, readAnswer, type Shaped } from "../answer.ts";
import { flag, option, optionOr } from "../arguments.ts";
import type { CommandContext } from "../command.ts";
import { command } from "../define.ts";
import { showPlan } from "../output.ts";

/** pgvector's longest vector column. */
const MOST_DIMENSIONS = 16_000;
/** From so many new vectors on, a threshold that was measured on the old ones no longer holds. */
const RECALIBRATE_FROM = 100;

const report = object({ updated: number, failed: number, remaining: number });

export default command({
  name: "reembed",
  summary: "compute the vectors that are missing or another model's",
  needs: "database",
  writes: "database",
  args: {
    all: flag("compute every vector anew"),
    batch: optionOr(integer(1, 5_000), 500, "rows between two lines of progress", { hint: "N" }),
    dim: option(integer(1, MOST_DIMENSIONS), "change the length of every vector column first; all vectors go, the texts stay", {
      hint: "N",
    }),
    apply: flag("with --dim: do it"),
    json: flag("print the report as JSON"),
  },
  details: ["Can be broken off at any moment and run again; it goes on where it stopped."],
  run: async ({ all, batch, dim, apply, json }, context) => {
    if (dim !== undefined) return await changeLength(dim, apply, context);
    if (apply) throw usage("--apply goes with --dim.");
    const { gateway, host, out } = context;
    const { createProgress } = await import("../progress.ts");
    const progress = createProgress(host.stderr, host.isInteractive, () => performance.now(), "rows");
    const road = await gateway();
    const answer = await road
      .ask("owner/reembed", { all, batch }, (done, total) => progress.show("embedding", done, total))
      .finally(() => progress.end());
    if (json) out.json(answer);
    const done = readAnswer(report, answer);
    if (!json) show(done, all, out.line);
    return done.failed + done.remaining === 0 ? 0 : 1;
  },
});

function show({ updated, failed, remaining }: Shaped<typeof report>, all: boolean, line: (text: string) => void): void {
  line(`${updated} vectors computed, ${failed} failed, ${remaining} still to do.`);
  if (all || updated > RECALIBRATE_FROM) line("If calibrate has measured a threshold before, it no longer holds: run it again.");
}

async function changeLength(dimensions: number, apply: boolean, { host, out }: CommandContext): Promise<number> {
  const columns = await host.changeVectorWidth({ dimensions, apply });
  if (columns.length === 0) out.line(`Every vector column has ${dimensions} dimensions already.`);
  else if (apply) {
    out.line(`Changed to ${dimensions} dimensions: ${columns.join(", ")}.`);
    out.tell("The vectors are gone, the texts are not. Next: memory-industry reembed");
  } else
    showPlan(out, host.typed, {
      steps: [`Change to ${dimensions} dimensions: ${columns.join(", ")}.`, "Every vector in them is deleted; the texts stay."],
      apply: ["reembed", "--dim", String(dimensions), "--apply"],
    });
  return 0;
}
