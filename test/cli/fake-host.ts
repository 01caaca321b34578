/** A host for command tests: collects output, answers tool calls from a script. Our own code stays real. */
import { join } from "node:path";
import { readSourceTree } from "../../src/app/source-tree.ts";
import type { ChatState, CliHost, Installation, MigrationOutcome, SecureOutcome } from "../../src/cli/command.ts";
import { createGateway, type Line } from "../../src/cli/gateway.ts";
import type { Finding } from "../../src/doctor/check.ts";
import { temporaryDirectory } from "../support/temporary.ts";

export interface Sent {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface FakeHost extends CliHost {
  readonly out: () => string;
  readonly err: () => string;
  readonly sent: Sent[];
  /** `open` and `drain` in the order they happened, per gateway. */
  readonly life: string[];
  readonly home: string;
}

export interface Script {
  /** The result of one request; throw for a JSON-RPC error. */
  readonly answer?: (sent: Sent) => unknown;
  readonly installation?: Partial<Installation>;
  /** How this program is started. */
  readonly program?: readonly [string, ...string[]];
  readonly stdin?: string;
  readonly signal?: AbortSignal;
  readonly hasColours?: boolean;
  readonly failToOpen?: Error;
  readonly findings?: readonly Finding[];
  readonly migrations?: MigrationOutcome;
  readonly columns?: readonly string[];
  readonly chatState?: ChatState;
  readonly secured?: SecureOutcome;
  readonly runningServer?: { readonly pid: number; readonly url: string };
}

const nothingChosen: ChatState = {
  provider: undefined,
  url: undefined,
  model: undefined,
  hasKey: false,
  choice: undefined,
  overriding: undefined,
  chosen: [],
  problem: undefined,
  lying: [],
  hasEndpoint: false,
};

/** The tool result that holds `value`. */
export const toolResult = (value: unknown) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
export const toolFailure = (text: string) => ({ isError: true, content: [{ type: "text", text }] });

export function fakeHost(script: Script = {}): FakeHost {
  let out = "";
  let err = "";
  const sent: Sent[] = [];
  const life: string[] = [];
  const home = temporaryDirectory("cli");
  return {
    version: "1.2.3",
    stdout: (text) => {
      out += text;
    },
    stderr: (text) => {
      err += text;
    },
    stdin: async () => script.stdin ?? "",
    hasColours: script.hasColours ?? false,
    isInteractive: false,
    signal: script.signal ?? new AbortController().signal,
    program: script.program ?? ["/opt/memory industry/memory-industry"],
    typed: ["memory-industry"],
    installation: () => ({
      platform: "linux",
      architecture: "x64",
      home,
      workingDirectory: home,
      undoDir: () => join(home, "undo"),
      configDir: () => join(home, ".config", "memory-industry"),
      cacheRoot: () => join(home, ".cache", "memory-industry"),
      legacyCacheRoot: undefined,
      modelsUrl: undefined,
      modelPlaces: [],
      runtimeVersion: "1.30.0",
      runtimeDirectory: () => join(home, "runtime"),
      clientVariables: [],
      hasHttpToken: false,
      httpAddress: { value: { host: "127.0.0.1", port: 8787 }, unreadable: undefined },
      ...script.installation,
    }),
    openGateway: async (options) => {
      if (script.failToOpen !== undefined) throw script.failToOpen;
      life.push(
        [
          `open ${options.project ?? "-"}`,
          ...(options.directory === undefined ? [] : [options.directory]),
          ...(options.startsDaemon === true ? ["through a daemon"] : []),
        ].join(" "),
      );
      const line: Line = {
        exchange: async (request) => {
          const one: Sent = { method: String(request.method), params: Object(request.params) };
          sent.push(one);
          try {
            return { jsonrpc: "2.0", id: request.id, result: await script.answer?.(one) };
          } catch (error) {
            return { jsonrpc: "2.0", id: request.id, error: { code: -32603, message: error instanceof Error ? error.message : "?" } };
          }
        },
        notify: (message) => {
          sent.push({ method: String(message.method), params: Object(message.params) });
        },
        [Symbol.asyncDispose]: async () => {
          life.push("drain");
        },
      };
      return createGateway(line, script.signal ?? new AbortController().signal);
    },
    readSourceTree: (options) => readSourceTree({ ...options, signal: script.signal ?? new AbortController().signal }),
    migrate: async () => script.migrations ?? { applied: [], warnings: [], files: [] },
    changeVectorWidth: async ({ apply }) => {
      life.push(apply ? "changed" : "looked");
      return script.columns ?? [];
    },
    diagnose: async () => script.findings ?? [],
    secure: async ({ rotate }) => {
      life.push(rotate ? "rotated" : "secured");
      return script.secured ?? { kind: "embedded" };
    },
    runningMs: () => 0,
    noteHookFailure: (reason) => void life.push(`noted ${reason}`),
    chatState: () => script.chatState ?? nothingChosen,
    probeChat: async () => {
      life.push("probed");
      return { reached: true, detail: "200" };
    },
    runningServer: () => script.runningServer,
    serve: async ({ address, onReady }) => {
      life.push(`serve ${address.host}:${address.port}`);
      onReady?.(`http://${address.host}:${address.port}`, "up");
    },
    out: () => out,
    err: () => err,
    sent,
    life,
    home,
  };
}
