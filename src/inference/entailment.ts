/** The product's entailment model: what follows from a premise, as three probabilities a pair. */
import { invalid } from "../kernel/errors.ts";
import { type EntailmentLabel, entailmentLabels } from "./models/locate-pair.ts";
import { createPairScorer, type PairScorerOptions } from "./pair-scorer.ts";
import type { Answer, Entailment, EntailmentPair, EntailmentReading } from "./port.ts";

export interface EntailmentOptions extends Omit<PairScorerOptions, "what" | "labels" | "rules"> {
  /** Questions that a model must answer before it judges anything; tests with a model of words leave them out. */
  readonly controls?: readonly Control[];
}

export interface Control extends EntailmentPair {
  /** `entailment`, `contradiction`: that label must be the likeliest. `neutral`: entailment must not be. */
  readonly wanted: EntailmentLabel;
}

/**
 * Easy questions with certain answers, asked once a loaded model. A model of random weights, one whose labels stand in another order than it says, and one
 * that a quantiser has broken (such files read "disabled" as supporting "enabled") get them wrong; judging with it would confirm what is false.
 */
export const CONTROLS: readonly Control[] = [
  { premise: "A man is playing a guitar on the stage.", hypothesis: "A man is playing a guitar.", wanted: "entailment" },
  { premise: "The office is closed on Sundays.", hypothesis: "On Sundays the office is closed.", wanted: "entailment" },
  { premise: "A man is sleeping.", hypothesis: "A man is awake and running.", wanted: "contradiction" },
  { premise: "The office is closed on Sundays.", hypothesis: "The office is open on Sundays.", wanted: "contradiction" },
  { premise: "A man is playing a guitar on the stage.", hypothesis: "The company was founded in 1998.", wanted: "neutral" },
  { premise: "The office is closed on Sundays.", hypothesis: "A woman likes green apples.", wanted: "neutral" },
];

const likeliest = (reading: Record<EntailmentLabel, number>): EntailmentLabel =>
  entailmentLabels.reduce((best, label) => (reading[label] > reading[best] ? label : best));

const passes = (reading: Record<EntailmentLabel, number> | undefined, wanted: EntailmentLabel): boolean => {
  if (reading === undefined) return false;
  return wanted === "neutral" ? likeliest(reading) !== "entailment" : likeliest(reading) === wanted;
};

const REFUSED =
  "it gets easy control questions wrong (what follows from a sentence, what denies it), so nothing that it says can be believed. Install the FP32 model with 'memory-industry models nli'.";

/** Few pairs, each as long as it is: no padding to share. */
const RULES = { chunk: 4, bucket: 0, fixedShape: false, byLength: true };

/**
 * Softmax, the largest subtracted first so that nothing overflows. (0, 0, 0) → a third each.
 * @param labels meaning of the logits, in their order.
 */
export function probabilitiesOf(logits: Float32Array, labels: readonly EntailmentLabel[]): Record<EntailmentLabel, number> {
  const most = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp(logit - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  const of = (label: EntailmentLabel) => (powers[labels.indexOf(label)] ?? 0) / sum;
  return { entailment: of("entailment"), neutral: of("neutral"), contradiction: of("contradiction") };
}

export async function createEntailment(options: EntailmentOptions): Promise<Entailment> {
  const scorer = await createPairScorer({ ...options, what: "entailment model", labels: entailmentLabels.length, rules: RULES });
  const { controls = CONTROLS } = options;
  /** Fingerprint of the model that has answered the controls. */
  let proven: string | undefined;
  return {
    status: scorer.status,
    warm: scorer.warm,
    async entail(pairs, limits): Promise<Answer<EntailmentReading>> {
      if (pairs.some(({ premise, hypothesis }) => premise.trim() === "" || hypothesis.trim() === "")) {
        throw invalid(
          "A claim can only be judged against evidence that says something: one of the two texts is empty. Nothing was judged.",
        );
      }
      if (pairs.length === 0) return { kind: "answered", values: [] };
      const asked = proven !== undefined && proven === scorer.model?.fingerprint ? [] : controls;
      const readings: EntailmentReading[] = [];
      let model: string | undefined;
      const texts = [...asked, ...pairs].map(({ premise, hypothesis }) => [premise.trim(), hypothesis.trim()] as const);
      const answer = await scorer.run(texts, limits, (rows, { labels, name, fingerprint }) => {
        model = fingerprint;
        for (const { row, logits, isCut } of rows) {
          readings[row] = { ...probabilitiesOf(logits, labels), isCut };
          if (isCut)
            options.log.warn("a text was longer than the entailment model reads; a contradiction past the cut is invisible", {
              model: name,
            });
        }
      });
      if (answer.kind === "none") return answer;
      if (!asked.every(({ wanted }, at) => passes(readings[at], wanted))) {
        scorer.refuse(REFUSED);
        return { kind: "none", code: "load_failed", reason: `The entailment model is not used: ${REFUSED}` };
      }
      proven = model;
      return { kind: "answered", values: readings.slice(asked.length) };
    },
    close: scorer.close,
  };
}
