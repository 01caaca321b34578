/** `setup check`: what the clients of this user have, and where they disagree. Reads files, starts nothing. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { present } from "../../kernel/errors.ts";
import { isRecord } from "../../kernel/is-record.ts";
import { type Client, clients, fileOf } from "./clients.ts";
import { exists, readText } from "./files.ts";
import { LEGACY_SERVER_NAME, SERVER_NAME } from "./format.ts";
import { hookBlock, hookFile, sessionHook } from "./hook.ts";

export interface ClientReport {
  readonly client: string;
  readonly file: string;
  readonly state: "configured" | "not configured" | "unreadable";
  readonly problems: readonly string[];
}

export interface CheckReport {
  readonly healthy: boolean;
  readonly clients: readonly ClientReport[];
  /** Values in which clients disagree: they work on different memories, or with different vectors. */
  readonly divergences: readonly {
    readonly variable: string;
    readonly serious: boolean;
    readonly values: Readonly<Record<string, string>>;
  }[];
}

/** Values that must be the same everywhere, with what stands where a client does not set them. */
const shared: readonly { readonly names: readonly string[]; readonly standard: string; readonly serious: boolean }[] = [
  { names: ["DATABASE_URL"], standard: "(embedded)", serious: false },
  { names: ["MEMORY_INDUSTRY_DATA_DIR", "CUBA_DATA_DIR"], standard: "(standard)", serious: false },
  { names: ["ONNX_MODEL_PATH"], standard: "(standard)", serious: false },
  { names: ["ORT_DYLIB_PATH"], standard: "(embedded)", serious: false },
  // Another dimension or model: that client's search becomes lexical without a sign.
  { names: ["MEMORY_INDUSTRY_EMBEDDING_DIM", "CUBA_EMBEDDING_DIM"], standard: "384", serious: true },
  { names: ["MEMORY_INDUSTRY_EMBED_MODEL", "CUBA_EMBED_MODEL"], standard: "multilingual-e5-small", serious: true },
];
const pathNames = ["ONNX_MODEL_PATH", "ORT_DYLIB_PATH"];

/** Directories whose projects are looked at for an `.mcp.json`, and how far: a home with thousands of checkouts must not make this slow. */
const projectRoots = ["projects", "proyectos"];
const MOST_PROJECTS = 200;
const MOST_SUBDIRECTORIES = 100;

type Entry = Readonly<Record<string, unknown>>;

function environmentOf(entry: Entry): Readonly<Record<string, string>> {
  return isRecord(entry.env) ? Object.fromEntries(Object.entries(entry.env).map(([name, value]) => [name, String(value)])) : {};
}

function problemsOf(entry: unknown): string[] {
  if (!isRecord(entry)) return ["the entry is no object"];
  const problems: string[] = [];
  if (typeof entry.url === "string") {
    const headers = isRecord(entry.headers) ? entry.headers : isRecord(entry.http_headers) ? entry.http_headers : {};
    if (!Object.keys(headers).some((name) => name.toLowerCase() === "mcp-client-id"))
      problems.push("reached over HTTP without an Mcp-Client-Id header, so it has no session of its own");
    return problems;
  }
  if (typeof entry.command !== "string") return ["the entry has neither a command nor a url"];
  if (isAbsolute(entry.command) && !existsSync(entry.command)) problems.push(`the program ${entry.command} does not exist`);
  const env = environmentOf(entry);
  for (const name of pathNames) {
    const path = env[name];
    if (path !== undefined && path.trim() !== "" && !existsSync(path)) problems.push(`${name}=${path} does not exist`);
  }
  for (const [name, value] of Object.entries(env)) if (value.trim() === "") problems.push(`${name} is empty`);
  return problems;
}

interface Looked {
  readonly report: ClientReport;
  readonly entry: Entry | undefined;
}

async function look(name: string, file: string, client: Pick<Client, "format">): Promise<Looked> {
  try {
    const text = await readText(file);
    const found = text === undefined ? undefined : client.format.find(text, file);
    const legacy =
      found?.servers[LEGACY_SERVER_NAME] === undefined ? [] : [`still has the entry '${LEGACY_SERVER_NAME}' of the earlier generation`];
    if (found?.entry === undefined) return { report: { client: name, file, state: "not configured", problems: legacy }, entry: undefined };
    return {
      report: { client: name, file, state: "configured", problems: [...problemsOf(found.entry), ...legacy] },
      entry: isRecord(found.entry) ? found.entry : undefined,
    };
  } catch (error) {
    return { report: { client: name, file, state: "unreadable", problems: [present(error).text] }, entry: undefined };
  }
}

/** `.mcp.json` files one and two levels below the project roots. */
async function projectFiles(home: string): Promise<string[]> {
  const directories = async (parent: string, most: number) =>
    (await readdir(parent, { withFileTypes: true }).catch(() => []))
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(parent, entry.name))
      .sort()
      .slice(0, most);
  const found: string[] = [];
  for (const root of projectRoots)
    for (const project of await directories(join(home, root), MOST_PROJECTS))
      for (const place of [project, ...(await directories(project, MOST_SUBDIRECTORIES))])
        if (await exists(join(place, ".mcp.json"))) found.push(join(place, ".mcp.json"));
  return found;
}

/** The hook is no client: it has a state and no entry whose values could differ. */
async function lookAtHook(home: string, program: readonly string[], platform: string): Promise<ClientReport> {
  const file = hookFile(home);
  const client = "Session hook";
  try {
    const text = await readText(file);
    const entry = text === undefined ? undefined : sessionHook(hookBlock(program, platform)).find(text, file).entry;
    return { client, file, state: entry === undefined ? "not configured" : "configured", problems: [] };
  } catch (error) {
    return { client, file, state: "unreadable", problems: [present(error).text] };
  }
}

/**
 * Looks at every client of this user, and at Claude Code's session-start hook.
 * @param program how this program is started, by which a hook is known as ours
 */
export async function checkClients(home: string, program: readonly string[], platform: string): Promise<CheckReport> {
  const looked = await Promise.all(clients.map((client) => look(client.title, fileOf(client, home), client)));
  const [project] = clients.filter(({ id }) => id === "mcp");
  if (project !== undefined) {
    const files = await Promise.all((await projectFiles(home)).map((file) => look(file, file, project)));
    looked.push(...files.filter(({ report }) => report.state !== "not configured" || report.problems.length > 0));
  }
  const processes = looked.filter(({ entry }) => entry !== undefined && typeof entry.url !== "string");
  const divergences = shared.flatMap(({ names, standard, serious }) => {
    const values = Object.fromEntries(
      processes.map(({ report, entry }): [string, string] => {
        const env = environmentOf(entry ?? {});
        const set = names.map((name) => env[name]?.trim()).find((value) => value !== undefined && value !== "");
        return [report.client, set ?? standard];
      }),
    );
    return new Set(Object.values(values)).size > 1
      ? [{ variable: names.at(-1) ?? SERVER_NAME, serious, values: hidePasswords(values) }]
      : [];
  });
  const reports = [...looked.map(({ report }) => report), await lookAtHook(home, program, platform)];
  return { healthy: divergences.length === 0 && reports.every(({ problems }) => problems.length === 0), clients: reports, divergences };
}

const hidePasswords = (values: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).map(([client, value]) => [client, value.replace(/^([a-z]+:\/\/[^/@:]*):[^/]*@/i, "$1:***@")]));
