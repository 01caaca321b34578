/** The product's entailment model: what follows from a premise, as three probabilities a pair. */
import { invalid } from "../kernel/errors.ts";
import { type EntailmentLabel, entailmentLabels } from "./models/locate-pair.ts";
import { createPairScorer, type PairScorerOptions } from "./pair-scorer.ts";
import type { Answer, Entailment, EntailmentReading } from "./port.ts";

export type EntailmentOptions = Omit<PairScorerOptions, "what" | "labels" | "rules">;

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
      const readings: EntailmentReading[] = [];
      const texts = pairs.map(({ premise, hypothesis }) => [premise.trim(), hypothesis.trim()] as const);
      const answer = await scorer.run(texts, limits, (rows, { labels, name }) => {
        for (const { row, logits, isCut } of rows) {
          readings[row] = { ...probabilitiesOf(logits, labels), isCut };
          if (isCut)
            options.log.warn("a text was longer than the entailment model reads; a contradiction past the cut is invisible", {
              model: name,
            });
        }
      });
      return answer.kind === "none" ? answer : { kind: "answered", values: readings };
    },
    close: scorer.close,
  };
}
