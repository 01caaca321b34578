/** One version everywhere, and one set of public metadata: whoever bumps a single manifest sees red here. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { z } from "zod";
import { VERSION } from "../../src/kernel/version.ts";

const root = resolve(import.meta.dir, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

const manifest = z.looseObject({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  mcpName: z.string().optional(),
  bin: z.record(z.string(), z.string()).optional(),
  files: z.array(z.string()).optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
});
const npm = (file: string) => manifest.parse(JSON.parse(read(file)));
const project = z.looseObject({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  "requires-python": z.string(),
  dependencies: z.array(z.string()).optional(),
  scripts: z.record(z.string(), z.string()),
});
const pypi = (file: string) => project.parse(z.looseObject({ project: z.unknown() }).parse(Bun.TOML.parse(read(file))).project);

const variable = z.strictObject({
  name: z.string(),
  description: z.string().min(1),
  isRequired: z.boolean(),
  isSecret: z.boolean(),
  format: z.enum(["string", "number", "boolean", "filepath"]),
  default: z.string().optional(),
});
const server = z
  .strictObject({
    $schema: z.literal("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
    name: z.string().regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
    title: z.string().max(100),
    description: z.string().min(1).max(100),
    repository: z.strictObject({ url: z.url(), source: z.literal("github") }),
    version: z.string(),
    packages: z.array(
      z.strictObject({
        registryType: z.enum(["npm", "pypi"]),
        identifier: z.string(),
        version: z.string(),
        transport: z.strictObject({ type: z.literal("stdio") }),
        environmentVariables: z.array(variable),
      }),
    ),
  })
  .parse(JSON.parse(read("server.json")));

test("the version is a plain one", () => {
  expect(VERSION).toMatch(/^\d+\.\d+\.\d+$/);
});

test.each([
  ["package.json", () => npm("package.json").version],
  ["npm-wrapper/package.json", () => npm("npm-wrapper/package.json").version],
  ["npm-wrapper/alias/package.json", () => npm("npm-wrapper/alias/package.json").version],
  ["what the npm alias depends on", () => npm("npm-wrapper/alias/package.json").dependencies?.["memory-industry"]],
  ["npm-wrapper/digests.json", () => JSON.parse(read("npm-wrapper/digests.json")).version],
  ["python-wrapper/pyproject.toml", () => pypi("python-wrapper/pyproject.toml").version],
  ["python-wrapper/alias/pyproject.toml", () => pypi("python-wrapper/alias/pyproject.toml").version],
  ["what the pip alias depends on", () => pypi("python-wrapper/alias/pyproject.toml").dependencies?.[0]?.replace("memory-industry==", "")],
  ["memory_industry.__version__", () => /__version__ = "([^"]+)"/.exec(read("python-wrapper/src/memory_industry/__init__.py"))?.[1]],
  ["memory_industry/digests.json", () => JSON.parse(read("python-wrapper/src/memory_industry/digests.json")).version],
  ["server.json", () => server.version],
  ["each package of server.json", () => [...new Set(server.packages.map(({ version }) => version))].join()],
])("%s says the version of the program", (_where, version) => {
  expect(version()).toBe(VERSION);
});

test("both shims carry the same digests", () => {
  expect(read("python-wrapper/src/memory_industry/digests.json")).toBe(read("npm-wrapper/digests.json"));
});

test("the names of the registry entry, the npm packages and the readmes agree", () => {
  for (const file of ["npm-wrapper/package.json", "npm-wrapper/alias/package.json"]) expect(npm(file).mcpName).toBe(server.name);
  for (const folder of ["npm-wrapper", "npm-wrapper/alias", "python-wrapper", "python-wrapper/alias"]) {
    expect(read(`${folder}/README.md`)).toStartWith(`<!-- mcp-name: ${server.name} -->\n`);
  }
  expect(server.packages.map(({ registryType, identifier }) => `${registryType} ${identifier}`)).toEqual([
    "npm memory-industry",
    "pypi memory-industry",
  ]);
});

test("nothing has to be set, and the database URL is a secret", () => {
  for (const { environmentVariables } of server.packages) {
    expect(environmentVariables.filter(({ isRequired }) => isRequired)).toEqual([]);
    expect(environmentVariables.find(({ name }) => name === "DATABASE_URL")?.isSecret).toBe(true);
  }
});

test("every package has the licence of the repository, the same programs, and only files that exist", () => {
  const licence = read("LICENSE");
  expect(licence).toContain("Apache License");
  for (const folder of ["npm-wrapper", "npm-wrapper/alias"]) {
    const { bin, files, license } = npm(`${folder}/package.json`);
    expect(license).toBe("Apache-2.0");
    expect(Object.keys(bin ?? {}).sort()).toEqual(["cuba-memorys", "memory-industry"]);
    expect([...Object.values(bin ?? {}), ...(files ?? [])].filter((file) => !existsSync(join(root, folder, file)))).toEqual([]);
    expect(read(`${folder}/LICENSE`)).toBe(licence);
    expect(read(`${folder}/server.json`)).toBe(read("server.json"));
  }
  for (const folder of ["python-wrapper", "python-wrapper/alias"]) {
    const { license, scripts, "requires-python": python } = pypi(`${folder}/pyproject.toml`);
    expect(license).toBe("Apache-2.0");
    expect(python).toBe(">=3.9");
    expect(scripts).toEqual({ "memory-industry": "memory_industry.shim:main", "cuba-memorys": "memory_industry.shim:main" });
    expect(read(`${folder}/LICENSE`)).toBe(licence);
  }
});
