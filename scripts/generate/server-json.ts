/** `server.json` of the MCP registry (schema 2025-12-11), with copies inside the npm packages. Variables come from the one table. */
import npmPackage from "../../npm-wrapper/package.json" with { type: "json" };
import { describeVariable, namesOf, variableNames } from "../../src/config/variables.ts";
import { VERSION } from "../../src/kernel/version.ts";
import type { GeneratedFile } from "./file.ts";

/** Names that are ours, or that every user of PostgreSQL knows; HOSTNAME and its like are read too but are nobody's to set here. */
const offered = /^(MEMORY_INDUSTRY_|DATABASE_URL$|ONNX_MODEL_PATH$)/;

const environmentVariables = variableNames
  .map((key) => ({ name: namesOf(key)[0], variable: describeVariable(key) }))
  .filter(({ name }) => offered.test(name))
  .map(({ name, variable }) => ({
    name,
    description: `${variable.doc} (${variable.default === undefined ? `unset: ${variable.unset}` : variable.is.expected})`,
    isRequired: false,
    isSecret: variable.secret === true,
    format: variable.is.format,
    ...(variable.default === undefined || variable.default === "" ? {} : { default: String(variable.default) }),
  }));

const packageOf = (registryType: "npm" | "pypi", identifier: string) => ({
  registryType,
  identifier,
  version: VERSION,
  transport: { type: "stdio" },
  environmentVariables,
});

const server = {
  $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  name: npmPackage.mcpName,
  title: "MemoryIndustry",
  description: npmPackage.description,
  repository: { url: "https://github.com/memory-industry/memory-industry", source: "github" },
  version: VERSION,
  packages: [packageOf("npm", "memory-industry"), packageOf("pypi", "memory-industry")],
};

const content = `${JSON.stringify(server, null, 2)}\n`;

/** npm packs what lies in a package's own folder only. */
export const serverJson = (): GeneratedFile[] =>
  ["server.json", "npm-wrapper/server.json", "npm-wrapper/alias/server.json"].map((path) => ({ path, content }));
