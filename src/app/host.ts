/** What a command finds around it: output, signals, configuration, and the roads to the memories. */
import type { CliHost, Installation } from "../cli/command.ts";
import { hookLogOf, noteHookFailure } from "../cli/hook-log.ts";
import { environment } from "../config/environment.ts";
import type { Config } from "../config/load.ts";
import { homeOf, requirePath } from "../config/paths.ts";
import { namesOf, type VariableName } from "../config/variables.ts";
import { hasPort, liveOwner } from "../daemon/owner-lock.ts";
import { RUNTIME_VERSION, runtimeFolder } from "../inference/onnx/place.ts";
import { VERSION } from "../kernel/version.ts";
import { cacheFolder } from "./cache-folder.ts";
import { chatState, probeChat } from "./chat.ts";
import { type ProcessFacts, processFacts, program, signalled, typedProgram } from "./process.ts";

/** Variables that a client's own process needs when they are set here; paths are checked by `setup`. */
const clientVariables: readonly { readonly key: VariableName; readonly isPath: boolean }[] = [
  { key: "DATABASE_URL", isPath: false },
  { key: "DATA_DIR", isPath: true },
  { key: "ONNX_MODEL_PATH", isPath: true },
  { key: "ORT_DYLIB_PATH", isPath: true },
  { key: "EMBED_MODEL", isPath: false },
  { key: "EMBEDDING_DIM", isPath: false },
];

const modelPlaces = [
  { slot: "embed", key: "ONNX_MODEL_PATH" },
  { slot: "reranker", key: "RERANKER_PATH" },
  { slot: "nli", key: "NLI_PATH" },
] as const;

function installation(config: Config): Installation {
  const { settings, paths, warnings } = config;
  const set = environment();
  const unreadable = warnings.find(({ key, refused }) => key === "HTTP_ADDR" && refused);
  return {
    platform: process.platform,
    architecture: process.arch,
    home: homeOf(set),
    workingDirectory: process.cwd(),
    undoDir: () => requirePath(paths, "undoDir"),
    configDir: () => requirePath(paths, "configDir"),
    cacheRoot: () => requirePath(paths, "cacheRoot"),
    legacyCacheRoot: paths.legacyCacheRoot,
    modelsUrl: settings.MODELS_URL.value,
    modelPlaces: modelPlaces.flatMap(({ slot, key }) => {
      const { value, layer, name } = settings[key];
      // The memory plan switches a model off by a path of its own; that is nobody's choice.
      return value === undefined || name === undefined || layer === "governor" ? [] : [{ slot, variable: name, path: value }];
    }),
    runtimeVersion: RUNTIME_VERSION,
    runtimeDirectory: () => runtimeFolder(cacheFolder(paths)),
    clientVariables: clientVariables.flatMap(({ key, isPath }) => {
      const name = namesOf(key).find((candidate) => (set[candidate] ?? "").trim() !== "");
      const value = name === undefined ? undefined : set[name]?.trim();
      return name === undefined || value === undefined ? [] : [{ name, value, isPath }];
    }),
    hasHttpToken: settings.HTTP_TOKEN.value !== undefined,
    httpAddress: {
      value: settings.HTTP_ADDR.value,
      unreadable: unreadable === undefined ? undefined : { variable: unreadable.name, problem: unreadable.message },
    },
  };
}

/** Whoever reads what a command prints may stop early (`search … | head -3`): the command goes on with its work, and nothing more is shown. */
function unlessReaderLeft(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

/** The host of this process. Configuration is read when a command first needs it; help and version read none. */
export function processHost(): CliHost {
  let known: ProcessFacts | undefined;
  const facts = () => (known ??= processFacts({ quiet: true }));
  let told: ProcessFacts | undefined;
  /** The facts for work on the memories, after what is wrong with a setting was said: a command must not look into another place than was meant without a word. */
  const warned = (): ProcessFacts => {
    if (told !== undefined) return told;
    const { config, log, ...rest } = facts();
    for (const { message } of config.warnings) log.warn(message);
    told = { ...rest, log, config: { ...config, warnings: [] } };
    return told;
  };
  const signal = signalled();
  for (const stream of [process.stdout, process.stderr]) stream.on("error", unlessReaderLeft);
  return {
    version: VERSION,
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    stdin: () => Bun.stdin.text(),
    hasColours: process.stdout.isTTY === true && (environment().NO_COLOR ?? "") === "" && environment().TERM !== "dumb",
    isInteractive: process.stderr.isTTY === true,
    signal,
    installation: () => installation(facts().config),
    program,
    typed: typedProgram(),
    openGateway: async (options) => (await import("./gateway.ts")).openGateway(warned(), options, signal),
    readSourceTree: async (options) => (await import("./source-tree.ts")).readSourceTree({ ...options, signal }),
    diagnose: async (options) => (await import("./diagnose.ts")).diagnose(facts(), options, signal),
    migrate: async (options) => (await import("./migrate.ts")).runMigrations(warned(), options, signal),
    changeVectorWidth: async (options) => (await import("./vector-width.ts")).changeWidth(warned(), options, signal),
    secure: async (options) => (await import("./secure.ts")).secure(facts(), options, signal),
    runningMs: () => performance.now(),
    noteHookFailure: (reason) => {
      const { dataDir } = facts().config.paths;
      if (dataDir !== undefined) noteHookFailure(hookLogOf(dataDir), reason, new Date());
    },
    chatState: () => chatState(facts().config),
    probeChat: () => probeChat(facts().config, signal),
    runningServer: () => {
      const owner = liveOwner(facts().paths().lock);
      return owner === undefined || !hasPort(owner) ? undefined : { pid: owner.pid, url: `http://${owner.address}` };
    },
    serve: async (options) => (await import("./daemon.ts")).runServe(processFacts(), options, signal),
  };
}
