/**
 * The files that the program carries, handed out in one place: from `node_modules` when it runs from source, from inside itself when it is compiled
 * (`scripts/build.ts` lays them out as {@link LAYOUT} says). The layers below receive them as values and never ask where they come from.
 */
import { basename, join } from "node:path";
import { dependencies } from "../../package.json" with { type: "json" };
import type { Grammar } from "../domain/code/languages.ts";
import { runtimeFolder } from "../inference/onnx/place.ts";
import { embeddedFolder, writeOnce } from "../kernel/embedded.ts";
import { unavailable } from "../kernel/errors.ts";
import type { GrammarFiles } from "../parsing/parser.ts";
import { type EngineAssets, installedAssets } from "../store/embedded/assets.ts";
import { digestOf } from "../store/migrate.ts";
import { grants, migrations } from "../store/migrations.ts";

/** Folders below `assets/` of a compiled program. */
export const LAYOUT = { engine: "pglite", runtime: "onnxruntime", template: "template", grammars: "grammars" } as const;
/** The archive below `LAYOUT.template`. */
export const TEMPLATE_FILE = "pgdata.tar.zst";

const ENGINE_VERSION = `${dependencies["@electric-sql/pglite"]}-${dependencies["@electric-sql/pglite-pgvector"]}`;

export interface Assets {
  /** The program is one compiled file. */
  readonly compiled: boolean;
  /** PGlite, its WebAssembly compiled now. The extension archives must be real files: a compiled program writes them to `cacheRoot`, once. */
  engine(cacheRoot: string): Promise<EngineAssets>;
  /** The pre-initialised data directory as an archive (`scripts/template.ts`). From source it is made once a schema. */
  readonly template: () => Promise<Uint8Array>;
  /** The parsers of `codegraph`. */
  readonly grammars: GrammarFiles;
  /** Where the ONNX runtime's native library is to be extracted; undefined from source, where the package finds its own. */
  runtimeDirectory(cacheRoot: string): string | undefined;
}

const read = async (file: string) => new Uint8Array(await Bun.file(file).arrayBuffer());

const ROOT = join(import.meta.dir, "..", "..");

/** Where the archive of this checkout's schema is kept. The name follows the schema, so another one never passes for it. */
export function sourceTemplate(): string {
  const digest = new Bun.CryptoHasher("sha256").update([...migrations.map(digestOf), grants, ENGINE_VERSION].join("\n")).digest("hex");
  return join(ROOT, ".cache", `pgdata-${digest.slice(0, 16)}.tar.zst`);
}

/** The archive of this checkout: made while it was installed, or now, where the schema has changed since; the script says so on standard error. */
async function templateFromSource(): Promise<Uint8Array> {
  const file = sourceTemplate();
  if (!(await Bun.file(file).exists())) {
    const script = Bun.spawn({
      cmd: [process.execPath, join(ROOT, "scripts", "template.ts"), "--prepare"],
      // Bun reads .env and bunfig.toml of the directory it starts in, and ours is somebody's project.
      cwd: ROOT,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
    });
    if ((await script.exited) !== 0)
      throw unavailable(
        "The template of the embedded database could not be made, so there is no database yet. Nothing was written. 'bun scripts/template.ts --prepare' says why.",
      );
  }
  return await read(file);
}

/** The parsers of `codegraph` below `node_modules`. */
export const GRAMMAR_RUNTIME = "web-tree-sitter/web-tree-sitter.wasm";
export const grammarFile = (grammar: Grammar): string => `@vscode/tree-sitter-wasm/wasm/tree-sitter-${grammar}.wasm`;

const grammarsIn = (place: (file: string) => string): GrammarFiles => ({
  runtime: () => read(place(GRAMMAR_RUNTIME)),
  grammar: (grammar) => read(place(grammarFile(grammar))),
});

/** `folder` is where the files of a compiled program lie; undefined means that the program runs from source. */
export function openAssets(folder: string | undefined = embeddedFolder()): Assets {
  if (folder === undefined) {
    return {
      compiled: false,
      engine: () => installedAssets(),
      template: templateFromSource,
      grammars: grammarsIn((file) => join(ROOT, "node_modules", file)),
      runtimeDirectory: () => undefined,
    };
  }
  const part = (name: string) => join(folder, LAYOUT.engine, name);
  const real = (cacheRoot: string, name: string) => writeOnce(part(name), join(cacheRoot, LAYOUT.engine, ENGINE_VERSION, name));
  return {
    compiled: true,
    template: () => read(join(folder, LAYOUT.template, TEMPLATE_FILE)),
    grammars: grammarsIn((file) => join(folder, LAYOUT.grammars, basename(file))),
    async engine(cacheRoot) {
      return {
        engine: await WebAssembly.compile(await Bun.file(part("pglite.wasm")).arrayBuffer()),
        bundle: Bun.file(part("pglite.data")),
        extensions: { vector: real(cacheRoot, "vector.tar.gz"), pg_trgm: real(cacheRoot, "pg_trgm.tar.gz") },
      };
    },
    runtimeDirectory: runtimeFolder,
  };
}
