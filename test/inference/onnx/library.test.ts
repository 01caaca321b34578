import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmbedder } from "../../../src/inference/embedder.ts";
import { locateEmbeddingModel } from "../../../src/inference/models/locate.ts";
import { versionProblem } from "../../../src/inference/onnx/library.ts";
import { silentLogger } from "../../../src/kernel/logger.ts";
import { writeTinyModel } from "../../support/tiny-model.ts";

const work = mkdtempSync(join(tmpdir(), "mi-library-"));
const model = join(work, "model");
const shipped = join(import.meta.dir, "../../../node_modules/onnxruntime-node/bin/napi-v6", process.platform, process.arch);
const library =
  { linux: "libonnxruntime.so.1", darwin: "libonnxruntime.1.27.0.dylib", win32: "onnxruntime.dll" }[String(process.platform)] ?? "";

beforeAll(async () => {
  await writeTinyModel(model, { dimensions: 8 });
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** Embeds in a process of its own, since a library stays loaded: prints the vector's length and which runtime libraries are mapped. */
async function embedWith(
  runtimeLibrary: string,
): Promise<{ readonly length: number; readonly mapped: string[] } | { readonly error: string }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "../fixtures/embed-with-library.ts"), model, runtimeLibrary], {
    stdout: "pipe",
    stderr: "inherit",
  });
  return JSON.parse(await child.stdout.text());
}

test.skipIf(process.platform !== "linux")("a library of the same version is used instead of the shipped one", async () => {
  const own = join(work, "my-onnxruntime.so");
  copyFileSync(join(shipped, library), own);
  expect(await embedWith(own)).toEqual({ length: 8, mapped: [own] });
});

test("a path that does not exist, or is no ONNX Runtime, is a clear failure and not a fall-back", async () => {
  const other = join(work, "other.so");
  writeFileSync(other, "not a library");
  for (const [path, reason] of [
    [join(work, "nowhere.so"), "names a file that does not exist"],
    [other, "is not the ONNX Runtime library"],
  ] as const) {
    const find = () => locateEmbeddingModel({ explicitPath: model, overrides: {} });
    const embedder = await createEmbedder({ find, threads: 1, runtimeLibrary: path, log: silentLogger });
    await expect(embedder.embed(["x"], "query", new AbortController().signal)).rejects.toThrow(reason);
    expect(embedder.status()).toMatchObject({ state: "failed" });
    await embedder.close();
  }
});

test("only the binding's own minor version fits, and a refusal names both", () => {
  expect(versionProblem("1.27.3", "1.27.0")).toBeUndefined();
  for (const version of ["1.26.0", "1.30.0", "2.27.0"]) {
    expect(versionProblem(version, "1.27.0")).toBe(
      `ORT_DYLIB_PATH names ONNX Runtime ${version} where this program needs 1.27 (it carries 1.27.0)`,
    );
  }
});
