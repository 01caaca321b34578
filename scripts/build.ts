/**
 * `npm run build`: src/main.ts and everything it needs as one executable, dist/memory-industry.
 *   --target=NAME   another platform (scripts/targets.ts): dist/memory-industry-NAME; `--target=all` builds every one
 *   --entry=FILE --outfile=FILE   another program with the same files inside (tests)
 * Nothing but the npm registry is asked: the Bun of another platform comes from its npm package, with the digest of bun.lock.
 */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { devDependencies } from "../package.json" with { type: "json" };
import { GRAMMAR_RUNTIME, grammarFile, LAYOUT, openAssets, TEMPLATE_FILE } from "../src/app/assets.ts";
import { grammars } from "../src/domain/code/languages.ts";
import { lockedIntegrity, npmPackage } from "./npm-package.ts";
import { root } from "./run.ts";
import { hostTarget, type Target, targets } from "./targets.ts";

const ENGINE_FILES = [
  "@electric-sql/pglite/dist/pglite.wasm",
  "@electric-sql/pglite/dist/pglite.data",
  "@electric-sql/pglite/dist/pg_trgm.tar.gz",
  "@electric-sql/pglite-pgvector/dist/vector.tar.gz",
];

/** Code that runs in a thread of its own is an entry point of its own. */
const workers = () => [...new Bun.Glob("src/**/worker.ts").scanSync({ cwd: root })].map((file) => join(root, file)).sort();

/** Lays the files out as src/app/assets.ts expects them. */
function stage(folder: string, target: Target, template: Uint8Array): void {
  const put = (part: string, file: string) => {
    mkdirSync(join(folder, part), { recursive: true });
    copyFileSync(file, join(folder, part, basename(file)));
  };
  for (const file of ENGINE_FILES) put(LAYOUT.engine, join(root, "node_modules", file));
  for (const file of [GRAMMAR_RUNTIME, ...grammars.map(grammarFile)]) put(LAYOUT.grammars, join(root, "node_modules", file));
  mkdirSync(join(folder, LAYOUT.template), { recursive: true });
  writeFileSync(join(folder, LAYOUT.template, TEMPLATE_FILE), template);
  const runtime =
    target.runtimeFrom === undefined
      ? join(root, "node_modules", "onnxruntime-node")
      : npmPackage("onnxruntime-node", target.runtimeFrom.version, target.runtimeFrom.integrity);
  for (const file of target.runtimeFiles) put(LAYOUT.runtime, join(runtime, "bin", "napi-v6", target.runtimeFolder, file));
}

/**
 * The npm package opens its native library beside its own JavaScript. Inside an executable there is no beside: extract the library and the binding to the
 * directory that `src/inference/onnx/runtime.ts` names, once, and open it from there.
 */
const embeddedRuntime: Bun.BunPlugin = {
  name: "embedded onnxruntime",
  setup(build) {
    build.onLoad({ filter: /onnxruntime-node[\\/]dist[\\/]binding\.js$/ }, async ({ path }) => {
      const original = await Bun.file(path).text();
      const opened = original.replace(/require\(`\.\.\/bin\/napi-v6\/[^`]+`\)/, "openBinding()");
      if (opened === original)
        throw new Error("onnxruntime-node opens its native binding in another way than expected: see scripts/build.ts");
      const helper = JSON.stringify(join(root, "src", "kernel", "embedded.ts"));
      return {
        loader: "js",
        contents: `
const { join } = require("node:path");
const { embeddedFolder, writeFolderOnce } = require(${helper});
function openBinding() {
  const directory = globalThis[Symbol.for("memory-industry.onnxruntime.directory")];
  if (directory === undefined) throw new Error("no directory to extract the ONNX runtime to");
  writeFolderOnce(join(embeddedFolder(), ${JSON.stringify(LAYOUT.runtime)}), directory);
  const holder = { exports: {} };
  process.dlopen(holder, join(directory, "onnxruntime_binding.node"));
  return holder.exports;
}
${opened}`,
      };
    });
  },
};

export interface Built {
  readonly file: string;
  readonly sizeBytes: number;
}

/** Builds one executable. @throws Error with the bundler's messages. */
/** The commit of the sources; undefined outside of a clone (an archive of the sources is built too). */
function commit(): string | undefined {
  const asked = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], { cwd: root, stderr: "ignore" });
  return asked.exitCode === 0 ? asked.stdout.toString().trim() : undefined;
}

export async function build(target: Target, entry: string, outfile: string): Promise<Built> {
  mkdirSync(join(root, ".cache"), { recursive: true });
  const work = mkdtempSync(join(root, ".cache", "build-"));
  try {
    const assets = join(work, "assets");
    stage(assets, target, await openAssets(undefined).template());
    const host = hostTarget();
    const executablePath =
      target.name === host?.name
        ? process.execPath
        : join(
            npmPackage(target.bunPackage, devDependencies.bun, lockedIntegrity(target.bunPackage, devDependencies.bun)),
            target.executable,
          );
    const result = await Bun.build({
      entrypoints: [join(root, entry), ...workers()],
      root,
      // Separate chunks, loaded when first imported: the bridge and --version never parse the server.
      splitting: true,
      // Parsed at build time: 8 MB more, half the time to start (12 ms of processor for --version, 24 without).
      bytecode: true,
      format: "esm",
      minify: { whitespace: true, syntax: true },
      plugins: [embeddedRuntime],
      define: { BUILD_COMMIT: JSON.stringify(commit()) ?? "undefined" },
      compile: {
        target: `bun-${target.name}` as Bun.Build.CompileTarget,
        executablePath,
        outfile,
        assets: [relative(process.cwd(), assets)],
        // The program starts in other people's projects: their .env and bunfig.toml are none of its business.
        autoloadDotenv: false,
        autoloadBunfig: false,
        autoloadTsconfig: false,
        autoloadPackageJson: false,
      },
    });
    if (!result.success) throw new Error(result.logs.join("\n"));
    const file = target.name.startsWith("windows") && !outfile.endsWith(".exe") ? `${outfile}.exe` : outfile;
    if (!target.name.startsWith("windows")) chmodSync(file, 0o755);
    return { file, sizeBytes: statSync(file).size };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { target: { type: "string" }, entry: { type: "string" }, outfile: { type: "string" } },
    strict: true,
  });
  const host = hostTarget();
  const named = values.target === undefined ? host : targets.find(({ name }) => name === values.target);
  const chosen = values.target === "all" ? targets : named === undefined ? [] : [named];
  if (chosen.length === 0)
    throw new Error(
      `no such target: ${values.target ?? `${process.platform}-${process.arch}`}. There are ${targets.map(({ name }) => name).join(", ")}, all`,
    );
  for (const target of chosen) {
    const standard = values.target === undefined ? "dist/memory-industry" : `dist/memory-industry-${target.name}`;
    const { file, sizeBytes } = await build(target, values.entry ?? "src/main.ts", join(root, values.outfile ?? standard));
    console.log(`${relative(root, file)}  ${Math.round(sizeBytes / 1_000_000)} MB`);
  }
}

if (import.meta.main) await main();
