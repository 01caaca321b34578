import { expect, test } from "bun:test";
import fc from "fast-check";
import { envLine, parseEnvFile } from "../../src/kernel/env-file.ts";

test("assignments are read, comments and other lines left out", () => {
  const content =
    '\uFEFF# token\r\nCUBA_HTTP_TOKEN=abc=def\r\n;x=1\r\nexport CUBA_MODE = red \r\n  A="with \\"blank\\""\r\nB=\'$X\'\r\nnonsense\r\nA_B=\r\nB=last';
  expect(parseEnvFile(content)).toEqual({ CUBA_HTTP_TOKEN: "abc=def", CUBA_MODE: "red", A: 'with "blank"', B: "last", A_B: "" });
});

test("a name like __proto__ is only a name", () => {
  expect(Object.keys(parseEnvFile("__proto__=1\nconstructor=2"))).toEqual(["__proto__", "constructor"]);
});

test("what is written is read back", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }).filter((value) => !/[\r\n]/.test(value)),
      (value) => {
        expect(parseEnvFile(envLine("X", value)).X).toBe(value);
      },
    ),
  );
});
