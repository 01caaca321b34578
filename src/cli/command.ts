/** What a command is: one file each, one list (`registry.ts`). A command file imports nothing heavy; what is heavy is imported inside `run`. */
import type { Config } from "../config/load.ts";
import type { Args, Values } from "./arguments.ts";
import type { Gateway } from "./gateway.ts";
import type { Output } from "./output.ts";

/** What is outside a command: who runs the program gives it. */
export interface CliHost {
  readonly version: string;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** All of standard input, as UTF-8. */
  readonly stdin: () => Promise<string>;
  /** Fires on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** Reads the configuration; called by commands that need it, never for help. */
  readonly config: () => Config;
  /** How this program is started again: absolute path, then leading arguments (none for the executable). */
  readonly program: readonly [string, ...string[]];
  /** Opens the road to the memories. @param project name of the project to work in, over the configured one. */
  readonly openGateway: (config: Config, options: { readonly project: string | undefined }) => Promise<Gateway>;
  /** Runs the daemon until it is told to stop. `onListening` fires once its port answers. */
  readonly serve: (config: Config, options: ServeOptions) => Promise<void>;
}

export interface ServeOptions {
  /** Overrides the configured address. */
  readonly address: { readonly host: string; readonly port: number };
  /** Started by a bridge: socket only, no port, ends when idle. */
  readonly autoStarted: boolean;
  readonly onListening?: (url: string) => void;
  readonly signal: AbortSignal;
}

/** What `run` works with besides its arguments. */
export interface CommandContext {
  readonly host: CliHost;
  readonly out: Output;
  readonly config: () => Config;
  /** Opened once, closed (and drained) by `run.ts` whatever happens. */
  readonly gateway: (options?: { readonly project?: string | undefined }) => Promise<Gateway>;
}

interface Described {
  readonly name: string;
  readonly summary: string;
  /** What it works on; `database` commands are drained before the exit. */
  readonly needs: "nothing" | "config" | "database";
  /** `plan`: shown first, needs --apply. */
  readonly writes: "no" | "database" | "files" | "plan";
  /** When it talks to the network; absent = never. */
  readonly network?: string;
  /** Further lines of its help. */
  readonly details?: readonly string[];
  /** Not in the lists: for scripts of ours. */
  readonly internal?: true;
  /** Added to the refusal of an unknown flag. */
  readonly flagHint?: string;
}

/** A command with the types of its arguments erased; made by {@link command}. */
export interface Command extends Described {
  readonly args: Args;
  /** @param raw the words behind the name. @returns exit code. @throws MemoryError */
  readonly start: (raw: readonly string[], context: CommandContext) => Promise<number>;
}

export interface CommandSpec<A extends Args> extends Described {
  readonly args: A;
  /** @returns exit code; nothing = 0. */
  readonly run: (args: Values<A>, context: CommandContext) => Promise<number | undefined>;
}
