/** Help texts: the same bytes on every machine, terminal or not. */
import { stripVTControlCharacters } from "node:util";
import { renderUsage } from "citty";
import { cittyArgs } from "./arguments.ts";
import type { Command } from "./command.ts";

/** The list of all commands. */
export function overview(commands: readonly Command[]): string {
  const listed = commands.filter((command) => command.internal !== true);
  const width = Math.max(...listed.map(({ name }) => name.length));
  return [
    "usage: memory-industry [command] [options]",
    "",
    "Long-term memory for AI coding agents. Without a command it speaks MCP on standard input and output.",
    "",
    "Commands:",
    ...listed.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "'memory-industry <command> --help' explains one of them; 'memory-industry --version' prints the version.",
    "",
  ].join("\n");
}

/** Help of one command. First line: `usage: memory-industry <name> …`. */
export async function commandHelp({ name, summary, args, details, writes }: Command): Promise<string> {
  const rendered = await renderUsage({ meta: { name: `memory-industry ${name}`, description: summary }, args: cittyArgs(args) });
  // citty puts the description first, and colours (and pads) by the variables CI and TERM; ours starts with the usage line and is plain.
  const lines = stripVTControlCharacters(rendered)
    .split("\n")
    .map((line) => line.trimEnd());
  const at = lines.findIndex((line) => line.startsWith("USAGE "));
  const usageLine = (lines[at] ?? "").replace(/^USAGE /, "usage: ");
  const sections = columns(lines.slice(at + 1))
    .join("\n")
    .replace(/^\n+|\n+$/g, "");
  const parts = [
    usageLine,
    capitalised(summary),
    sections,
    ...(details ?? []),
    writes === "plan" ? "Shows what it would do; --apply does it." : "",
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** A word longer than this has its explanation on the next line: it must not push everybody else's to the right. */
const WIDEST_WORD = 28;
const ROW = /^\s+(\S.*?)\s{4,}(\S.*)$/;

/** citty sets the words of a section flush right; read from the left they are found sooner. */
function columns(lines: readonly string[]): string[] {
  const words = lines.flatMap((line) => ROW.exec(line)?.[1] ?? []);
  const width = Math.max(0, ...words.map((word) => word.length).filter((length) => length <= WIDEST_WORD));
  return lines.flatMap((line) => {
    const [, word, text] = ROW.exec(line) ?? [];
    if (word === undefined || text === undefined) return [line];
    return word.length <= WIDEST_WORD ? [`  ${word.padEnd(width)}  ${text}`] : [`  ${word}`, `  ${" ".repeat(width)}  ${text}`];
  });
}

const capitalised = (summary: string): string => `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
