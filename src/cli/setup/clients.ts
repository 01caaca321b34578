/** The clients that setup knows: one row each. */
import { join } from "node:path";
import type { Format } from "./format.ts";
import { jsonServers } from "./json-servers.ts";
import { codexServers } from "./toml-servers.ts";

export interface Client {
  /** What is typed: `setup cursor`. */
  readonly id: string;
  readonly title: string;
  /** Its configuration file, relative to the home directory. */
  readonly file: readonly string[];
  readonly format: Format;
  /** How an entry for a server that runs already is written. */
  readonly http: (url: string, headers: Readonly<Record<string, string>>) => Readonly<Record<string, unknown>>;
}

const typedHttp: Client["http"] = (url, headers) => ({ type: "http", url, headers });

export const clients: readonly Client[] = [
  { id: "claude", title: "Claude Code", file: [".claude.json"], format: jsonServers("mcpServers"), http: typedHttp },
  {
    id: "cursor",
    title: "Cursor",
    file: [".cursor", "mcp.json"],
    format: jsonServers("mcpServers"),
    http: (url, headers) => ({ url, headers }),
  },
  {
    id: "codex",
    title: "Codex",
    file: [".codex", "config.toml"],
    format: codexServers,
    http: (url, headers) => ({ url, http_headers: headers }),
  },
  { id: "mcp", title: "~/.mcp.json", file: [".mcp.json"], format: jsonServers("mcpServers"), http: typedHttp },
  {
    id: "warp",
    title: "Warp",
    file: [".warp", ".mcp.json"],
    format: jsonServers("mcpServers"),
    http: (url, headers) => ({ url, headers }),
  },
];

export const fileOf = (client: Client, home: string): string => join(home, ...client.file);
