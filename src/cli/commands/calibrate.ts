import { resolve } from "node:path";
import { usage } from "../../kernel/errors.ts";
import { decimal, integer, path, text } from "../../kernel/kinds.ts";
import { flag, option, optionOr } from "../arguments.ts";
import { command } from "../define.ts";
import { type Output, showPlan } from "../output.ts";

/** Vectors for each of their numbers from which a fit is steady (`retrieval.md` §7). */
const STEADY_RATIO = 10;
/** How long a running server may still go by what it remembers, minutes. */
const REMEMBERED_MINUTES = 5;

export default command({
  name: "calibrate",
  summary: "measure from where on abstain_ood should refuse a question",
  needs: "database",
  writes: "plan",
  args: {
    dataset: option(path, "questions that this memory answers, one JSON object a line: {query, relevant_ids}", {
      hint: "FILE",
      short: "d",
    }),
    alpha: optionOr(decimal(0, 1), 0.05, "share of the answerable questions that may be refused", { hint: "SHARE" }),
    samples: optionOr(integer(1), 5_000, "vectors that the distribution is fitted on, at most", { hint: "N" }),
    project: option(text, "measure one project; goes before what was measured on everything", { hint: "NAME", short: "p" }),
    lexicalOnly: flag("measure the words alone; no model is needed"),
    json: flag("print the report as JSON"),
    apply: flag("store what was measured"),
  },
  details: [
    "Each question is asked twice: as the memory stands, and with the memories that answer it left out. Rows with abstain: true are not measured on; the report\n" +
      "says how many of them the rule refuses. What was measured is forgotten when the model changes, or when the memory has doubled or halved.",
  ],
  run: async ({ dataset, alpha, samples, project, lexicalOnly, json, apply }, { gateway, host, out }) => {
    if (dataset === undefined)
      throw usage(
        "calibrate needs --dataset FILE: questions that this memory does answer, since the threshold is the one that lets them pass. Nothing was measured or written.",
      );
    const { createProgress } = await import("../progress.ts");
    const progress = createProgress(host.stderr, host.isInteractive, () => performance.now(), "rows");
    const road = await gateway();
    const report = await road
      .ask(
        "owner/calibrate",
        { dataset: resolve(dataset), alpha, samples, ...(project === undefined ? {} : { project }), lexicalOnly, apply },
        (done, total) => progress.show("questions", done, total),
      )
      .finally(() => progress.end());
    if (json) {
      out.json(report);
      return 0;
    }
    show(fieldsOf(report), out);
    if (apply)
      out.line(`\nStored. Servers that are running go by it within ${REMEMBERED_MINUTES} minutes, the one of this memory at once.`);
    else
      showPlan(out, host.typed, {
        steps: ["Store these thresholds for abstain_ood."],
        apply: [
          "calibrate",
          "--dataset",
          dataset,
          "--alpha",
          String(alpha),
          "--samples",
          String(samples),
          ...(project === undefined ? [] : ["--project", project]),
          ...(lexicalOnly ? ["--lexical-only"] : []),
          "--apply",
        ],
      });
    return 0;
  },
});

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {});
const numberAt = (fields: Fields, key: string): number | undefined => {
  const value = fields[key];
  return typeof value === "number" ? value : undefined;
};
const percent = (share: number | undefined) => (share === undefined ? "not measured" : `${(100 * share).toFixed(1)} %`);
const fixed = (value: number | undefined) => (value === undefined ? "–" : value.toFixed(3));

function show(report: Fields, out: Output): void {
  const asked = numberAt(report, "calibration_queries") ?? 0;
  const alpha = numberAt(report, "alpha") ?? 0;
  out.line(
    `${asked} answerable questions over ${numberAt(report, "corpus_rows") ?? 0} memories; at most ${percent(alpha)} of such may be refused.`,
  );
  if (report.guaranteed !== true)
    out.note(
      alpha > 0
        ? `Not guaranteed: so few questions cannot carry it, ${Math.ceil(1 / alpha) - 1} are needed.`
        : "Not guaranteed: no number of questions can carry that none is ever refused. Give a share above 0, such as --alpha 0.05.",
    );
  const skipped = numberAt(report, "skipped_without_answer") ?? 0;
  if (skipped > 0) out.note(`${skipped} questions were left out: the memories that answered them are gone.`);
  const guessed = numberAt(report, "answers_guessed") ?? 0;
  if (guessed > 0) out.note(`${guessed} questions name no relevant_ids; what search found first was taken for their answer.`);
  const dimensions = numberAt(report, "embedding_dim");
  if (dimensions !== undefined) showDistances(report, dimensions, out);
  showRule("words and meaning", fieldsOf(report.meaning), report.meaning !== null, out);
  showRule("words alone", fieldsOf(report.words), true, out);
}

function showDistances(report: Fields, dimensions: number, out: Output): void {
  const samples = numberAt(report, "fit_samples") ?? 0;
  const ratio = samples / dimensions;
  out.line(
    `\nDistance from ${samples} vectors of ${String(report.embedding_model)}, ${dimensions} numbers each (${ratio.toFixed(1)} vectors a number):`,
  );
  if (ratio < STEADY_RATIO)
    out.note(`Below ${STEADY_RATIO} vectors a number the distances are rough; the scores below do not depend on them.`);
  out.line("            n      min      p50      p90      p95      p99      max");
  for (const [name, spread] of [
    ["memories", fieldsOf(report.corpus)],
    ["questions", fieldsOf(report.queries)],
  ] as const)
    out.line(
      `${name.padEnd(9)} ${String(numberAt(spread, "n") ?? 0).padStart(4)} ${["min", "p50", "p90", "p95", "p99", "max"].map((key) => fixed(numberAt(spread, key)).padStart(8)).join(" ")}`,
    );
  out.line(
    `Measured threshold ${fixed(numberAt(report, "conformal_threshold"))}; the theoretical one, ${fixed(numberAt(report, "theoretical_threshold"))}, ` +
      `would refuse ${percent(numberAt(report, "theoretical_rejects_corpus"))} of the memories themselves.`,
  );
}

function showRule(name: string, rule: Fields, isThere: boolean, out: Output): void {
  if (!isThere) return;
  out.line(
    `\nBy ${name}, score ≥ ${fixed(numberAt(rule, "threshold"))}: answers ${percent(numberAt(rule, "answered"))} of these questions, ` +
      `refuses ${percent(numberAt(rule, "refused_answer_left_out"))} of them once their answer is left out; ` +
      `of the questions marked abstain: ${percent(numberAt(rule, "refused_foreign"))}.`,
  );
}
