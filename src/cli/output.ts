/** Where a command's words go: standard output carries the result and nothing else, standard error all the rest. */

export interface Output {
  /** One line (or several) of the result. */
  line(text?: string): void;
  /** The result as one JSON value. */
  json(value: unknown): void;
  /** A remark for the person; not part of the result. */
  note(text: string): void;
}

export interface Sinks {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

export const createOutput = ({ stdout, stderr }: Sinks): Output => ({
  line: (text = "") => stdout(`${text}\n`),
  json: (value) => stdout(`${JSON.stringify(value, null, 2)}\n`),
  note: (text) => stderr(`${text}\n`),
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
 * @param program how this program is started again; the executable is known by its name, from source nothing of ours is on PATH
 */
export const commandLine = (program: readonly string[], words: readonly string[]): string =>
  [...(program.length === 1 ? ["memory-industry"] : program), ...words].map(shellWord).join(" ");

/** Shows a plan: what would happen, that nothing has, and how to apply it. */
export function showPlan(out: Output, program: readonly string[], plan: Plan): void {
  for (const step of plan.steps) out.line(step);
  out.line();
  out.line("Nothing was changed. To apply it:");
  out.line(`  ${commandLine(program, plan.apply)}`);
}
