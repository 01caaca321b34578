import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost } from "../fake-host.ts";

const spread = { n: 30, min: 1, p50: 2, p90: 3, p95: 4, p99: 5, max: 6 };
const rule = { threshold: 0.4, answered: 0.95, refused_answer_left_out: 0.57, refused_foreign: null };
const report = {
  embedding_model: "e5",
  embedding_dim: 384,
  fit_samples: 300,
  theoretical_threshold: 21.246,
  corpus: spread,
  queries: spread,
  alpha: 0.05,
  conformal_threshold: 5.5,
  theoretical_rejects_corpus: 0.25,
  corpus_rows: 300,
  calibration_queries: 30,
  skipped_without_answer: 2,
  answers_guessed: 0,
  guaranteed: true,
  meaning: rule,
  words: { ...rule, refused_foreign: 0.9 },
  applied: false,
};

describe("calibrate", () => {
  test("without a dataset is refused, and says what one must hold", async () => {
    const host = fakeHost({ answer: () => report });
    expect(await runCli(["calibrate"], host)).toBe(2);
    expect(host.err()).toContain("--dataset FILE: questions that this memory does answer");
    expect(host.sent).toEqual([]);
  });

  test("shows both kinds of refusal apart, and the line that stores what was measured", async () => {
    const host = fakeHost({ answer: () => report });
    expect(await runCli(["calibrate", "-d", "q.jsonl", "--project", "harbor"], host)).toBe(0);
    expect(host.sent[0]).toMatchObject({
      method: "owner/calibrate",
      params: { dataset: resolve("q.jsonl"), alpha: 0.05, samples: 5_000, project: "harbor", lexicalOnly: false, apply: false },
    });
    expect(host.out()).toContain("30 answerable questions over 300 memories; at most 5.0 % of such may be refused.");
    expect(host.out()).toContain("Measured threshold 5.500; the theoretical one, 21.246, would refuse 25.0 % of the memories themselves.");
    expect(host.out()).toContain(
      "By words and meaning, score ≥ 0.400: answers 95.0 % of these questions, refuses 57.0 % of them once their answer is left out; of the questions marked abstain: not measured.",
    );
    expect(host.out()).toContain("of the questions marked abstain: 90.0 %.");
    expect(host.out()).toContain("Nothing was changed. To apply it:");
    expect(host.out()).toContain("calibrate --dataset q.jsonl --alpha 0.05 --samples 5000 --project harbor --apply");
    expect(host.err()).toContain("2 questions were left out: the memories that answered them are gone.");
    expect(host.err()).toContain("Below 10 vectors a number the distances are rough");
  });

  test("the line that stores what was measured asks for the same measurement", async () => {
    const host = fakeHost({ answer: () => report });
    await runCli(["calibrate", "-d", "q.jsonl", "--alpha", "0.1", "--samples", "800", "--lexical-only"], host);
    expect(host.out()).toContain("calibrate --dataset q.jsonl --alpha 0.1 --samples 800 --lexical-only --apply");
  });

  test("a share of 0 names no number of questions, since none would do", async () => {
    const host = fakeHost({ answer: () => ({ ...report, alpha: 0, guaranteed: false }) });
    expect(await runCli(["calibrate", "-d", "q.jsonl", "--alpha", "0"], host)).toBe(0);
    expect(host.err()).toContain("Not guaranteed: no number of questions can carry that none is ever refused. Give a share above 0");
    expect(host.err()).not.toContain("Infinity");
  });

  test("too few questions for the guarantee are said so; --json and --apply go together", async () => {
    const few = fakeHost({ answer: () => ({ ...report, guaranteed: false, calibration_queries: 10 }) });
    await runCli(["calibrate", "-d", "q.jsonl"], few);
    expect(few.err()).toContain("Not guaranteed: so few questions cannot carry it, 19 are needed.");
    const host = fakeHost({ answer: () => ({ ...report, applied: true }) });
    expect(await runCli(["calibrate", "-d", "q.jsonl", "--apply", "--json"], host)).toBe(0);
    expect(host.sent[0]?.params).toMatchObject({ apply: true });
    expect(JSON.parse(host.out())).toMatchObject({ applied: true, conformal_threshold: 5.5 });
  });

  test("applied without --json says from when on it counts", async () => {
    const host = fakeHost({ answer: () => ({ ...report, applied: true, meaning: null, embedding_dim: null }) });
    expect(await runCli(["calibrate", "-d", "q.jsonl", "--apply", "--lexical-only"], host)).toBe(0);
    expect(host.sent[0]?.params).toMatchObject({ apply: true, lexicalOnly: true });
    expect(host.out()).toContain("Stored. Servers that are running go by it within 5 minutes, the one of this memory at once.");
    expect(host.out()).not.toContain("By words and meaning");
  });
});
