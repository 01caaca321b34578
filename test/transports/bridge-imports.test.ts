/** A bridge stands behind every editor window: what it imports, each window pays in memory and start-up time. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";

const src = resolve(import.meta.dir, "../../src");

/** Files and packages that loading `entry` loads: static imports only, types apart. `import(…)` is a road taken later. */
function loadedBy(entry: string): { readonly files: string[]; readonly packages: string[] } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string) => {
    if (files.has(file)) return;
    files.add(file);
    if (!file.endsWith(".ts")) return;
    const transpiler = new Bun.Transpiler({ loader: "ts" });
    for (const { kind, path } of transpiler.scanImports(readFileSync(file, "utf8"))) {
      if (kind !== "import-statement") continue;
      if (path.startsWith(".")) visit(resolve(dirname(file), path));
      else packages.add(path);
    }
  };
  visit(entry);
  return { files: [...files].map((file) => relative(src, file)), packages: [...packages] };
}

describe("what a bridge loads", () => {
  const { files, packages } = loadedBy(resolve(src, "app/stdio.ts"));

  test("no package at all: only what Bun brings", () => {
    expect(packages.filter((name) => !name.startsWith("node:") && name !== "bun")).toEqual([]);
  });

  test("nothing of the product behind the socket", () => {
    const heavy = ["tools/", "services/", "store/", "inference/", "llm/", "web/", "domain/", "cli/", "doctor/", "panel/", "sync/", "cube/"];
    expect(files.filter((file) => heavy.some((folder) => file.startsWith(folder)))).toEqual([]);
    expect(files.filter((file) => file.startsWith("mcp/"))).toEqual(["mcp/protocol.ts"]);
    expect(files.filter((file) => file.startsWith("app/")).toSorted()).toEqual(["app/find-daemon.ts", "app/process.ts", "app/stdio.ts"]);
  });

  test("the graph is really followed", () => {
    expect(files).toContain("transports/relay.ts");
    expect(files).toContain("daemon/paths.ts");
    expect(loadedBy(resolve(src, "app/daemon.ts")).files.some((file) => file.startsWith("store/"))).toBe(true);
  });
});
