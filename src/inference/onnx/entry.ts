/** Where the worker's code is, from source and in the compiled program. */
import { workerEntryOf } from "../../kernel/worker-entry.ts";

export const workerEntry = (): string | URL => workerEntryOf("inference/onnx", new URL("./worker.ts", import.meta.url));
