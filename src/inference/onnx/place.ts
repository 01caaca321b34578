/** Which native library of the ONNX runtime the program carries, and where a compiled one keeps it. */
import { join } from "node:path";
import { dependencies } from "../../../package.json" with { type: "json" };

/** The version that is embedded: a replacement and the libraries of a card must be of the same. */
export const RUNTIME_VERSION: string = dependencies["onnxruntime-node"];

/** `<cache>/onnxruntime/<version>`: the extracted library and, beside it, those that a card needs. */
export const runtimeFolder = (cacheRoot: string): string => join(cacheRoot, "onnxruntime", RUNTIME_VERSION);
