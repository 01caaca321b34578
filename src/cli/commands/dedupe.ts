import { invalid, usage } from "../../kernel/errors.ts";
import { text } from "../../kernel/kinds.ts";
import { counted } from "../../kernel/text.ts";
import { listOf, number, object, orNull, readAnswer, type Shaped, string } from "../answer.ts";
import { flag, option } from "../arguments.ts";
import type { CommandContext } from "../command.ts";
import { command } from "../define.ts";
import type { Gateway } from "../gateway.ts";
import { commandLine, showPlan } from "../output.ts";
import { createProgress } from "../progress.ts";

export default command({
  name: "dedupe",
  summary: "merge entities that are one, show those that may be",
  needs: "database",
  writes: "plan",
  args: {
    merge: option(text, "the entity that goes, where a person knows better", { hint: "NAME" }),
    into: option(text, "with --merge: the entity that stays", { hint: "NAME" }),
    judge: flag("ask the chosen language model about each pair of LIKELY; with --apply merge what it is sure of"),
    undo: option(text, "take a merge apart again, by its undo file", { hint: "FILE" }),
    apply: flag("do it"),
    json: flag("print what was found, or done, as JSON"),
  },
  details: [
    "EXACT: one name but for case and separators, in one project; merged with --apply. C, C++ and C# stay three.",
    "LIKELY: names that look alike; shown, never merged by a rule: --merge A --into B merges one pair.",
    "--judge puts one question a pair of one project to the model of 'memory-industry llm', with six memories of each; it costs what that model costs.",
    "What it calls the same with 0.7 or more is merged by --apply; where it calls two of a group different the whole group is left alone.",
    "What was written under the old name leads to the entity that stays. What moves is written to an undo file first; --undo FILE moves it back.",
  ],
  run: async ({ merge, into, judge, undo, apply, json }, context) => {
    if (judge && (merge !== undefined || undo !== undefined))
      throw usage("--judge decides on pairs that were found; --merge and --undo name theirs.", { field: "--judge" });
    if (undo !== undefined) {
      if (merge !== undefined || into !== undefined) throw usage("--undo stands alone: it names the file of a merge.", { field: "--undo" });
      return await takeApart(context, undo, { apply, json });
    }
    if (merge !== undefined && into === undefined) throw usage("--merge needs --into NAME: the entity that stays.", { field: "--into" });
    if (into !== undefined && merge === undefined) throw usage("--into needs --merge NAME: the entity that goes.", { field: "--merge" });
    const road = await context.gateway();
    if (merge !== undefined && into !== undefined) {
      const exact = [readAnswer(fold, await road.ask("owner/duplicate", { loser: merge, winner: into }))];
      if (apply) return await mergeAll(context, exact, json);
      return plan(context, { exact, likely: [], likelyTotal: 0 }, ["dedupe", "--merge", merge, "--into", into, "--apply"], json);
    }
    const found = readAnswer(report, await road.ask("owner/duplicates", {}));
    if (judge) return await judged(context, road, found, { apply, json });
    if (apply) return await mergeAll(context, found.exact, json);
    return plan(context, found, ["dedupe", "--apply"], json);
  },
});

const entity = object({
  id: string,
  name: string,
  nameKey: string,
  projectId: orNull(string),
  projectName: orNull(string),
  observations: number,
});
const fold = object({ loser: entity, winner: entity });
const report = object({ exact: listOf(fold), likely: listOf(object({ a: entity, b: entity, similarity: number })), likelyTotal: number });
const folded = object({ merged: listOf(object({ loser: string, winner: string, observations: number })), skipped: listOf(string) });
const verdict = object({ a: string, b: string, verdict: string, confidence: number, reason: orNull(string) });
const judgment = object({
  verdicts: listOf(verdict),
  groups: listOf(listOf(string)),
  disputed: listOf(listOf(string)),
  unasked: number,
  problem: orNull(string),
});
const unfolded = object({ restored: listOf(object({ name: string, from: string, observations: number })), skipped: listOf(string) });
/** Of an undo file what a plan shows. */
const moved = object({ entity: object({ name: string }), observations: listOf(string) });

const shown = ({ name, projectName, observations }: Shaped<typeof entity>) =>
  `'${name}' (${observations}${projectName === null ? "" : `, ${projectName}`})`;

function plan(
  { out, host }: CommandContext,
  { exact, likely, likelyTotal }: Shaped<typeof report>,
  apply: readonly string[],
  json: boolean,
): number {
  if (json) {
    out.json({ applied: false, exact, likely, likely_total: likelyTotal });
    return 0;
  }
  if (likely.length > 0) {
    out.line(
      `LIKELY: ${counted(likelyTotal, "pair")} of names that look alike${likelyTotal > likely.length ? `, the first ${likely.length} are shown` : ""}; none of them is merged:`,
    );
    for (const { a, b, similarity } of likely) out.line(`  ${similarity.toFixed(2)}  ${shown(a)}  ~  ${shown(b)}`);
    out.line(`To merge one pair: ${commandLine(host.typed, ["dedupe", "--merge", "NAME", "--into", "NAME"])}`);
    out.line();
  }
  if (exact.length === 0) {
    out.line("No two entities are one by their names; nothing to merge.");
    return 0;
  }
  showPlan(out, host.typed, {
    steps: ["Merge (observations in brackets):", ...exact.map(({ loser, winner }) => `  ${shown(loser)} into ${shown(winner)}`)],
    apply,
  });
  return 0;
}

async function mergeAll({ gateway, host, out }: CommandContext, folds: readonly Shaped<typeof fold>[], json: boolean): Promise<number> {
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
  const entities = await road.ask("owner/fold-snapshot", { folds: pairs });
  const now = new Date();
  const file = await writeUndoFile(undoFileOf(directory, "dedupe", crypto.randomUUID(), now), { folds: pairs, entities }, now);
  const { merged, skipped } = readAnswer(folded, await road.ask("owner/fold", { folds: pairs }));
  if (json) out.json({ applied: true, merged, skipped, undo_file: file });
  else {
    for (const { loser, winner, observations } of merged)
      out.line(`Merged '${loser}' into '${winner}', ${counted(observations, "observation")}.`);
    if (skipped.length > 0) out.line(`${skipped.length} changed meanwhile and were left as they are; run the command again.`);
    out.line(`What moved: ${file}`);
    out.line(`To take it apart again: ${commandLine(host.typed, ["dedupe", "--undo", file, "--apply"])}`);
    out.tell("The graph has changed: cuba_zafra action=pagerank and 'memory-industry link' look at it anew.");
  }
  return skipped.length === 0 ? 0 : 1;
}

async function takeApart(
  { gateway, host, out }: CommandContext,
  file: string,
  { apply, json }: { readonly apply: boolean; readonly json: boolean },
): Promise<number> {
  const { readUndoFile } = await import("../undo-file.ts");
  const snapshot = await readUndoFile(file);
  if (!Array.isArray(snapshot.folds) || !Array.isArray(snapshot.entities))
    throw invalid(`${file} is no undo file of a merge; nothing was written.`, { field: "--undo" });
  if (!apply) {
    const entities = readAnswer(listOf(moved), snapshot.entities);
    if (json) out.json({ applied: false, entities: entities.map(({ entity: { name } }) => name) });
    else
      showPlan(out, host.typed, {
        steps: [
          "Take out again:",
          ...entities.map((each) => `  '${each.entity.name}' with ${counted(each.observations.length, "observation")}`),
        ],
        apply: ["dedupe", "--undo", file, "--apply"],
      });
    return 0;
  }
  const { restored, skipped } = readAnswer(unfolded, await (await gateway()).ask("owner/unfold", { snapshot }));
  if (json) out.json({ applied: true, restored, skipped });
  else {
    for (const { name, from, observations } of restored)
      out.line(`'${name}' stands by itself again: ${counted(observations, "observation")} came out of '${from}'.`);
    for (const name of skipped) out.line(`'${name}' is there: it was never merged, or is back already. It was left as it is.`);
    if (restored.length > 0) out.tell("The graph has changed: cuba_zafra action=pagerank looks at it anew.");
  }
  return 0;
}

/** Asks about each pair of one project, shows what was said, and merges, or shows, what follows. */
async function judged(
  context: CommandContext,
  road: Gateway,
  { exact, likely, likelyTotal }: Shaped<typeof report>,
  { apply, json }: { readonly apply: boolean; readonly json: boolean },
): Promise<number> {
  const { host, out } = context;
  const askable = likely.filter(({ a, b }) => a.projectId === b.projectId);
  const entities = new Map(likely.flatMap(({ a, b }) => [a, b]).map((each) => [each.id, each]));
  const progress = createProgress(host.isInteractive ? host.stderr : () => {}, host.isInteractive, () => performance.now(), "rows");
  const said = await road
    .ask("owner/judge-duplicates", { pairs: askable.map(({ a, b }) => ({ a: a.id, b: b.id })) }, (done, total) =>
      progress.show("pairs", done, total),
    )
    .finally(() => progress.end());
  const { verdicts, groups, disputed, unasked, problem } = readAnswer(judgment, said);
  const gone = new Set(exact.map(({ loser }) => loser.id));
  const folds = groups.flatMap((ids) => foldsOf(ids.flatMap((id) => entities.get(id) ?? []).filter(({ id }) => !gone.has(id))));
  const name = (id: string) => `'${entities.get(id)?.name ?? id}'`;
  if (json && !apply) {
    out.json({ applied: false, exact, likely, likely_total: likelyTotal, verdicts, merges: folds, disputed, unasked, problem });
    return 0;
  }
  if (!json) {
    for (const each of verdicts)
      out.line(
        `${each.verdict.padEnd(9)} ${each.confidence.toFixed(2)}  ${name(each.a)} ~ ${name(each.b)}${each.reason === null ? "" : `: ${each.reason}`}`,
      );
    for (const ids of disputed) out.line(`Left alone, since two of them were called different: ${ids.map(name).join(", ")}`);
    const elsewhere = likely.length - askable.length;
    if (elsewhere > 0) out.line(`Not asked about, since an entity lies in one project and these in two: ${counted(elsewhere, "pair")}.`);
    if (unasked > 0) out.line(`Not asked about: ${counted(unasked, "pair")}.`);
  }
  if (problem !== null) out.tell(problem);
  const all = [...exact, ...folds];
  if (apply) return await mergeAll(context, all, json);
  return plan(context, { exact: all, likely: [], likelyTotal: 0 }, ["dedupe", "--judge", "--apply"], json);
}

/** Everything of a group into the one with most observations, ties by the smaller id. */
function foldsOf(group: readonly Shaped<typeof entity>[]): Shaped<typeof fold>[] {
  const [winner, ...losers] = [...group].sort((a, b) => b.observations - a.observations || (a.id < b.id ? -1 : 1));
  return winner === undefined ? [] : losers.map((loser) => ({ loser, winner }));
}
