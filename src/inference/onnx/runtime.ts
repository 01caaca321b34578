/** The one file that imports `onnxruntime-node`: only a worker loads it, and in the compiled program a build plugin replaces its native binding. */
import type { InferenceSession } from "onnxruntime-node";
import { preloadLibrary } from "./library.ts";
import { RUNTIME_TROUBLE } from "./messages.ts";

export type { InferenceSession };

/**
 * Where the compiled program finds its native library: the build's replacement of `onnxruntime-node/dist/binding.js` reads this global when it is first
 * required, extracts the embedded `.node` file and runtime library there (once) and opens them. From source the package finds its own files and the value
 * is not read.
 */
const RUNTIME_DIRECTORY = Symbol.for("memory-industry.onnxruntime.directory");

export type Runtime = typeof import("onnxruntime-node");

export interface RuntimePlaces {
  /** `<cache>/onnxruntime/<version>`; needed in the compiled program only. */
  readonly runtimeDirectory: string | undefined;
  /** `ORT_DYLIB_PATH` */
  readonly runtimeLibrary: string | undefined;
}

/** @throws Error where the library cannot be had. */
export async function loadRuntime({ runtimeDirectory: directory, runtimeLibrary }: RuntimePlaces): Promise<Runtime> {
  if (runtimeLibrary !== undefined) preloadLibrary(runtimeLibrary);
  if (directory !== undefined) Reflect.set(globalThis, RUNTIME_DIRECTORY, directory);
  try {
    return await import("onnxruntime-node");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    // Failure texts reach clients; where the cache lies is nobody's business there.
    throw new Error(
      `${RUNTIME_TROUBLE}: ${directory === undefined ? reason : reason.replaceAll(`${directory}/`, "").replaceAll(directory, "its folder")}`,
      { cause },
    );
  }
}
