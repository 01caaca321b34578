import { expect, test } from "bun:test";
import { chooseDatabase } from "../../src/config/modes.ts";

test("a URL is used as it is, in every mode", () => {
  for (const mode of ["local", "red", "completo"] as const)
    expect(chooseDatabase(mode, "postgres://u@h/d")).toEqual({ kind: "postgres", url: "postgres://u@h/d" });
});

test("without one the embedded database serves, except in the mode that shares", () => {
  expect(chooseDatabase("local", undefined)).toEqual({ kind: "embedded" });
  expect(chooseDatabase("completo", undefined)).toEqual({ kind: "embedded" });
  expect(() => chooseDatabase("red", undefined)).toThrow(/needs DATABASE_URL; nothing was created.*sslmode=require/);
});
