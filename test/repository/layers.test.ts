/** Imports go one way. The table is the line of docs/architecture.md, top to bottom; a file may import its own layer and those below. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const src = resolve(import.meta.dir, "../../src");

/** Top to bottom. Layers of one line may use each other, except those of `apart`. */
const LINES = [
  ["main"],
  ["app"],
  ["cli", "transports", "daemon", "panel", "doctor"],
  ["mcp"],
  ["tools"],
  ["sync"],
  ["services"],
  ["store", "inference", "llm", "parsing", "web"],
  ["domain"],
  ["kernel"],
] as const;

/** Adapters that must not know each other although they stand on one line. */
const APART = new Set<string>(["store", "inference", "llm", "parsing", "web"]);

/** `config` is loaded by the composition root only, everybody else receives values; it stands on the rules below it. */
const CONFIG = { usedBy: ["main", "app"], uses: ["domain", "kernel"] };
/** `cube` is loaded by `app` alone and may use everything from the tool definition down. */
const CUBE = {
  usedBy: ["main", "app"],
  uses: ["tools", "sync", "services", "store", "inference", "llm", "parsing", "web", "domain", "kernel"],
};

/** Packages that belong behind one port: what is wrapped there can be replaced there. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "@electric-sql/": ["store", "app"],
  "drizzle-orm": ["store"],
  postgres: ["store"],
  "onnxruntime-node": ["inference", "app"],
  "@huggingface/tokenizers": ["inference"],
  "@modelcontextprotocol/sdk": ["mcp"],
  "web-tree-sitter": ["parsing"],
  citty: ["cli"],
  consola: ["cli"],
};

const lineOf = (layer: string) => LINES.findIndex((line) => line.some((name) => name === layer));

function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  if (to === "config") return CONFIG.usedBy.includes(from);
  if (to === "cube") return CUBE.usedBy.includes(from);
  if (from === "config") return CONFIG.uses.includes(to);
  if (from === "cube") return CUBE.uses.includes(to);
  if (APART.has(from) && APART.has(to)) return false;
  return lineOf(to) >= lineOf(from);
}

const layerOf = (file: string) => relative(src, file).replaceAll("\\", "/").replace(/\.ts$/, "").split("/")[0] ?? "";

interface Import {
  readonly file: string;
  readonly layer: string;
  readonly specifier: string;
}

/** Types count too: a layer that knows another's types knows the other. */
function importsOf(file: string): Import[] {
  const text = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
  const found = text.matchAll(/(?:^|[;\n])\s*(?:import|export)\s+[^;"'`]*?\bfrom\s*["']([^"']+)["']|\bimport\s*\(?\s*["']([^"']+)["']/g);
  return [...found].map(([, from, bare]) => ({
    file: relative(src, file).replaceAll("\\", "/"),
    layer: layerOf(file),
    specifier: from ?? bare ?? "",
  }));
}

const files = [...new Bun.Glob("**/*.ts").scanSync({ cwd: src })].map((file) => join(src, file));
const imports = files.flatMap(importsOf);

describe("layers", () => {
  test("every folder of src is a layer of the table", () => {
    const known = [...LINES.flat(), "config", "cube"];
    expect(files.map(layerOf).filter((layer) => !known.some((name) => name === layer))).toEqual([]);
  });

  test("imports inside src go downwards only", () => {
    const wrong = imports
      .filter(({ specifier }) => specifier.startsWith("."))
      .map((found) => ({ ...found, path: relative(src, resolve(src, dirname(found.file), found.specifier)).replaceAll("\\", "/") }))
      .filter(({ layer, path }) => !path.startsWith("..") && !mayImport(layer, layerOf(join(src, path))))
      .map(({ file, specifier }) => `${file} imports ${specifier}`);
    expect(wrong).toEqual([]);
  });

  test("a package that is wrapped by one layer is imported by no other", () => {
    const wrong = imports.flatMap(({ file, layer, specifier }) => {
      const name = Object.keys(PACKAGES).find(
        (prefix) => specifier === prefix || specifier.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`),
      );
      return name === undefined || PACKAGES[name]?.includes(layer) ? [] : [`${file} imports ${specifier}`];
    });
    expect(wrong).toEqual([]);
  });

  test("the rule itself tells upwards from downwards", () => {
    expect(mayImport("tools", "services")).toBe(true);
    expect(mayImport("services", "tools")).toBe(false);
    expect(mayImport("cli", "doctor")).toBe(true);
    expect(mayImport("store", "inference")).toBe(false);
    expect(mayImport("services", "config")).toBe(false);
    expect(mayImport("app", "config")).toBe(true);
    expect(mayImport("config", "store")).toBe(false);
    expect(mayImport("tools", "cube")).toBe(false);
    expect(mayImport("cli", "config")).toBe(false);
  });

  test("imports are found in every form in which they are written", () => {
    expect(imports.some(({ file, specifier }) => file === "cli/run.ts" && specifier === "../kernel/errors.ts")).toBe(true);
    expect(imports.some(({ file, specifier }) => file === "daemon/served-app.ts" && specifier === "../mcp/connection.ts")).toBe(true);
    expect(imports.some(({ file, specifier }) => file === "app/gateway.ts" && specifier === "./compose.ts")).toBe(true);
  });
});
