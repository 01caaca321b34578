/**
 * Every environment variable of the product, in one table: the parser, the typed `Config`, `docs/configuration.md`, `docs/env.example`,
 * `server.json` and `doctor` come from it. Each name `X` is read as `MEMORY_INDUSTRY_X`, then as `CUBA_X`, unless `names` says otherwise.
 * A variable is added together with the code that reads it; the table offers no dead ones (a test compares).
 */

import { judgeChoices } from "../kernel/judge-choice.ts";
import {
  address,
  decimal,
  integer,
  integerWithFloor,
  type Kind,
  list,
  oneOf,
  onlyOn,
  onOff,
  path,
  postgresUrl,
  seconds,
  secondsOrOff,
  text,
  textOrEmpty,
  webUrl,
} from "../kernel/kinds.ts";
import { consolidationVariables } from "./consolidation-variables.ts";
import { judgeAliases } from "./judge-variables.ts";
import { rerankerVariables } from "./reranker-variables.ts";

export const groups = ["database", "daemon", "models", "judge", "tools", "consolidation", "process"] as const;
export type Group = (typeof groups)[number];

interface Described {
  readonly is: Kind<unknown>;
  readonly group: Group;
  /** What it does, one sentence without a full stop. */
  readonly doc: string;
  /** Never shown, only `set` or `missing`. */
  readonly secret?: true;
  /** The names it is read under, first wins; for variables that are not ours or that have a single name. */
  readonly names?: readonly [string, ...string[]];
  /** Belongs to one connection, not to the daemon: a bridge passes it on (`cli-daemon.md` §3.1). */
  readonly connection?: true;
}

/** Either a built-in default, written as a person would type it and read by the same kind, or the words for what being unset means. */
export type Variable = Described &
  ({ readonly default: string | number; readonly unset?: never } | { readonly unset: string; readonly default?: never });

/** A day; no wait of ours is meant to last longer. */
const DAY_SECS = 86_400;

export const variables = {
  // Database and identity
  DATABASE_URL: {
    is: postgresUrl,
    group: "database",
    secret: true,
    names: ["DATABASE_URL"],
    unset: "the embedded database in the data directory",
    doc: "PostgreSQL to use in place of the embedded database; add ?sslmode=require for a remote one",
  },
  // A store in another place than the one that was asked for looks like lost memories, so docker is known, and refused.
  DB: {
    is: oneOf(["embedded", "docker"]),
    group: "database",
    default: "embedded",
    doc: "database that is used without DATABASE_URL; docker is refused, since this version starts no container",
  },
  DATA_DIR: {
    is: path,
    group: "database",
    unset: "the data directory of this user",
    doc: "data directory: embedded database, owner lock, local socket; two directories are two daemons",
  },
  MODE: {
    is: oneOf(["local", "red", "completo"], { cloud: "red", nube: "red", full: "completo", complete: "completo" }),
    group: "database",
    default: "local",
    doc: "preset: local keeps everything on this machine, red shares a PostgreSQL (DATABASE_URL required), completo switches every capability on",
  },
  PROJECT: {
    is: text,
    group: "database",
    connection: true,
    unset: "the repository of the working directory",
    doc: "project of a connection or a command",
  },
  PROJECT_FILTER: { is: onOff, group: "database", default: "on", doc: "off removes project scoping from every read; for diagnosis only" },
  CLIENT_ID: { is: text, group: "database", connection: true, unset: "none", doc: "label of this client; one value for each workspace" },
  NODE_NAME: {
    is: text,
    group: "database",
    names: ["MEMORY_INDUSTRY_NODE_NAME", "CUBA_NODE_NAME", "HOSTNAME", "COMPUTERNAME"],
    unset: "the host name that the system reports",
    doc: "label of this machine, stored with what is written here",
  },
  SKIP_MIGRATIONS: {
    is: onOff,
    group: "database",
    default: "off",
    doc: "verify the schema in place of migrating it; a database older than the program is refused",
  },
  APP_ROLE: {
    is: onOff,
    group: "database",
    default: "on",
    doc: "step down to the role cuba_app after migrating; off keeps the admin connection",
  },
  DB_MAX_CONNECTIONS: {
    is: integer(1, 1_000),
    group: "database",
    default: 4,
    doc: "connections to PostgreSQL; the embedded database has one",
  },
  RANDOM_PAGE_COST: { is: decimal(0.1, 10), group: "database", default: 1.1, doc: "planner setting random_page_cost of each connection" },
  IO_CONCURRENCY: {
    is: integer(0, 1_000),
    group: "database",
    default: 200,
    doc: "planner setting effective_io_concurrency of each connection",
  },
  AUDIT_KEY: {
    is: text,
    group: "database",
    secret: true,
    unset: "the file audit_key in the configuration directory, else rows are chained with plain SHA-256",
    doc: "HMAC-SHA256 key of the audit chain",
  },
  UNDO_DIR: { is: path, group: "database", unset: "undo/ in the cache directory", doc: "where destructive commands put their undo files" },
  BITEMPORAL: { is: onOff, group: "database", default: "on", doc: "mirror observations into facts with validity times" },
  QUARANTINE_INFERENCE: { is: onOff, group: "database", default: "off", doc: "store what a model inferred as quarantined" },

  // Daemon
  DAEMON: {
    is: onOff,
    group: "daemon",
    names: ["MEMORY_INDUSTRY_DAEMON"],
    default: "on",
    doc: "off runs everything in the one process, without a shared daemon (tests, containers, one-shot use)",
  },
  HTTP_ADDR: { is: address, group: "daemon", default: "127.0.0.1:8787", doc: "listen address of serve" },
  HTTP_TOKEN: {
    is: text,
    group: "daemon",
    secret: true,
    unset: "loopback needs none",
    doc: "bearer token of serve; required off loopback, at least 32 characters there",
  },
  HTTP_ALLOWED_HOSTS: { is: list, group: "daemon", default: "", doc: "further Host values to accept, comma list" },
  HTTP_ALLOWED_ORIGINS: { is: list, group: "daemon", default: "", doc: "further Origin values to accept, comma list" },
  IDLE_SHUTDOWN_SECS: {
    is: secondsOrOff(30 * DAY_SECS),
    group: "daemon",
    unset: "600 for a daemon that a bridge started, never for serve",
    doc: "stop after this time without clients",
  },
  HANDLER_TIMEOUT_SECS: { is: seconds(1, DAY_SECS), group: "daemon", default: 30, doc: "longest time of one tool call" },
  HANDSHAKE_TIMEOUT_SECS: {
    is: secondsOrOff(DAY_SECS),
    group: "daemon",
    default: 60,
    doc: "a stdio process that got no valid request in this time ends",
  },

  // Models
  MODELS_URL: {
    is: webUrl,
    group: "models",
    names: ["MEMORY_INDUSTRY_MODELS_URL"],
    unset: "the public hub",
    doc: "mirror for the downloads of the command models",
  },
  EMBED_MODEL: { is: text, group: "models", default: "multilingual-e5-small", doc: "embedding model of the catalogue" },
  ONNX_MODEL_PATH: {
    is: path,
    group: "models",
    names: ["ONNX_MODEL_PATH"],
    unset: "models/ in the cache directory",
    doc: "directory or file of the embedding model",
  },
  ORT_DYLIB_PATH: {
    is: path,
    group: "models",
    names: ["ORT_DYLIB_PATH"],
    unset: "the runtime inside the program",
    doc: "replacement for the ONNX runtime library",
  },
  EMBEDDING_DIM: {
    is: integer(1, 16_000),
    group: "models",
    unset: "what the model's memory-industry.json says, else 384",
    doc: "length of a vector; must equal the columns",
  },
  POOLING: {
    is: oneOf(["mean", "cls"]),
    group: "models",
    unset: "what the model's memory-industry.json says, else mean",
    doc: "how token vectors become one",
  },
  QUERY_PREFIX: {
    is: textOrEmpty,
    group: "models",
    unset: "what the model's memory-industry.json says",
    doc: "text in front of an embedded question",
  },
  PASSAGE_PREFIX: {
    is: textOrEmpty,
    group: "models",
    unset: "what the model's memory-industry.json says",
    doc: "text in front of an embedded memory",
  },
  EMBED_INTRA_THREADS: {
    is: integer(1, 256),
    group: "models",
    unset: "half the logical cores, 1 to 4",
    doc: "threads of the embedding model",
  },
  CHUNK_THRESHOLD_CHARS: { is: integer(1), group: "models", default: 1_800, doc: "longer text is embedded in chunks too" },
  CHUNK_CHARS: { is: integerWithFloor(200), group: "models", default: 1_400, doc: "characters of a chunk" },
  ...rerankerVariables,
  NLI_PATH: {
    is: path,
    group: "models",
    unset: "models-nli/ in the cache directory",
    doc: "directory of the entailment model; a path that does not exist switches it off",
  },
  NLI_INTRA_THREADS: {
    is: integer(1, 256),
    group: "models",
    unset: "half the logical cores, 1 to 4",
    doc: "threads of the entailment model",
  },
  DOCTOR_DEEP_SECS: { is: seconds(1, 3_600), group: "models", default: 300, doc: "longest load of each model in doctor --deep" },

  // Judge
  JUDGE: {
    is: oneOf(judgeChoices, judgeAliases),
    group: "judge",
    unset: "the local model, the client's own, an endpoint that is set",
    doc: "who judges claims and conflicts; auto adds what costs money, and so does naming it",
  },
  JUEZ_CLI: {
    is: text,
    group: "judge",
    names: ["MEMORY_INDUSTRY_LLM_CLI", "MEMORY_INDUSTRY_JUEZ_CLI", "CUBA_JUEZ_CLI"],
    unset: "claude",
    doc: "chat program of the judge, a name or a path",
  },
  JUEZ_MODEL: {
    is: text,
    group: "judge",
    names: ["MEMORY_INDUSTRY_LLM_MODEL", "MEMORY_INDUSTRY_JUEZ_MODEL", "CUBA_JUEZ_MODEL"],
    unset: "claude-haiku-4-5, gemini-2.0-flash for gemini, else the provider's own",
    doc: "model of the chat program, the endpoint or the API",
  },
  JUEZ_TIMEOUT_SECS: {
    is: seconds(1, 3_600),
    group: "judge",
    names: ["MEMORY_INDUSTRY_LLM_TIMEOUT_SECS", "MEMORY_INDUSTRY_JUEZ_TIMEOUT_SECS", "CUBA_JUEZ_TIMEOUT_SECS"],
    default: 30,
    doc: "longest time of one judgment",
  },
  JUEZ_MAX_PAIRS: {
    is: integer(1, 25),
    group: "judge",
    names: ["MEMORY_INDUSTRY_LLM_MAX_PAIRS", "MEMORY_INDUSTRY_JUEZ_MAX_PAIRS", "CUBA_JUEZ_MAX_PAIRS"],
    default: 5,
    doc: "pairs of one scan, and pieces of evidence judged for one claim",
  },
  NLI_ESCALATE: {
    is: onOff,
    group: "judge",
    default: "off",
    doc: "send claims that the local model leaves undecided to a model that may be asked",
  },
  LLM_PROVIDER: { is: text, group: "judge", unset: "none", doc: "chat service of the judge, by name; setting it is choosing it" },
  LLM_BASE_URL: {
    is: webUrl,
    group: "judge",
    unset: "the provider's own",
    doc: "address of an OpenAI-compatible chat service; setting it is choosing it",
  },
  LLM_API_KEY: { is: text, group: "judge", secret: true, unset: "the vendor's own variable", doc: "key of the chat service" },

  // Tools and search
  TOOL_PROFILE: {
    is: oneOf(["full", "lean", "standard", "agent"]),
    group: "tools",
    connection: true,
    default: "full",
    doc: "which tools are listed; all stay callable",
  },
  DOCS: {
    is: onlyOn,
    group: "tools",
    default: "off",
    doc: "offer cuba_docs, which fetches the documentation of a library from its site; on in mode completo",
  },
  OOD_THRESHOLD: {
    is: decimal(Number.MIN_VALUE, Number.MAX_VALUE),
    group: "tools",
    unset: "what calibrate measured",
    doc: "distance from which abstain_ood refuses a question",
  },
  OOD_FIT_LIMIT: { is: integer(1), group: "tools", default: 5_000, doc: "vectors that the distribution behind that distance is fitted on" },
  FUSION: { is: oneOf(["scores", "rrf"]), group: "tools", default: "scores", doc: "how the arms of a search are fused" },
  ENTITY_FACTOID: {
    is: onOff,
    group: "tools",
    names: ["MEMORY_INDUSTRY_ENTITY_FACTOID"],
    default: "on",
    doc: "a further arm for questions about one fact of a named entity",
  },
  COMPACT_CHARS: { is: integer(1), group: "tools", default: 1_200, doc: "characters of one memory in a compact answer" },

  ...consolidationVariables,

  // The process itself
  LOG: {
    is: text,
    group: "process",
    names: ["MEMORY_INDUSTRY_LOG", "RUST_LOG"],
    default: "info",
    doc: "log level: debug, info, warn, error, off",
  },
} as const satisfies Readonly<Record<string, Variable>>;

export type VariableName = keyof typeof variables;

/** Type of a variable's value as `Config` holds it. */
export type ValueOf<K extends VariableName> = (typeof variables)[K] extends {
  readonly is: Kind<infer T>;
  readonly default: string | number;
}
  ? T
  : (typeof variables)[K] extends { readonly is: Kind<infer T> }
    ? T | undefined
    : never;

/** All keys, in the order of the table. */
export const variableNames: readonly VariableName[] = Object.keys(variables).filter((key): key is VariableName => key in variables);

/** The description of a variable, without its particular type. */
export const describeVariable = (key: VariableName): Variable => variables[key];

/** The names a variable is read under; the first one set wins. */
export const namesOf = (key: VariableName): readonly [string, ...string[]] =>
  describeVariable(key).names ?? [`MEMORY_INDUSTRY_${key}`, `CUBA_${key}`];

/** Every name of a variable that belongs to one connection: a bridge passes these on and keeps them out of its daemon's environment. */
export const connectionVariables = (): readonly string[] =>
  variableNames.filter((key) => describeVariable(key).connection === true).flatMap((key) => namesOf(key));
