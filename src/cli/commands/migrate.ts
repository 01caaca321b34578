import { flag } from "../arguments.ts";
import { command } from "../define.ts";

export default command({
  name: "migrate",
  summary: "bring the database up to this version, or show how far it is",
  needs: "nothing",
  writes: "database",
  args: {
    status: flag("only show which migrations are applied and which are pending"),
    json: flag("print the report as JSON"),
  },
  details: ["Every start does this by itself, unless CUBA_SKIP_MIGRATIONS is on. The login of DATABASE_URL must own the tables."],
  run: async ({ status, json }, { host, out }) => {
    const report = await host.migrate({ statusOnly: status });
    for (const warning of report.warnings) out.note(warning);
    if (json) out.json(report);
    else if (status)
      for (const { name, state, appliedAt } of report.files) out.line(`${state.padEnd(8)} ${name}  ${appliedAt ?? ""}`.trimEnd());
    else if (report.applied.length === 0) out.line("Nothing to do: the database is up to date.");
    else for (const name of report.applied) out.line(`applied  ${name}`);
    const fine = status ? ["applied", "pending"] : ["applied"];
    return report.files.every(({ state }) => fine.includes(state)) ? 0 : 1;
  },
});
