import { expect, test } from "bun:test";
import { RUNTIME_TROUBLE, runtimeRemedy } from "../../../src/inference/onnx/messages.ts";

test("a runtime that cannot be loaded is not mended by downloading a model, and the remedy is its own", () => {
  expect(runtimeRemedy(`${RUNTIME_TROUBLE}: libonnxruntime.so.1: invalid ELF header`)).toContain("delete onnxruntime/ in it");
  expect(runtimeRemedy("ORT_DYLIB_PATH names a file that is not the ONNX Runtime library")).toContain("unset it");
  expect(runtimeRemedy("model.onnx has 100 bytes where 922 are expected")).toBeUndefined();
});
