import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { instantOf, parseInstant } from "../../src/domain/timestamps.ts";

describe("an instant", () => {
  for (const [given, wanted] of [
    ["2026-03-29T00:00:00+02:00", "2026-03-28T22:00:00.000000+00:00"],
    ["2026-03-29T10:00:00Z", "2026-03-29T10:00:00.000000+00:00"],
    ["2026-03-29t10:00:00.1234567z", "2026-03-29T10:00:00.123456+00:00"],
    ["1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999+00:00"],
    ["2024-02-29T23:59:59.9-05:30", "2024-03-01T05:29:59.900000+00:00"],
  ] as const)
    test(`${given} is ${wanted}`, () => expect(parseInstant(given)?.text).toBe(wanted));

  for (const refused of [
    "ayer",
    "2026",
    "2026-03-29",
    "2026-03-29T10:00:00",
    "2026-13-45",
    "2026-02-30T00:00:00Z",
    "2026-03-29T24:00:00Z",
    "",
  ])
    test(`${JSON.stringify(refused)} is refused`, () => expect(parseInstant(refused)).toBeUndefined());

  test("what is answered reads back as the same instant", () => {
    const micros = fc.bigInt({ min: -62_000_000_000_000_000n, max: 250_000_000_000_000_000n });
    fc.assert(fc.property(micros, (value) => parseInstant(instantOf(value).text)?.epochMicros === value));
  });
});
