/** The entry that a client gets. */
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { Installation } from "../command.ts";
import type { Client } from "./clients.ts";
import type { Block } from "./format.ts";

export interface BlockOptions {
  /** How this program is started: absolute path, then leading arguments. */
  readonly program: readonly [string, ...string[]];
  /** Reach the running daemon over HTTP in place of starting a process. */
  readonly overHttp: boolean;
  /** Copy a database URL although it holds a password. */
  readonly withDatabaseUrl: boolean;
}

export interface Built {
  readonly block: Block;
  /** What the person should know about it. */
  readonly remarks: readonly string[];
}

/** Files that make a directory a project whose name is worth a client label. */
const projectMarks = [".git", "package.json", "Cargo.toml", "pyproject.toml", "go.mod", ".mcp.json"];

/** The working directory's name, where it is a project. */
export function clientLabel(workingDirectory: string): string | undefined {
  return projectMarks.some((mark) => existsSync(join(workingDirectory, mark))) ? basename(workingDirectory) : undefined;
}

const hasPassword = (url: string): boolean => /^[a-z]+:\/\/[^/@]*:[^/]*@/i.test(url) || /[?&]password=/i.test(url);

/** Builds the entry for one client. Nothing in it is unset here. */
export function buildBlock(client: Client, installation: Installation, options: BlockOptions): Built {
  // In the clone of this program, where a README has everybody run setup, its name would be that of every window; a client's own name says more.
  const ours = options.program.includes(join(installation.workingDirectory, "src", "main.ts"));
  const label = ours ? undefined : clientLabel(installation.workingDirectory);
  if (options.overHttp) {
    const { host, port } = installation.httpAddress.value;
    const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}/mcp`;
    return {
      block: client.http(url, { "Mcp-Client-Id": label ?? client.id }),
      remarks: [
        `It reaches ${url}: keep 'memory-industry serve' running.`,
        "Give each workspace an Mcp-Client-Id of its own.",
        ...(installation.hasHttpToken
          ? ["A token is set: add the header Authorization: Bearer … yourself; it is not copied into files."]
          : []),
      ],
    };
  }
  const [command, ...args] = options.program;
  const env: Record<string, string> = {};
  const remarks: string[] = [];
  for (const { name, value, isPath } of installation.clientVariables) {
    if (name === "DATABASE_URL" && hasPassword(value) && !options.withDatabaseUrl) {
      remarks.push("DATABASE_URL is set here and holds a password, so it was left out; --with-database-url copies it.");
      continue;
    }
    env[name] = value;
    if (isPath && !existsSync(value)) remarks.push(`${name}=${value} does not exist yet.`);
  }
  if (label !== undefined) env.MEMORY_INDUSTRY_CLIENT_ID = label;
  return { block: { command, args, env }, remarks };
}
