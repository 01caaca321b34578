/** A runtime library that a person brings (`ORT_DYLIB_PATH`) in place of the one in the program. */
import { CFunction, dlopen, FFIType, type Pointer, read } from "bun:ffi";
import { existsSync } from "node:fs";
import { RUNTIME_VERSION } from "./place.ts";

/** `OrtApiBase` is two function pointers: GetApi, GetVersionString. */
const POINTER_BYTES = 8;
const minorOf = (version: string) => version.split(".").slice(0, 2).join(".");

/**
 * Loads the library before the binding asks for it: the system's loader then takes the one that is there already, by its name.
 * Only the binding's own minor version is taken: an older one lacks functions, a newer one has an uploader (decision 0020).
 * @throws Error where the file is missing, is no ONNX Runtime, or is another version; the text names both versions and no path.
 */
export function preloadLibrary(path: string): void {
  if (!existsSync(path)) throw new Error("ORT_DYLIB_PATH names a file that does not exist, so there is no ONNX Runtime");
  const problem = versionProblem(versionOf(path), RUNTIME_VERSION);
  if (problem !== undefined) throw new Error(problem);
}

/** Why a library of this version cannot serve a binding of that one; undefined where it can. */
export function versionProblem(version: string | undefined, binding: string): string | undefined {
  if (version === undefined) return "ORT_DYLIB_PATH names a file that is not the ONNX Runtime library";
  if (minorOf(version) === minorOf(binding)) return undefined;
  return `ORT_DYLIB_PATH names ONNX Runtime ${version} where this program needs ${minorOf(binding)} (it carries ${binding})`;
}

/** Opens the library and leaves it open. */
function versionOf(path: string): string | undefined {
  let base: Pointer | bigint | null;
  try {
    base = dlopen(path, { OrtGetApiBase: { args: [], returns: FFIType.ptr } }).symbols.OrtGetApiBase();
  } catch {
    return undefined;
  }
  if (typeof base !== "number") return undefined;
  const getVersion = CFunction({ ptr: BigInt(read.ptr(base, POINTER_BYTES)), args: [], returns: FFIType.cstring });
  return String(getVersion());
}
