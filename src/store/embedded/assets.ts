/**
 * The files PGlite is made of. A compiled executable passes its embedded copies; from source they are read from `node_modules`.
 * PGlite would look for them beside its own module, which does not exist inside an executable.
 */
import { pathToFileURL } from "node:url";

export interface EngineAssets {
  /** `pglite.wasm`, compiled once a process. */
  readonly engine: WebAssembly.Module;
  /** `initdb.wasm`; only to make a new directory, which a shipped program never does (it unpacks the template). */
  readonly initdb?: WebAssembly.Module;
  /** `pglite.data`: the server's share directory. */
  readonly bundle: Blob;
  /** Real paths of the extension archives; PGlite reads them with the file system, so they cannot stay inside an executable. */
  readonly extensions: { readonly vector: string; readonly pg_trgm: string };
}

/** An executable module with nothing in it, for the one that is never run; PGlite fetches what it is not given. */
const emptyModule = () => new WebAssembly.Module(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00));
export const initdbOf = (assets: EngineAssets): WebAssembly.Module => assets.initdb ?? emptyModule();

const compile = async (file: string) => WebAssembly.compile(await Bun.file(file).arrayBuffer());

/** The assets of the installed packages; `initdb` only when asked for. */
export async function installedAssets(options: { readonly initdb?: boolean } = {}): Promise<EngineAssets> {
  const part = (name: string) => Bun.fileURLToPath(new URL(name, import.meta.resolve("@electric-sql/pglite")));
  const [engine, initdb] = await Promise.all([compile(part("pglite.wasm")), options.initdb ? compile(part("initdb.wasm")) : undefined]);
  return {
    engine,
    ...(initdb === undefined ? {} : { initdb }),
    bundle: Bun.file(part("pglite.data")),
    extensions: {
      vector: Bun.fileURLToPath(new URL("vector.tar.gz", import.meta.resolve("@electric-sql/pglite-pgvector"))),
      pg_trgm: part("pg_trgm.tar.gz"),
    },
  };
}

/** An extension as PGlite wants it: a name and where its archive lies. */
export const extension = (name: string, archive: string) => ({
  name,
  setup: async (_engine: unknown, emscriptenOpts: unknown) => ({ emscriptenOpts, bundlePath: pathToFileURL(archive) }),
});
