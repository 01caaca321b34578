/** What our texts tell a person to type exists: every `memory-industry <command>` in a string of the sources, and what `models` is asked for. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { engines, version } from "../../package.json" with { type: "json" };
import models from "../../src/cli/commands/models.ts";
import { commands } from "../../src/cli/registry.ts";
import { catalogue } from "../../src/inference/models/catalogue.ts";

const root = resolve(import.meta.dir, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** Commands that a text names and this version does not have. Delete a word when its command lands. */
const GAPS: string[] = [];

const sources = [...new Bun.Glob("src/**/*.ts").scanSync({ cwd: root })].sort();
const code = sources
  .flatMap((file) => read(file).split("\n"))
  .filter((line) => !/^\s*(\*|\/\/|\/\*)/.test(line))
  .join("\n");
/** In quotes of any kind, behind an arrow or a colon: what is meant to be typed. */
const hints = [...code.matchAll(/(?:['"`]|: )memory-industry ([a-z]+)(?: ([a-z]+))?/g)].map(([, command = "", what = ""]) => ({
  command,
  what,
}));

test("every command that a text names is one, but for the gaps that are listed", () => {
  expect(hints.length).toBeGreaterThan(20);
  const known = new Set(commands.map(({ name }) => name));
  // The daemon's own word, and prose in front of a version.
  const missing = new Set(hints.map(({ command }) => command).filter((name) => !known.has(name) && name !== "daemon"));
  expect([...missing].sort()).toEqual(GAPS);
});

test("what a text asks models for, models has", async () => {
  // Without a word behind it the slot is filled in when the text is made.
  const asked = [...new Set(hints.filter(({ command, what }) => command === "models" && what !== "").map(({ what }) => what))].sort();
  expect(asked).toContain("embed");
  const has = (models.details ?? []).join("\n");
  for (const what of asked) expect(has).toMatch(new RegExp(`^${what} `, "m"));
});

test("the figures that README and help give are those of the lists", () => {
  const readme = read("README.md");
  const megabytes = (name: string) => Math.round((catalogue.find((model) => model.name === name)?.aboutBytes ?? 0) / 1_000_000);
  expect(megabytes("multilingual-e5-small")).toBe(135);
  expect(readme).toContain("fetch the embedding model once (135 MB");
  const help = (models.details ?? []).join("\n");
  expect(help).toContain("the embedding model, 135 MB");
  expect(megabytes("bge-reranker-v2-m3")).toBe(588);
  expect(help).toContain("588 MB");
  expect(Math.round(megabytes("mDeBERTa-v3-base-xnli-multilingual-nli-2mil7") / 100)).toBe(11);
  expect(help).toContain("1.1 GB");
  expect(engines.node).toBe(">=20");
  expect(readme).toContain("Node](https://nodejs.org) 20 or newer");
  expect(version).toStartWith("0.1.");
  expect(readme).toContain("**Version 0.1.**");
  const shown = commands.filter(({ internal }) => internal !== true).length;
  expect(readme).toContain(`| ${shown} commands | |`);
});
