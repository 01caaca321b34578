/** Where a command's words go: standard output carries the result and nothing else, standard error all the rest. */

import { visible } from "../kernel/text.ts";

export interface Output {
  /** One line (or several) of the result. */
  line(text?: string): void;
  /** As `line`, in words of ours alone: commands named in it become lines that can be copied here. Never for what a memory says. */
  tell(text: string): void;
  /** The result as one JSON value. */
  json(value: unknown): void;
  /** A remark for the person; not part of the result. */
  note(text: string): void;
}

export interface Sinks {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

/**
 * What cannot be seen is written out: a memory may hold escape sequences, and printed as they are they would clear the screen, set the title or fill the
 * clipboard of whoever looks at it. `\u009b` begins such a sequence too, and JSON leaves it as it is.
 * @param spell turns the commands that a text names into what is typed here
 */
export const createOutput = ({ stdout, stderr }: Sinks, spell: (text: string) => string = (text) => text): Output => ({
  line: (text = "") => stdout(`${visible(text)}\n`),
  tell: (text) => stdout(`${spell(text)}\n`),
  json: (value) => stdout(`${visible(JSON.stringify(value, null, 2))}\n`),
  note: (text) => stderr(`${visible(spell(text))}\n`),
});

/** What a command would do. */
export interface Plan {
  /** One line for each thing that would change. */
  readonly steps: readonly string[];
  /** The words that apply it, without the program's name. */
  readonly apply: readonly string[];
}

/** Quotes a word for a POSIX shell where it needs it. */
export const shellWord = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/**
 * The line that a person copies.
 * @param typed what starts this program from a shell (`CliHost.typed`)
 */
export const commandLine = (typed: readonly string[], words: readonly string[]): string => [...typed, ...words].map(shellWord).join(" ");

/**
 * Our texts call the program by its name wherever they are written; where the shell does not know that name, the commands in them are spelled out.
 * @param names commands there are: `memory-industry` before any other word is prose
 */
export function spellCommands(text: string, typed: readonly string[], names: readonly string[]): string {
  const start = commandLine(typed, []);
  return start === "memory-industry"
    ? text
    : text.replaceAll(new RegExp(`(?<![\\w./-])memory-industry (?=(?:${names.join("|")})\\b)`, "g"), () => `${start} `);
}

/** Shows a plan: what would happen, that nothing has, and how to apply it. */
export function showPlan(out: Output, typed: readonly string[], plan: Plan): void {
  for (const step of plan.steps) out.line(step);
  out.line();
  out.line("Nothing was changed. To apply it:");
  out.line(`  ${commandLine(typed, plan.apply)}`);
}
