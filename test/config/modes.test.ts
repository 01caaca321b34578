import { expect, test } from "bun:test";
import { chooseDatabase, type DatabaseFacts } from "../../src/config/modes.ts";

const facts = (mode: DatabaseFacts["mode"], url?: string, engine: "embedded" | "docker" = "embedded"): DatabaseFacts => ({
  mode,
  settings: {
    DATABASE_URL: { value: url, layer: "environment", name: undefined },
    DB: { value: engine, layer: "environment", name: undefined },
  },
});

test("a URL is used as it is, in every mode, whatever engine is named beside it", () => {
  for (const mode of ["local", "red", "completo"] as const)
    for (const engine of ["embedded", "docker"] as const)
      expect(chooseDatabase(facts(mode, "postgres://u@h/d", engine))).toEqual({ kind: "postgres", url: "postgres://u@h/d" });
});

test("without one the embedded database serves, except in the mode that shares", () => {
  expect(chooseDatabase(facts("local"))).toEqual({ kind: "embedded" });
  expect(chooseDatabase(facts("completo"))).toEqual({ kind: "embedded" });
  expect(() => chooseDatabase(facts("red"))).toThrow(/needs DATABASE_URL; nothing was created.*sslmode=require/);
});

test("a database in a container is refused, never replaced by the embedded one", () => {
  expect(() => chooseDatabase(facts("local", undefined, "docker"))).toThrow(
    /CUBA_DB=docker.*this version does not start; nothing was created, and the embedded database was not used.*DATABASE_URL/,
  );
});
