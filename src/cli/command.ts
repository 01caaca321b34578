/** What a command is: one file each, one list (`registry.ts`). A command file imports nothing heavy; what is heavy is imported inside `run`. */
import type { Finding } from "../doctor/check.ts";
import type { SocketAddress } from "../kernel/kinds.ts";
import type { ReadOptions, SourceTree } from "../services/codegraph/read.ts";
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
  /** Standard output is a terminal whose owner has not asked for plain text (`NO_COLOR`). */
  readonly hasColours: boolean;
  /** Standard error is a terminal. */
  readonly isInteractive: boolean;
  /** Fires on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** What this installation looks like; read by commands that need it, never for help. */
  readonly installation: () => Installation;
  /** How this program is started again: absolute path, then leading arguments (none for the executable). */
  readonly program: readonly [string, ...string[]];
  /** What a person types to start it: the name where the shell finds it, else the whole command. */
  readonly typed: readonly [string, ...string[]];
  /** Opens the road to the memories. */
  readonly openGateway: (options: GatewayOptions) => Promise<Gateway>;
  /** Reads the source code below a directory. Opens no database. */
  readonly readSourceTree: (options: Omit<ReadOptions, "signal">) => Promise<SourceTree>;
  /** All findings of `doctor`: the owner's (asked for, or found here where there is none) and this process's. Migrates nothing. */
  readonly diagnose: (options: { readonly deep: boolean }) => Promise<readonly Finding[]>;
  /** Brings the database up to this build, as its owner; `statusOnly` looks and changes nothing. */
  readonly migrate: (options: { readonly statusOnly: boolean }) => Promise<MigrationOutcome>;
  /** Another length for every vector column; answers the columns that differ (with `apply`: differed). */
  readonly changeVectorWidth: (options: { readonly dimensions: number; readonly apply: boolean }) => Promise<readonly string[]>;
  /** The `serve` that somebody already runs on this data directory; undefined where there is none. */
  readonly runningServer: () => { readonly pid: number; readonly url: string } | undefined;
  /** Which language model is chosen, as this process reads it. Starts nothing and shows no key. */
  readonly chatState: () => ChatState;
  /** Looks whether the chosen endpoint answers; asks it no question. */
  readonly probeChat: () => Promise<{ readonly reached: boolean; readonly detail: string }>;
  /** Makes the unprivileged login of the server of this configuration. */
  readonly secure: (options: { readonly rotate: boolean }) => Promise<SecureOutcome>;
  /** Milliseconds since this process began. */
  readonly runningMs: () => number;
  /** Keeps the reason why a hook had nothing to give, where `doctor` finds it. Never throws. */
  readonly noteHookFailure: (reason: string) => void;
  /** Runs the daemon until `signal` fires or it ends by itself. */
  readonly serve: (options: ServeOptions) => Promise<void>;
}

/** Stands in an address where the password belongs: one that is not new is shown by its file alone. */
export const PASSWORD_PLACE = "PASSWORD";

export type SecureOutcome =
  | { readonly kind: "embedded" }
  | {
      readonly kind: "server";
      readonly role: string;
      readonly created: boolean;
      readonly passwordSet: boolean;
      readonly granted: boolean;
      /** Where its password lies. */
      readonly file: string;
      /** Address for the role, {@link PASSWORD_PLACE} in it unless the password is new; undefined where the password is not known here. */
      readonly url: string | undefined;
      /** The login of DATABASE_URL where its password is new too: where that lies, and the address with {@link PASSWORD_PLACE} for it. */
      readonly admin: { readonly login: string; readonly file: string; readonly url: string } | undefined;
    };

export interface ChatState {
  readonly provider: string | undefined;
  readonly url: string | undefined;
  readonly model: string | undefined;
  readonly hasKey: boolean;
  /** What `CUBA_JUDGE` says. */
  readonly choice: string | undefined;
  /** Name of the environment variable that says it, where it is not the file that does. */
  readonly overriding: string | undefined;
  /** Backends that may be asked without a client, in order. */
  readonly chosen: readonly string[];
  readonly problem: string | undefined;
  /** Programs and keys that lie there and are nobody's choice. */
  readonly lying: readonly string[];
  readonly hasEndpoint: boolean;
}

export interface MigrationOutcome {
  /** Files applied now. */
  readonly applied: readonly string[];
  readonly warnings: readonly string[];
  /** Every file with its state afterwards: `applied`, `pending`, `edited`, `dirty`, or `unknown` to this build. */
  readonly files: readonly { readonly name: string; readonly state: string; readonly appliedAt: string | undefined }[];
}

export interface GatewayOptions {
  /** Name of the project to work in; undefined = the configured one, else that of the working directory. */
  readonly project: string | undefined;
  /** Whose repository is meant where no project is named; undefined = the working directory. */
  readonly directory?: string;
  /**
   * Where no daemon runs one is started and asked, unless it is switched off. Otherwise the database is opened in this process: right for one command, wrong
   * for a hook, which every session runs, and whose clock stands still while an engine opens.
   */
  readonly startsDaemon?: boolean;
}

/** The values of the configuration that commands work with, and the directories of this user. */
export interface Installation {
  readonly platform: string;
  /** As `process.arch`. */
  readonly architecture: string;
  /** Undefined where neither HOME nor USERPROFILE is set. */
  readonly home: string | undefined;
  readonly workingDirectory: string;
  /** Each answers its directory, or throws an error that says why there is none and how to set it. */
  readonly undoDir: () => string;
  readonly configDir: () => string;
  readonly cacheRoot: () => string;
  /** Cache of the earlier generation: read, never written. */
  readonly legacyCacheRoot: string | undefined;
  /** Mirror for model downloads; undefined = the public hub. */
  readonly modelsUrl: string | undefined;
  /** Where a person has models lie elsewhere: those are taken, and the catalogue's are not looked at. */
  readonly modelPlaces: readonly { readonly slot: "embed" | "reranker" | "nli"; readonly variable: string; readonly path: string }[];
  /** Version of the ONNX runtime inside the program. */
  readonly runtimeVersion: string;
  /** Where a compiled program keeps it, and what a card needs beside it. @throws MemoryError without a home directory */
  readonly runtimeDirectory: () => string;
  /** Variables that are set here and that a client's process needs too, under the name they are set with. */
  readonly clientVariables: readonly { readonly name: string; readonly value: string; readonly isPath: boolean }[];
  readonly hasHttpToken: boolean;
  /** Listen address of `serve`. A variable that holds something unreadable is named. */
  readonly httpAddress: {
    readonly value: SocketAddress;
    readonly unreadable: { readonly variable: string; readonly problem: string } | undefined;
  };
}

export interface ServeOptions {
  readonly address: SocketAddress;
  /** Started by a bridge: socket only, no port, ends when idle. */
  readonly autoStarted: boolean;
  /** Fires once the port answers and the database is open (`unreachable`: its server is away); never where it could not start. */
  readonly onReady?: (url: string, database: "up" | "unreachable") => void;
}

/** What `run` works with besides its arguments. */
export interface CommandContext {
  readonly host: CliHost;
  readonly out: Output;
  /** Every command there is. */
  readonly commands: readonly Command[];
  /** Opened once, closed (and drained) by `run.ts` whatever happens. */
  readonly gateway: (options?: GatewayOptions) => Promise<Gateway>;
}

interface Described {
  readonly name: string;
  readonly summary: string;
  /** What it works on; `database` commands are drained before the exit. */
  readonly needs: "nothing" | "database";
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
