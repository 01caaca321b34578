/** Words of the command line in, exit code out. Ends no process: the caller sets `process.exitCode`. */
import { trigramSimilarity } from "../domain/trigrams.ts";
import { present } from "../kernel/errors.ts";
import type { CliHost, Command, CommandContext } from "./command.ts";
import type { Gateway } from "./gateway.ts";
import { commandHelp, overview } from "./help.ts";
import { createOutput, spellCommands } from "./output.ts";
import { commands as allCommands } from "./registry.ts";

const versionWords = new Set(["--version", "-V", "version"]);
const helpWords = new Set(["--help", "-h", "help"]);

const asksForHelp = (raw: readonly string[]): boolean => {
  const end = raw.indexOf("--");
  return (end === -1 ? raw : raw.slice(0, end)).some((word) => word === "--help" || word === "-h");
};

/**
 * Runs one command.
 * @param argv the words behind the program's name; at least one (none means MCP on stdio, which is not a command)
 * @returns 0 done, or a plan shown · 1 failed · 2 wrong usage · 130 broken off by a signal. Never throws.
 */
export async function runCli(argv: readonly string[], host: CliHost, commands: readonly Command[] = allCommands): Promise<number> {
  const [word = "--help", ...raw] = argv;
  if (versionWords.has(word)) return say(host, `memory-industry ${host.version}\n`);
  if (helpWords.has(word)) return say(host, overview(commands));
  const command = commands.find(({ name }) => name === word);
  if (command === undefined) {
    host.stderr(`Unknown command '${word}'.${meantBy(word, commands)}\n\n${overview(commands)}`);
    return 2;
  }
  if (asksForHelp(raw)) return say(host, await commandHelp(command));
  return await start(command, raw, host, commands);
}

/** Words that share fewer of their trigrams are not mistaken for each other: "serach" and "search" share .27, and "serve" .30, so two are named. */
const CLOSE = 0.25;
const CLOSE_COMMANDS = 2;

function meantBy(word: string, commands: readonly Command[]): string {
  const close = commands
    .filter(({ internal }) => internal !== true)
    .map(({ name }) => ({ name, likeness: trigramSimilarity(name, word) }))
    .filter(({ likeness }) => likeness >= CLOSE)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, CLOSE_COMMANDS);
  return close.length === 0 ? "" : ` Did you mean ${close.map(({ name }) => `'${name}'`).join(" or ")}?`;
}

function say(host: CliHost, text: string): number {
  host.stdout(text);
  return 0;
}

/** Runs the command and closes what it opened, on success and on failure: queued embeddings are drained before the exit. */
async function start(command: Command, raw: readonly string[], host: CliHost, commands: readonly Command[]): Promise<number> {
  const opened: Gateway[] = [];
  const context: CommandContext = {
    host,
    out: createOutput(host, (text) => spell(host, commands, text)),
    commands,
    gateway: async (options = { project: undefined }) => {
      if (command.needs !== "database") throw new Error(`command ${command.name} declares that it needs no database`);
      const [known] = opened;
      if (known !== undefined) return known;
      const fresh = await host.openGateway(options);
      opened.push(fresh);
      return fresh;
    },
  };
  let code: number;
  try {
    code = await command.start(raw, context);
  } catch (error) {
    code = explain(command, error, host, commands);
  }
  for (const gateway of opened) {
    try {
      await gateway[Symbol.asyncDispose]();
    } catch (error) {
      code = Math.max(code, explain(command, error, host, commands));
    }
  }
  return code;
}

const spell = ({ typed }: CliHost, commands: readonly Command[], text: string): string =>
  spellCommands(
    text,
    typed,
    commands.map(({ name }) => name),
  );

function explain(command: Command, error: unknown, host: CliHost, commands: readonly Command[]): number {
  if (host.signal.aborted) {
    host.stderr(`memory-industry ${command.name}: broken off.\n`);
    return 130;
  }
  const { text, exit, code } = present(error);
  host.stderr(`memory-industry ${command.name}: ${spell(host, commands, text)}\n`);
  if (code === "usage") host.stderr(spell(host, commands, `'memory-industry ${command.name} --help' shows its arguments.\n`));
  return exit;
}
