import { resolve } from "node:path";
import { usage } from "../../kernel/errors.ts";
import { decimal, integer, path, text } from "../../kernel/kinds.ts";
import { counted } from "../../kernel/text.ts";
import { boolean, number, object, orNull, readAnswer, type Shaped, string } from "../answer.ts";
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
    "Each question is asked twice: as the memory stands, and with the memories that answer it left out. Some everyday questions show how one looks that this memory\n" +
      "does not answer. Rows with abstain: true are not measured on; the report says how many of them the rule refuses. What was measured is forgotten when the model\n" +
      "changes, or when the memory has doubled or halved.",
  ],
  run: async ({ dataset, alpha, samples, project, lexicalOnly, json, apply }, { gateway, host, out }) => {
    if (dataset === undefined)
      throw usage(
        "calibrate needs --dataset FILE: questions that this memory does answer, since the threshold is the one that lets them pass. Nothing was measured or written.",
      );
    const { createProgress } = await import("../progress.ts");
    const progress = createProgress(host.stderr, host.isInteractive, () => performance.now(), "rows");
    const road = await gateway();
    const answer = await road
      .ask(
        "owner/calibrate",
        { dataset: resolve(dataset), alpha, samples, ...(project === undefined ? {} : { project }), lexicalOnly, apply },
        (done, total) => progress.show("questions", done, total),
      )
      .finally(() => progress.end());
    if (json) {
      out.json(answer);
      return 0;
    }
    show(readAnswer(report, answer), out);
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

const spread = object({ n: number, min: number, p50: number, p90: number, p95: number, p99: number, max: number });
const rule = object({ threshold: number, answered: number, refused_answer_left_out: number, refused_foreign: orNull(number) });
const report = object({
  calibration_queries: number,
  corpus_rows: number,
  alpha: number,
  guaranteed: boolean,
  skipped_without_answer: number,
  answers_guessed: number,
  embedding_model: orNull(string),
  embedding_dim: orNull(number),
  fit_samples: number,
  corpus: orNull(spread),
  queries: orNull(spread),
  conformal_threshold: orNull(number),
  theoretical_threshold: orNull(number),
  theoretical_rejects_corpus: orNull(number),
  meaning: orNull(rule),
  words: rule,
});
type Report = Shaped<typeof report>;

const percent = (share: number | null) => (share === null ? "not measured" : `${(100 * share).toFixed(1)} %`);
const fixed = (value: number | null | undefined) => (typeof value !== "number" ? "–" : value.toFixed(3));

function show(measured: Report, out: Output): void {
  const { calibration_queries: asked, alpha, skipped_without_answer: skipped, answers_guessed: guessed } = measured;
  out.line(
    `${counted(asked, "answerable question")} over ${counted(measured.corpus_rows, "memory", "memories")}; at most ${percent(alpha)} of such may be refused.`,
  );
  if (!measured.guaranteed)
    out.note(
      alpha > 0
        ? `Not guaranteed: so few questions cannot carry it, ${Math.ceil(1 / alpha) - 1} are needed.`
        : "Not guaranteed: no number of questions can carry that none is ever refused. Give a share above 0, such as --alpha 0.05.",
    );
  if (skipped > 0) out.note(`${skipped} questions were left out: the memories that answered them are gone.`);
  if (guessed > 0) out.note(`${guessed} questions name no relevant_ids; what search found first was taken for their answer.`);
  if (measured.embedding_dim !== null) showDistances(measured, measured.embedding_dim, out);
  if (measured.meaning !== null) showRule("words and meaning", measured.meaning, out);
  showRule("words alone", measured.words, out);
}

function showDistances(measured: Report, dimensions: number, out: Output): void {
  const { fit_samples: samples, embedding_model: model } = measured;
  const ratio = samples / dimensions;
  out.line(`\nDistance from ${samples} vectors of ${model}, ${dimensions} numbers each (${ratio.toFixed(1)} vectors a number):`);
  if (ratio < STEADY_RATIO)
    out.note(`Below ${STEADY_RATIO} vectors a number the distances are rough; the scores below do not depend on them.`);
  out.line("            n      min      p50      p90      p95      p99      max");
  for (const [name, of] of [
    ["memories", measured.corpus],
    ["questions", measured.queries],
  ] as const)
    out.line(
      `${name.padEnd(9)} ${String(of?.n ?? 0).padStart(4)} ${[of?.min, of?.p50, of?.p90, of?.p95, of?.p99, of?.max].map((each) => fixed(each).padStart(8)).join(" ")}`,
    );
  out.line(
    `Measured threshold ${fixed(measured.conformal_threshold)}; the theoretical one, ${fixed(measured.theoretical_threshold)}, ` +
      `would refuse ${percent(measured.theoretical_rejects_corpus)} of the memories themselves.`,
  );
}

function showRule(name: string, of: Shaped<typeof rule>, out: Output): void {
  out.line(
    `\nBy ${name}, score ≥ ${fixed(of.threshold)}: answers ${percent(of.answered)} of these questions, ` +
      `refuses ${percent(of.refused_answer_left_out)} of them once their answer is left out; ` +
      `of the questions marked abstain: ${percent(of.refused_foreign)}.`,
  );
}
