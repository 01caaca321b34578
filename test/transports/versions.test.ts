import { expect, test } from "bun:test";
import { compareVersions } from "../../src/transports/versions.ts";

test.each([
  ["1.0.0", "1.0.0", 0],
  ["1.0.1", "1.0.0", 1],
  ["1.2.0", "1.10.0", -1],
  ["2.0.0", "10.0.0", -1],
  ["v1.0.0", "1.0.0+build.5", 0],
  ["1.0.0-alpha", "1.0.0", -1],
  ["1.0.0-alpha", "1.0.0-alpha.1", -1],
  ["1.0.0-alpha.1", "1.0.0-alpha.beta", -1],
  ["1.0.0-beta.2", "1.0.0-beta.11", -1],
  ["1.0.0-rc.1", "1.0.0-beta.11", 1],
  ["1.0", "1.0.0", 0],
  ["nonsense", "0.0.1", -1],
])("%s against %s is %d", (a, b, order) => {
  expect(Math.sign(compareVersions(a, b))).toBe(order);
  expect(Math.sign(compareVersions(b, a))).toBe(order === 0 ? 0 : -order);
});
