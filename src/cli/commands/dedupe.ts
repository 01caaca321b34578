import { usage } from "../../kernel/errors.ts";
import { text } from "../../kernel/kinds.ts";
import { flag, option } from "../arguments.ts";
import type { CommandContext } from "../command.ts";
import { command } from "../define.ts";
import { commandLine, showPlan } from "../output.ts";

export default command({
  name: "dedupe",
  summary: "merge entities that are one, show those that may be",
  needs: "database",
  writes: "plan",
  args: {
    merge: option(text, "the entity that goes, where a person knows better", { hint: "NAME" }),
    into: option(text, "with --merge: the entity that stays", { hint: "NAME" }),
    apply: flag("do it"),
    json: flag("print what was found, or done, as JSON"),
  },
  details: [
    "EXACT: one name but for case and separators, in one project; merged with --apply. C, C++ and C# stay three.",
    "LIKELY: names that look alike; shown, never merged by a rule: --merge A --into B merges one pair.",
    "What was written under the old name leads to the entity that stays. What moves is written to an undo file first.",
  ],
  run: async ({ merge, into, apply, json }, context) => {
    if (merge !== undefined && into === undefined) throw usage("--merge needs --into NAME: the entity that stays.", { field: "--into" });
    if (into !== undefined && merge === undefined) throw usage("--into needs --merge NAME: the entity that goes.", { field: "--merge" });
    const road = await context.gateway();
    if (merge !== undefined && into !== undefined) {
      const fold = read(await road.ask("owner/duplicate", { loser: merge, winner: into }));
      if (!apply)
        return plan(context, [fold], { likely: [], likelyTotal: 0 }, ["dedupe", "--merge", merge, "--into", into, "--apply"], json);
      return await mergeAll(context, [fold], json);
    }
    const found = await road.ask("owner/duplicates", {});
    const exact = listAt(found, "exact").map(read);
    if (!apply) {
      const likely = { likely: listAt(found, "likely"), likelyTotal: Number(at(found, "likelyTotal") ?? 0) };
      return plan(context, exact, likely, ["dedupe", "--apply"], json);
    }
    return await mergeAll(context, exact, json);
  },
});

interface Entity {
  readonly id: string;
  readonly name: string;
  readonly projectName: string | null;
  readonly observations: number;
}
interface Fold {
  readonly loser: Entity;
  readonly winner: Entity;
}

const at = (value: unknown, key: string): unknown => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined);
const listAt = (value: unknown, key: string): readonly unknown[] => {
  const list = at(value, key);
  return Array.isArray(list) ? list : [];
};
const entity = (value: unknown): Entity => {
  const project = at(value, "projectName");
  return {
    id: String(at(value, "id")),
    name: String(at(value, "name")),
    projectName: typeof project === "string" ? project : null,
    observations: Number(at(value, "observations") ?? 0),
  };
};
const read = (value: unknown): Fold => ({ loser: entity(at(value, "loser")), winner: entity(at(value, "winner")) });

const shown = ({ name, projectName, observations }: Entity) =>
  `'${name}' (${observations}${projectName === null ? "" : `, ${projectName}`})`;

function plan(
  { out, host }: CommandContext,
  folds: readonly Fold[],
  { likely, likelyTotal }: { readonly likely: readonly unknown[]; readonly likelyTotal: number },
  apply: readonly string[],
  json: boolean,
): number {
  if (json) {
    out.json({ applied: false, exact: folds, likely, likely_total: likelyTotal });
    return 0;
  }
  if (likely.length > 0) {
    out.line(
      `LIKELY: ${likelyTotal} pairs look alike${likelyTotal > likely.length ? `, the first ${likely.length} are shown` : ""}; none of them is merged:`,
    );
    for (const pair of likely)
      out.line(`  ${Number(at(pair, "similarity")).toFixed(2)}  ${shown(entity(at(pair, "a")))}  ~  ${shown(entity(at(pair, "b")))}`);
    out.line(`To merge one pair: ${commandLine(host.typed, ["dedupe", "--merge", "NAME", "--into", "NAME"])}`);
    out.line();
  }
  if (folds.length === 0) {
    out.line("No two entities are one by their names; nothing to merge.");
    return 0;
  }
  showPlan(out, host.typed, {
    steps: ["Merge (observations in brackets):", ...folds.map(({ loser, winner }) => `  ${shown(loser)} into ${shown(winner)}`)],
    apply,
  });
  return 0;
}

async function mergeAll({ gateway, host, out }: CommandContext, folds: readonly Fold[], json: boolean): Promise<number> {
  if (folds.length === 0) {
    if (json) out.json({ applied: true, merged: [], skipped: [], undo_file: null });
    else out.line("No two entities are one by their names; nothing to merge.");
    return 0;
  }
  // Asked for before anything is looked at: where there is no place for the undo file nothing may be merged.
  const directory = host.installation().undoDir();
  const { undoFileOf, writeUndoFile } = await import("../undo-file.ts");
  const road = await gateway();
  const pairs = folds.map(({ loser, winner }) => ({ loser: loser.id, winner: winner.id }));
  const entities = await road.ask("owner/fold-snapshot", { losers: pairs.map(({ loser }) => loser) });
  const now = new Date();
  const file = await writeUndoFile(undoFileOf(directory, "dedupe", crypto.randomUUID(), now), { folds: pairs, entities }, now);
  const done = await road.ask("owner/fold", { folds: pairs });
  const [merged, skipped] = [listAt(done, "merged"), listAt(done, "skipped")];
  if (json) out.json({ applied: true, merged, skipped, undo_file: file });
  else {
    for (const each of merged)
      out.line(
        `Merged '${String(at(each, "loser"))}' into '${String(at(each, "winner"))}', ${Number(at(each, "observations"))} observations.`,
      );
    if (skipped.length > 0) out.line(`${skipped.length} changed meanwhile and were left as they are; run the command again.`);
    out.line(`What moved: ${file}`);
    out.tell("The graph has changed: cuba_zafra action=pagerank and 'memory-industry link' look at it anew.");
  }
  return skipped.length === 0 ? 0 : 1;
}
