import { expect, test } from "bun:test";
import { createTestProgress } from "../../scripts/test-progress.ts";

/** As `bun test --parallel` prints it, in pieces that end anywhere. */
const OUTPUT = `bun test v1 2x PARALLEL

test/a.test.ts:
(pass) a > adds [0.30ms]
(skip) a > is not for here
test/b.test.ts:
error: expect(received).toBe(expected)
(fail) b > (pass) is no pass [4.00ms]
(pass) b > goes on
test/a.test.ts:
(pass) a > adds again

1 tests failed:
(fail) b > (pass) is no pass [4.00ms]
`;

test("counts what passed and failed, each file once, and names a failure at once", () => {
  let at = 0;
  const said: string[] = [];
  const progress = createTestProgress(7, { now: () => at, say: (line) => said.push(line) });
  expect(progress.line()).toBe("0 passed, 0 failed so far; 0 of 7 files, 0 min");
  for (let from = 0; from < OUTPUT.length; from += 11) progress.take(OUTPUT.slice(from, from + 11));
  at = 150_000;
  expect(progress.line()).toBe("3 passed, 1 failed so far; 2 of 7 files, 2 min");
  expect(said).toEqual(["(fail) b > (pass) is no pass [4.00ms]"]);
});

test("no such line is taken for the result, which CI finds by its form", () => {
  expect(createTestProgress(1, { now: () => 0, say: () => {} }).line()).not.toMatch(/^[0-9]+ passed, [0-9]+ failed$/m);
});
