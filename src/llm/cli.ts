/** A chat program on this machine (`claude`, `gemini`): prompt on its standard input, one JSON envelope back. Its account pays. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { unavailable } from "../kernel/errors.ts";
import { redact } from "../kernel/secrets.ts";
import { chatFailure } from "./failures.ts";
import type { Chat } from "./port.ts";

export interface CliProgram {
  readonly backend: "claude_cli" | "gemini_cli";
  /** Absolute path, as {@link findProgram} gave it. */
  readonly path: string;
  readonly model: string;
  /** What the program sees; without our own settings and secrets. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How much of what the program said about its failure is repeated. */
const STDERR_BYTES = 2_048;
const MOST_REPLY_BYTES = 1_048_576;
/** A program that was told to end gets this long before it is ended. */
const KILL_AFTER_MS = 1_000;

/** `--strict-mcp-config` keeps the child from loading MCP servers, ours included, which would ask a judge again. */
const argumentsOf = ({ backend, model }: CliProgram): string[] =>
  backend === "claude_cli"
    ? ["--model", model, "--print", "--output-format", "json", "--strict-mcp-config"]
    : ["--model", model, "--output-format", "json"];

export const cliChat = (program: CliProgram): Chat => ({
  backend: program.backend,
  model: program.model,
  async complete({ prompt }, signal) {
    const what = `The ${program.backend === "claude_cli" ? "claude" : "gemini"} program`;
    try {
      signal.throwIfAborted();
      return envelope(what, await run(what, program, prompt, signal));
    } catch (error) {
      throw chatFailure(what, error, signal);
    }
  },
});

async function run(what: string, program: CliProgram, prompt: string, signal: AbortSignal): Promise<string> {
  const child = Bun.spawn([program.path, ...argumentsOf(program)], {
    stdin: new Blob([prompt]),
    stdout: "pipe",
    stderr: "pipe",
    env: { ...program.environment },
  });
  let kill: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    child.kill("SIGTERM");
    kill = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
  };
  signal.addEventListener("abort", end, { once: true });
  try {
    const [reply, complaint, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    signal.throwIfAborted();
    // Redacted first: a token that the cut splits would escape its pattern.
    if (code !== 0) throw unavailable(`${what} ended with status ${code}: ${lastBytes(redact(complaint).trim())}`);
    if (reply.length > MOST_REPLY_BYTES) throw unavailable(`${what} answered with more than ${MOST_REPLY_BYTES} characters.`);
    return reply;
  } finally {
    signal.removeEventListener("abort", end);
    clearTimeout(kill);
  }
}

function lastBytes(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return bytes.length <= STDERR_BYTES
    ? text || "it said nothing."
    : new TextDecoder().decode(bytes.subarray(-STDERR_BYTES)).replace(/^�+/, "");
}

/** `{"type":"result","is_error":…,"result":"…"}` of claude, `{"response":"…"}` of gemini; anything else is the reply itself. */
function envelope(what: string, reply: string): string {
  let json: unknown;
  try {
    json = JSON.parse(reply);
  } catch {
    return reply;
  }
  if (typeof json !== "object" || json === null) return reply;
  if (Reflect.get(json, "is_error") === true) throw unavailable(`${what} reported an error of its own instead of a reply.`);
  const text: unknown = Reflect.get(json, "result") ?? Reflect.get(json, "response");
  return typeof text === "string" ? text : reply;
}

const WINDOWS_EXTENSIONS = ["", ".exe", ".cmd", ".bat"];

/**
 * Where a program lies: a path (with a separator) counts if it is an executable file, a name is looked for along `PATH`. Nothing is started.
 * @param searchPath the value of `PATH`.
 */
export function findProgram(name: string, searchPath: string, platform: NodeJS.Platform = process.platform): string | undefined {
  const extensions = platform === "win32" ? WINDOWS_EXTENSIONS : [""];
  const places = isAbsolute(name) || /[\\/]/.test(name) ? [""] : searchPath.split(delimiter).filter((place) => place !== "");
  for (const place of places) {
    const found = extensions.map((extension) => (place === "" ? name : join(place, name)) + extension).find(isExecutable);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    if (!statSync(path).isFile()) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
