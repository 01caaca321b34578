/** Native libraries that we ship must not report to anybody: onnxruntime does since 1.29 unless a variable forbids it (decision 0020). */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const runtime = resolve(import.meta.dir, "../../node_modules/onnxruntime-node/bin");
/** Found in every POSIX library of 1.29 and 1.30, in none of 1.23 to 1.27. */
const TELL_TALES = ["ORT_DISABLE_TELEMETRY", "events.data.microsoft.com"];

test("the ONNX runtime holds no uploader", () => {
  const libraries = [...new Bun.Glob("**/{libonnxruntime*,onnxruntime.dll,*.node}").scanSync({ cwd: runtime })];
  expect(libraries.some((file) => file.includes("linux"))).toBe(true);
  const telling = libraries.filter((file) => {
    const bytes = readFileSync(join(runtime, file));
    return TELL_TALES.some((text) => bytes.includes(text));
  });
  expect(telling).toEqual([]);
});
