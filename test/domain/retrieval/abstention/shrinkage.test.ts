import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { atOnce, distanceFrom, fitSteps, shrinkSteps } from "../../../../src/domain/retrieval/abstention/shrinkage.ts";

const fit = (samples: readonly Float32Array[]) => atOnce(fitSteps(samples));
const shrink = (samples: readonly Float32Array[]) => atOnce(shrinkSteps(samples));
const vectors = (...rows: readonly (readonly number[])[]) => rows.map((row) => Float32Array.from(row));

/** Ledoit and Wolf as they write it: every pair of a sample and an entry, in the open. */
function naive(samples: readonly Float32Array[]): { shrinkage: number; covariance: number[][] } {
  const n = samples.length;
  const d = samples[0]?.length ?? 0;
  const mean = Array.from({ length: d }, (_, i) => samples.reduce((sum, sample) => sum + (sample[i] ?? 0), 0) / n);
  const x = samples.map((sample) => Array.from(sample, (value, i) => value - (mean[i] ?? 0)));
  const entries = Array.from({ length: d }, (_, i) => i);
  const S = entries.map((i) => entries.map((j) => x.reduce((sum, row) => sum + (row[i] ?? 0) * (row[j] ?? 0), 0) / (n - 1)));
  const at = (i: number, j: number) => S[i]?.[j] ?? 0;
  const mu = entries.reduce((sum, i) => sum + at(i, i), 0) / d;
  let spread = 0;
  let noise = 0;
  for (const i of entries)
    for (const j of entries) {
      spread += (at(i, j) - (i === j ? mu : 0)) ** 2 / d;
      for (const row of x) noise += ((row[i] ?? 0) * (row[j] ?? 0) - at(i, j)) ** 2 / (n * n * d);
    }
  const shrinkage = spread === 0 ? 0 : Math.min(noise, spread) / spread;
  const covariance = entries.map((i) => entries.map((j) => (1 - shrinkage) * at(i, j) + (i === j ? shrinkage * mu + mu * 1e-6 : 0)));
  return { shrinkage, covariance };
}

describe("shrinkage", () => {
  const samples = vectors([1, 0, 2], [0, 1, 1], [2, 2, 0], [1, 3, 1], [4, 0, 1]);

  test("of five points in three dimensions, by hand", () => {
    // S = [[2.3], [−.65, 1.7], [−.25, −.5, .5]], μ 1.5, ‖S‖² 9.9, d² 1.05; Σ‖x‖⁴ 82.64, so b̄² = (82.64 − 8·9.9 + 5·9.9)/75 = .705867.
    const found = shrink(samples);
    expect(Array.from(found?.mean ?? [])).toEqual([1.6, 1.2, 1].map((value) => expect.closeTo(value, 12)));
    expect(found?.shrinkage).toBeCloseTo(0.672254, 6);
    expect(found?.shrinkage).toBeCloseTo(naive(samples).shrinkage, 12);
    expect(Array.from(found?.covariance ?? [])).toEqual(
      [1.7622, -0.213, 1.5656, -0.0819, -0.1639, 1.1723].map((value) => expect.closeTo(value, 3)),
    );
  });

  test("equals the plain double loop, entry by entry", () => {
    const row = fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(row, { minLength: 3, maxLength: 12 }), (rows) => {
        const given = vectors(...rows);
        const found = shrink(given);
        const plain = naive(given);
        fc.pre(plain.covariance.some((line, i) => (line[i] ?? 0) > 1e-6));
        expect(found?.shrinkage ?? -1).toBeCloseTo(plain.shrinkage, 9);
        for (let i = 0, at = 0; i < 4; i++)
          for (let j = 0; j <= i; j++, at++) expect(found?.covariance[at] ?? Number.NaN).toBeCloseTo(plain.covariance[i]?.[j] ?? 0, 9);
      }),
    );
  });

  test("there is none of one sample, of ragged ones, or of no dimension; one point many times is not shrunk", () => {
    expect(fit(vectors([1, 2]))).toBeUndefined();
    expect(fit(vectors([1, 2], [1]))).toBeUndefined();
    expect(fit([new Float32Array(0), new Float32Array(0)])).toBeUndefined();
    expect(fit([])).toBeUndefined();
    expect(fit(vectors([1, 2], [1, 2], [1, 2]))?.shrinkage).toBe(0);
  });
});

describe("the distance", () => {
  test("is that of the inverse: two independent directions of variance 2 and 0.5, shrunk", () => {
    const samples = vectors([2, 0], [-2, 0], [0, 1], [0, -1]);
    const plain = naive(samples);
    const [a, d] = [plain.covariance[0]?.[0] ?? 0, plain.covariance[1]?.[1] ?? 0];
    const found = fit(samples);
    if (found === undefined) throw new Error("no distribution");
    expect(distanceFrom(found, [3, 0])).toBeCloseTo(3 / Math.sqrt(a), 9);
    expect(distanceFrom(found, [3, 4])).toBeCloseTo(Math.sqrt(9 / a + 16 / d), 9);
    expect(distanceFrom(found, [0, 0])).toBeCloseTo(0, 12);
  });

  test("there is none of a vector of another length", () => {
    const found = fit(vectors([1, 0], [0, 1], [2, 2]));
    expect(found && distanceFrom(found, [1, 2, 3])).toBeUndefined();
  });

  test("grows with the way from the mean, whatever the direction", () => {
    const found = fit(vectors([1, 0, 2], [0, 1, 1], [2, 2, 0], [1, 3, 1], [4, 0, 1]));
    if (found === undefined) throw new Error("no distribution");
    const part = fc.double({ min: -2, max: 2, noNaN: true });
    fc.assert(
      fc.property(fc.tuple(part, part, part), fc.double({ min: 1.1, max: 5, noNaN: true }), (way, factor) => {
        const at = (scale: number) =>
          distanceFrom(
            found,
            way.map((step, i) => (found.mean[i] ?? 0) + scale * step),
          ) ?? Number.NaN;
        expect(at(factor)).toBeCloseTo(factor * at(1), 6);
      }),
    );
  });
});
