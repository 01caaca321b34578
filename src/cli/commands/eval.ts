import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { DIVERSITY_LAMBDA } from "../../domain/defaults.ts";
import { notFound, unavailable, usage } from "../../kernel/errors.ts";
import { decimal, integer, oneOf, path, text } from "../../kernel/kinds.ts";
import { anything, number, object, readAnswer, string } from "../answer.ts";
import { flag, maybePositional, option, optionOr } from "../arguments.ts";
import type { CommandContext } from "../command.ts";
import { command } from "../define.ts";

export default command({
  name: "eval",
  summary: "measure how well search answers questions with known answers",
  needs: "database",
  writes: "no",
  args: {
    before: maybePositional(path, "with --compare: the earlier report"),
    after: maybePositional(path, "with --compare: the later report"),
    dataset: option(path, "questions, one JSON object a line; three built-in ones when left out", { hint: "FILE", short: "d" }),
    project: option(text, "project to measure in, and to load into; every row when left out", { hint: "NAME", short: "p" }),
    k: optionOr(integer(1, 50), 10, "rows looked at", { hint: "N" }),
    format: optionOr(oneOf(["verbose", "compact"]), "verbose", "form of the answers", { hint: "verbose|compact" }),
    maxTokens: option(integer(1), "token budget of an answer; without it the score measures ranking alone", { hint: "N" }),
    associative: flag("follow relations too"),
    abstain: flag("let search abstain"),
    rerank: flag("rerank the head of the list"),
    diversify: flag("diversify the list"),
    mmrLambda: optionOr(decimal(0, 1), DIVERSITY_LAMBDA, "with --diversify: 1 = relevance only", { hint: "SHARE" }),
    noBm25: flag("leave the BM25 arm out"),
    noText: flag("leave the text arm out"),
    noVector: flag("leave the vector arm out"),
    coverDensity: flag("cover density in place of BM25"),
    noEntityLeg: flag("leave out the leg of the entities that a question names"),
    fusion: option(oneOf(["scores", "rrf"]), "how the arms are fused; as configured when left out", { hint: "scores|rrf" }),
    goal: option(text, "measure as in a session with this goal", { hint: "TEXT" }),
    lexicalOnly: flag("a run on words alone is meant; else a limited answer ends the run"),
    compare: flag("compare two reports of --json, pair by pair"),
    coverage: option(path, "how many of the entities that a dataset names exist", { hint: "FILE" }),
    load: option(path, "fill an empty database or project with a corpus, keeping its ids, before anything is measured", { hint: "FILE" }),
    json: flag("print the report as JSON"),
  },
  details: [
    "A question is {query, relevant_ids, …}, a memory of a corpus {id, entity, content, …}; --load takes a project, or a database, that holds nothing yet.\n" +
      "Measuring changes nothing: no access is counted.",
  ],
  run: async (args, context) => {
    if (args.compare) return await compare(args.before, args.after, args.json, context);
    if (args.before !== undefined) throw usage(`Unexpected argument '${args.before}'. Two reports go with --compare.`);
    const { out } = context;
    if (args.coverage !== undefined) {
      const road = await context.gateway();
      out.json(await road.ask("owner/coverage", { dataset: resolve(args.coverage), ...inProject(args.project) }));
      return 0;
    }
    if (args.load !== undefined) await load(args.load, args.project, context);
    // Loading alone is a whole job: questions are asked when some are named.
    if (args.load !== undefined && args.dataset === undefined) return 0;
    return await measure(args, context);
  },
});

const loaded = object({ observations: number, entities: number, withoutVector: number });
const evaluated = object({ report: anything, text: string });

async function load(file: string, project: string | undefined, { gateway, out }: CommandContext): Promise<void> {
  const road = await gateway();
  const answer = await road.ask("owner/load", { corpus: resolve(file), ...inProject(project) });
  const { observations, entities, withoutVector } = readAnswer(loaded, answer);
  // Without a model nothing waits, and the search that follows says so itself.
  const waiting = withoutVector === 0 ? "" : `; ${withoutVector} wait for a vector`;
  out.note(`Loaded ${observations} memories about ${entities} entities${waiting}.`);
}

const inProject = (project: string | undefined) => (project === undefined ? {} : { project });

interface Settings {
  readonly project: string | undefined;
  readonly dataset: string | undefined;
  readonly k: number;
  readonly format: string;
  readonly maxTokens: number | undefined;
  readonly associative: boolean;
  readonly abstain: boolean;
  readonly rerank: boolean;
  readonly diversify: boolean;
  readonly mmrLambda: number;
  readonly noBm25: boolean;
  readonly noText: boolean;
  readonly noVector: boolean;
  readonly coverDensity: boolean;
  readonly noEntityLeg: boolean;
  readonly fusion: string | undefined;
  readonly goal: string | undefined;
  readonly lexicalOnly: boolean;
  readonly json: boolean;
}

async function measure(args: Settings, { gateway, host, out }: CommandContext): Promise<number> {
  const { createProgress } = await import("../progress.ts");
  const progress = createProgress(host.stderr, host.isInteractive, () => performance.now(), "rows");
  const road = await gateway();
  const settings = {
    k: args.k,
    format: args.format,
    ...(args.maxTokens === undefined ? {} : { maxTokens: args.maxTokens }),
    associative: args.associative,
    abstain: args.abstain,
    ...(args.rerank ? { rerank: true } : {}),
    bm25: !args.noBm25,
    text: !args.noText,
    vector: !args.noVector,
    coverDensity: args.coverDensity,
    entityLeg: !args.noEntityLeg,
    ...(args.fusion === undefined ? {} : { fusion: args.fusion }),
    ...(args.goal === undefined ? {} : { goal: args.goal }),
    diversify: args.diversify,
    mmrLambda: args.mmrLambda,
    lexicalOnly: args.lexicalOnly,
  };
  const dataset = args.dataset === undefined ? {} : { dataset: resolve(args.dataset) };
  const answer = await road
    .ask("owner/evaluate", { ...dataset, ...inProject(args.project), settings }, (done, total) => progress.show("questions", done, total))
    .finally(() => progress.end());
  const { report, text: shown } = readAnswer(evaluated, answer);
  if (args.json) out.json(report);
  else out.line(shown);
  if (args.dataset === undefined)
    out.note(
      "These are the three built-in questions: they show that search answers, not how well it answers yours. --dataset FILE measures your own.",
    );
  return 0;
}

async function compare(before: string | undefined, after: string | undefined, json: boolean, { out }: CommandContext): Promise<number> {
  if (before === undefined || after === undefined)
    throw usage("--compare needs two reports: memory-industry eval --compare BEFORE.json AFTER.json.");
  const { compareReports, comparisonText, readReport } = await import("../../services/evaluation/compare.ts");
  const [a, b] = await Promise.all([before, after].map(async (file) => readReport(await textOf(file), file)));
  if (a === undefined || b === undefined) return 1;
  const comparison = compareReports(a, b);
  if (json) out.json(comparison);
  else out.line(comparisonText(comparison));
  return 0;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") throw notFound("report", file);
    throw unavailable(`${file} cannot be read; nothing was compared.`, { cause: error });
  }
}
