import { anything, object, orNull, readAnswer } from "../answer.ts";
import { command } from "../define.ts";

/** No error where nothing failed, which includes a cycle that another one's lock kept from running. */
const record = object({ error: orNull(anything) });

export default command({
  name: "rem",
  summary: "run one consolidation cycle now",
  needs: "database",
  writes: "database",
  network: "a language model, only where one was chosen and CUBA_REM_RELATION_BATCH or CUBA_REM_EXTRACTION_BATCH is set",
  args: {},
  details: [
    "What the daemon does every 4 hours: fade what was not used, make up missing vectors, chunks and words, relate what belongs together, rank and group the graph,\n" +
      "clear what has run out; with CUBA_REM_RELATION_BATCH and CUBA_REM_EXTRACTION_BATCH have the chosen language model read.",
    "Deletes no memory. Prints the record of the cycle as JSON; exit code 1 where a phase failed.",
  ],
  run: async (_args, { gateway, host, out }) => {
    const { createProgress } = await import("../progress.ts");
    const progress = createProgress(host.stderr, host.isInteractive, () => performance.now(), "rows");
    const road = await gateway();
    const answer = await road.ask("owner/rem", {}, (done, total) => progress.show("phases", done, total)).finally(() => progress.end());
    out.json(answer);
    return readAnswer(record, answer).error === null ? 0 : 1;
  },
});
