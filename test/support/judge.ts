/** Judges whose answers are known: a scripted entailment model, and a judge over it. */
import type { Entailed } from "../../src/domain/trust/verify.ts";
import type { Answer, Entailment, EntailmentReading } from "../../src/inference/port.ts";
import type { Ladder } from "../../src/llm/ladder.ts";
import { createJudge, type Judge, type JudgeParts } from "../../src/services/judge/judge.ts";

export const certain = {
  entails: { entailment: 0.97, neutral: 0.02, contradiction: 0.01 },
  neutral: { entailment: 0.02, neutral: 0.96, contradiction: 0.02 },
  contradicts: { entailment: 0.01, neutral: 0.02, contradiction: 0.97 },
  undecided: { entailment: 0.69, neutral: 0.1, contradiction: 0.21 },
} as const satisfies Record<string, Entailed>;

/** A model that reads pairs by `script`; undefined fails the whole batch as a slow model does. */
export const scriptedEntailment = (script: (premise: string, hypothesis: string) => Entailed | undefined): Entailment => ({
  status: () => ({ state: "ready", model: "scripted" }),
  warm: () => {},
  close: async () => {},
  async entail(pairs): Promise<Answer<EntailmentReading>> {
    const values = pairs.map(({ premise, hypothesis }) => script(premise, hypothesis));
    const known = values.filter((each) => each !== undefined);
    if (known.length < values.length) return { kind: "none", code: "timeout", reason: "The entailment model was too slow." };
    return { kind: "answered", values: known.map((each) => ({ ...each, isCut: false })) };
  },
});

export const noEntailment: Entailment = {
  status: () => ({ state: "missing", reason: "No entailment model is installed." }),
  warm: () => {},
  close: async () => {},
  entail: async () => ({ kind: "none", code: "no_model", reason: "No entailment model is installed." }),
};

const nobody: Ladder = { chats: [], problem: undefined };

export const judgeWith = (parts: Partial<JudgeParts> = {}): Judge =>
  createJudge({
    choice: undefined,
    entailment: noEntailment,
    ladder: () => nobody,
    timeoutMs: 30_000,
    maxPairs: 5,
    escalate: false,
    nonce: () => "nonce",
    ...parts,
  });
