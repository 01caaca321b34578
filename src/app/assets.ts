/**
 * The files that the program carries, handed out in one place: from `node_modules` when it runs from source, from inside itself when it is compiled
 * (`scripts/build.ts` lays them out as {@link LAYOUT} says). The layers below receive them as values and never ask where they come from.
 */
import { join } from "node:path";
import { dependencies } from "../../package.json" with { type: "json" };
import { embeddedFolder, writeOnce } from "../kernel/embedded.ts";
import { type EngineAssets, installedAssets } from "../store/embedded/assets.ts";

/** Folders below `assets/` of a compiled program. */
export const LAYOUT = { engine: "pglite", runtime: "onnxruntime", template: "template" } as const;
/** The archive below `LAYOUT.template`. */
export const TEMPLATE_FILE = "database.tar.zst";

const ENGINE_VERSION = `${dependencies["@electric-sql/pglite"]}-${dependencies["@electric-sql/pglite-pgvector"]}`;
const RUNTIME_VERSION: string = dependencies["onnxruntime-node"];

export interface Assets {
  /** The program is one compiled file. */
  readonly compiled: boolean;
  /** PGlite, its WebAssembly compiled now. The extension archives must be real files: a compiled program writes them to `cacheRoot`, once. */
  engine(cacheRoot: string): Promise<EngineAssets>;
  /** The pre-initialised data directory as an archive; undefined from source, where the first start runs initdb. */
  readonly template: (() => Promise<Uint8Array>) | undefined;
  /** Where the ONNX runtime's native library is to be extracted; undefined from source, where the package finds its own. */
  runtimeDirectory(cacheRoot: string): string | undefined;
}

/** `folder` is where the files of a compiled program lie; undefined means that the program runs from source. */
export function openAssets(folder: string | undefined = embeddedFolder()): Assets {
  if (folder === undefined) {
    return { compiled: false, engine: () => installedAssets({ initdb: true }), template: undefined, runtimeDirectory: () => undefined };
  }
  const part = (name: string) => join(folder, LAYOUT.engine, name);
  const real = (cacheRoot: string, name: string) => writeOnce(part(name), join(cacheRoot, LAYOUT.engine, ENGINE_VERSION, name));
  return {
    compiled: true,
    template: async () => new Uint8Array(await Bun.file(join(folder, LAYOUT.template, TEMPLATE_FILE)).arrayBuffer()),
    async engine(cacheRoot) {
      return {
        engine: await WebAssembly.compile(await Bun.file(part("pglite.wasm")).arrayBuffer()),
        bundle: Bun.file(part("pglite.data")),
        extensions: { vector: real(cacheRoot, "vector.tar.gz"), pg_trgm: real(cacheRoot, "pg_trgm.tar.gz") },
      };
    },
    runtimeDirectory: (cacheRoot) => join(cacheRoot, LAYOUT.runtime, RUNTIME_VERSION),
  };
}
