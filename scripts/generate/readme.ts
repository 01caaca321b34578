/** README.md: its tables of tools and commands and the commands that show a plan, between their marks; the rest of the file is written by hand. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../../src/cli/registry.ts";
import { tools } from "../../src/tools/registry.ts";
import { root } from "../run.ts";
import type { GeneratedFile } from "./file.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** Replaces what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. @throws Error where a mark is missing */
export function between(text: string, name: string, body: string): string {
  const begin = `<!-- begin ${name} -->`;
  const end = `<!-- end ${name} -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`README.md has lost its marks of '${name}'`);
  return `${text.slice(0, from + begin.length)}\n${body}\n${text.slice(to)}`;
}

/** The first sentence of a description. */
const firstSentence = (text: string): string => /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;

const table = (head: string, rows: readonly (readonly [string, string])[]): string =>
  [`| ${head} | |`, "|---|---|", ...rows.map(([name, text]) => `| \`${name}\` | ${cell(text)} |`)].join("\n");

export function readme(): GeneratedFile[] {
  const text = readFileSync(join(root, "README.md"), "utf8");
  const toolTable = table(
    `${tools.length} tools`,
    tools.map(({ name, describe }) => [name, firstSentence(describe)]),
  );
  const shown = commands.filter(({ internal }) => internal !== true);
  const commandTable = table(
    `${shown.length} commands`,
    shown.map(({ name, summary }) => [name, summary]),
  );
  const planned = shown.filter(({ writes }) => writes === "plan").map(({ name }) => `\`${name}\``);
  const plans = `${planned.slice(0, -1).join(", ")} and ${planned.at(-1)} show a plan first and change something with \`--apply\` alone.`;
  const sections = { tools: toolTable, commands: commandTable, plans };
  return [{ path: "README.md", content: Object.entries(sections).reduce((filled, [name, body]) => between(filled, name, body), text) }];
}
