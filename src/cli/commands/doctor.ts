import { type Paint, renderReport, summarise } from "../../doctor/report.ts";
import { flag } from "../arguments.ts";
import { command } from "../define.ts";

export default command({
  name: "doctor",
  summary: "check the installation and the memories",
  needs: "nothing",
  writes: "no",
  args: {
    deep: flag("also load the models and compare what they give"),
    json: flag("print the report as JSON"),
  },
  details: ["Changes nothing and migrates nothing. Exit code 1 when a check failed; warnings do not count."],
  run: async ({ deep, json }, { host, out }) => {
    const report = summarise(await host.diagnose({ deep }));
    if (json) out.json(report);
    else out.tell(renderReport(report, host.version, host.hasColours ? await colours() : undefined));
    return report.healthy ? 0 : 1;
  },
});

/** Loaded only where there is a terminal to colour. */
async function colours(): Promise<Paint> {
  const { colors } = await import("consola/utils");
  const of = { ok: colors.green, warn: colors.yellow, fail: colors.red };
  return (status, text) => of[status](text);
}
