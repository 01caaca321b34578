import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  fitRule,
  isAnswered,
  meaningStatisticNames,
  scoreOf,
  wordStatisticNames,
} from "../../../../src/domain/retrieval/abstention/rule.ts";

/** Questions whose best row has `from` to 1 of their words, and has half of that once the answer is gone. */
const pairs = (n: number) =>
  Array.from({ length: n }, (_, at) => {
    const coverage = 0.6 + (0.4 * at) / n;
    return { present: { coverage, known: 1 }, absent: { coverage: coverage / 2, known: 0.9 } };
  });

test("a score is a weighted sum; on its threshold a question is answered", () => {
  const rule = { weights: { coverage: 2, known: 1 }, bias: -1, threshold: 1 };
  expect(scoreOf(rule, { coverage: 0.5, known: 1 })).toBe(1);
  expect(isAnswered(rule, { coverage: 0.5, known: 1 })).toBe(true);
  expect(isAnswered(rule, { coverage: 0.49, known: 1 })).toBe(false);
});

test("what tells answered from unanswered is learned, and a question like neither is refused", () => {
  const fitted = fitRule(wordStatisticNames, pairs(100), 0.05);
  expect(fitted?.answered).toBeGreaterThanOrEqual(0.94);
  expect(fitted?.refusedAbsent).toBe(1);
  expect(fitted?.guaranteed).toBe(true);
  if (fitted === undefined) throw new Error("no rule");
  expect(isAnswered(fitted.rule, { coverage: 0.9, known: 1 })).toBe(true);
  expect(isAnswered(fitted.rule, { coverage: 0.1, known: 0.3 })).toBe(false);
});

test("where all questions look alike, all are answered: parts that disagree in a digit refuse none", () => {
  const alike = Array.from({ length: 24 }, (_, at) => ({
    present: { coverage: 0.62 + 0.0001 * (at % 7), known: 0.7 },
    absent: { coverage: 0.1 + 0.02 * (at % 3), known: 0.4 },
  }));
  const fitted = fitRule(wordStatisticNames, alike, 0.05);
  if (fitted === undefined) throw new Error("no rule");
  expect(alike.filter(({ present }) => isAnswered(fitted.rule, present))).toHaveLength(24);
});

test("nothing that speaks for an answer counts against one, however odd the sample", () => {
  // The larger cosines stand with the questions whose answer was left out: a free fit would turn the weight around.
  const odd = Array.from({ length: 40 }, (_, at) => ({
    present: { bestCosine: 0.5, lead: 0.01 * at, coverage: 0.8, nearCoverage: 0.8, known: 1 },
    absent: { bestCosine: 0.9, lead: 0, coverage: 0.3, nearCoverage: 0.2, known: 1 },
  }));
  const weights = Object.values(fitRule(meaningStatisticNames, odd, 0.05)?.rule.weights ?? {});
  expect(weights).toHaveLength(5);
  expect(Math.min(...weights)).toBe(0);
  expect(Math.max(...weights)).toBeGreaterThan(0);
});

test("better statistics never refuse what worse ones answer", () => {
  const fitted = fitRule(wordStatisticNames, pairs(50), 0.1);
  if (fitted === undefined) throw new Error("no rule");
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(share, share, share, share, (coverage, known, more, further) => {
      const worse = { coverage: Math.min(coverage, more), known: Math.min(known, further) };
      const better = { coverage: Math.max(coverage, more), known: Math.max(known, further) };
      if (isAnswered(fitted.rule, worse)) expect(isAnswered(fitted.rule, better)).toBe(true);
    }),
  );
});

test("a handful of questions gives a rule that promises nothing, none gives no rule", () => {
  expect(fitRule(wordStatisticNames, pairs(4), 0.05)).toMatchObject({ guaranteed: false, answered: 1 });
  expect(fitRule(wordStatisticNames, [], 0.05)).toBeUndefined();
});
