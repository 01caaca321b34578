import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmbedder } from "../../../src/inference/embedder.ts";
import type { EmbeddingModel } from "../../../src/inference/models/catalogue.ts";
import { type DownloadOptions, type DownloadProgress, downloadModel } from "../../../src/inference/models/download.ts";
import { locateEmbeddingModel } from "../../../src/inference/models/locate.ts";
import { silentLogger } from "../../../src/kernel/logger.ts";
import { type ModelHub, sha256, startModelHub } from "../../support/model-hub.ts";
import { writeTinyModel } from "../../support/tiny-model.ts";

let root: string;
let cacheRoot: string;
let leaf: string;
let hub: ModelHub;
let model: EmbeddingModel;
let graph: Uint8Array;
let tokenizer: Uint8Array;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "mi-download-"));
  cacheRoot = join(root, "cache");
  leaf = join(cacheRoot, "models-tiny");
  await writeTinyModel(join(root, "source"), { dimensions: 64, words: ["red", "car"] });
  graph = await readFile(join(root, "source", "model.onnx"));
  tokenizer = await readFile(join(root, "source", "tokenizer.json"));
  hub = await startModelHub({ "test/tiny/onnx/model_int8.onnx": { content: graph }, "test/tiny/tokenizer.json": { content: tokenizer } });
  model = {
    slot: "embed",
    name: "tiny",
    repository: "test/tiny",
    revision: "main",
    licence: "MIT",
    leaf: "models-tiny",
    aboutBytes: 100_000,
    files: [
      { path: "onnx/model_int8.onnx", as: "model.onnx", sha256: sha256(graph), size: graph.length },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: sha256(tokenizer) },
    ],
    maxTokens: 128,
    padId: 1,
    settings: { dimensions: 64, pooling: "mean", queryPrefix: "", passagePrefix: "", output: undefined, golden: undefined },
  };
});
afterEach(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

const download = (options: Partial<DownloadOptions> = {}) =>
  downloadModel({
    model,
    cacheRoot,
    hubUrl: hub.url,
    allowUnverified: false,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...options,
  });
const part = () => join(cacheRoot, "models-tiny.downloading", "model.onnx.part");
const asked = (how: string) => hub.requests.filter(({ path }) => path.includes(`/${how}/`));

test("a model arrives whole, under our names, with its description and vocabulary, and embeds", async () => {
  const progress: DownloadProgress[] = [];
  const result = await download({ onProgress: (each) => progress.push(each) });
  expect(result).toEqual({
    kind: "installed",
    directory: leaf,
    files: [
      { name: "model.onnx", sha256: sha256(graph), size: graph.length, voucher: "catalogue" },
      { name: "tokenizer.json", sha256: sha256(tokenizer), size: tokenizer.length, voucher: "catalogue" },
    ],
  });
  expect((await readdir(leaf)).sort()).toEqual(["memory-industry.json", "model.onnx", "tokenizer.compact", "tokenizer.json"]);
  expect(await readdir(cacheRoot)).toEqual(["models-tiny"]);
  expect(progress.at(-1)).toEqual({
    file: "tokenizer.json",
    receivedBytes: tokenizer.length,
    totalBytes: tokenizer.length,
    index: 2,
    count: 2,
  });
  const find = () => locateEmbeddingModel({ cacheRoot, overrides: { name: "tiny" } });
  const embedder = await createEmbedder({ find, threads: 1, log: silentLogger });
  expect((await embedder.embed(["red car"], "query", new AbortController().signal))[0]).toHaveLength(64);
  await embedder.close();
});

test("a second run fetches nothing", async () => {
  await download();
  hub.requests.length = 0;
  expect(await download()).toMatchObject({ kind: "already", directory: leaf });
  expect(hub.requests).toEqual([]);
});

/** A run whose connection ends when 1,000 bytes of the graph are here. */
async function cutAtThousand(): Promise<void> {
  hub.stallAfter = 1_000;
  const onProgress = ({ receivedBytes }: DownloadProgress) => {
    if (receivedBytes === 1_000) hub.cut();
  };
  await expect(download({ onProgress })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("Run the same command again to continue"),
  });
}

test("a connection that ends early leaves no model, keeps the part, and the next run asks only for the rest", async () => {
  await cutAtThousand();
  expect(existsSync(leaf)).toBe(false);
  expect((await stat(part())).size).toBe(1_000);
  hub.requests.length = 0;
  await download();
  expect(hub.requests[0]).toMatchObject({ range: "bytes=1000-", status: 206 });
  expect(sha256(await readFile(join(leaf, "model.onnx")))).toBe(sha256(graph));
});

test("a body that ends early without an error is not whole either", async () => {
  const short = async () => new Response(graph.subarray(0, 700), { headers: { "Content-Length": String(graph.length) } });
  await expect(download({ fetch: short })).rejects.toThrow(/700 of \d+ bytes are here and kept/);
  expect((await stat(part())).size).toBe(700);
});

test("a server that cannot continue sends everything, and that works too", async () => {
  await cutAtThousand();
  hub.withoutRange = true;
  await download();
  expect(sha256(await readFile(join(leaf, "model.onnx")))).toBe(sha256(graph));
});

test("a part longer than the file is thrown away", async () => {
  await mkdir(join(cacheRoot, "models-tiny.downloading"), { recursive: true });
  await writeFile(part(), new Uint8Array(graph.length + 1));
  await writeFile(join(cacheRoot, "models-tiny.downloading", "tokenizer.json.part"), new Uint8Array(tokenizer.length + 1));
  await download();
  expect(asked("resolve").map(({ range, status }) => [range, status])).toEqual([
    [undefined, 200],
    // Its size is not in the catalogue, so the server says that there is nothing behind it.
    [`bytes=${tokenizer.length + 1}-`, 416],
    [undefined, 200],
  ]);
});

test("wrong bytes are deleted and never reach the model's place", async () => {
  const wrong = Uint8Array.from(graph);
  wrong[500] = (wrong[500] ?? 0) ^ 1;
  hub.files.set("test/tiny/onnx/model_int8.onnx", { content: graph, served: wrong });
  await expect(download()).rejects.toMatchObject({
    code: "corrupt",
    message: expect.stringContaining(`where ${sha256(graph)} is expected`),
  });
  expect(existsSync(leaf)).toBe(false);
  expect(existsSync(part())).toBe(false);
});

test("a file of another length is refused before it is fetched", async () => {
  hub.files.set("test/tiny/onnx/model_int8.onnx", { content: graph.subarray(1) });
  await expect(download()).rejects.toMatchObject({ code: "corrupt", message: expect.stringContaining("it has another file") });
  expect(existsSync(part())).toBe(false);
});

test("a missing file names the status and the mirror", async () => {
  hub.files.delete("test/tiny/tokenizer.json");
  await expect(download()).rejects.toThrow(/answered 404 for tokenizer\.json.*MEMORY_INDUSTRY_MODELS_URL/);
  expect(existsSync(leaf)).toBe(false);
});

test("what a failed run already has is not fetched again", async () => {
  hub.files.delete("test/tiny/tokenizer.json");
  await download().catch(() => undefined);
  hub.files.set("test/tiny/tokenizer.json", { content: tokenizer });
  hub.requests.length = 0;
  await download();
  expect(hub.requests.map(({ path }) => path)).toEqual(["/test/tiny/resolve/main/tokenizer.json"]);
});

test("a hub that cannot be reached is named, with what to do, and not as a file that broke off", async () => {
  const nobody = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  nobody.stop(true);
  const failure = await download({ hubUrl: `http://127.0.0.1:${nobody.port}` }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "unavailable" });
  expect(String(failure)).toContain(`model.onnx could not be fetched: 127.0.0.1:${nobody.port} cannot be reached. Nothing was installed.`);
  expect(String(failure)).toContain("MEMORY_INDUSTRY_MODELS_URL");
});

test("a connection that says nothing more is dead after a while", async () => {
  hub.stallAfter = 10;
  await expect(download({ stallMs: 100 })).rejects.toThrow("no byte came");
});

test("a caller that gives up is told so, and the part is kept", async () => {
  const controller = new AbortController();
  hub.stallAfter = 2_000;
  const onProgress = ({ receivedBytes }: DownloadProgress) => {
    if (receivedBytes >= 2_000) controller.abort();
  };
  await expect(download({ signal: controller.signal, onProgress })).rejects.toMatchObject({ code: "cancelled" });
  expect((await stat(part())).size).toBe(2_000);
});

test("without a pin the hub's pointer vouches, and its digest is recorded", async () => {
  hub.files.set("test/tiny/tokenizer.json", { content: tokenizer, pointer: true });
  model = { ...model, files: model.files.map((file) => (file.as === "tokenizer.json" ? { ...file, sha256: undefined } : file)) };
  expect((await download()).files[1]).toEqual({
    name: "tokenizer.json",
    sha256: sha256(tokenizer),
    size: tokenizer.length,
    voucher: "hub",
  });
  hub.requests.length = 0;
  expect(await download()).toMatchObject({ kind: "already" });
  expect(hub.requests).toEqual([]);

  await rm(leaf, { recursive: true });
  hub.files.set("test/tiny/tokenizer.json", { content: tokenizer, pointer: true, served: Uint8Array.from(tokenizer).fill(32, 0, 5) });
  await expect(download()).rejects.toMatchObject({ code: "corrupt" });
});

test("a file that nobody vouches for needs a person's word", async () => {
  model = { ...model, files: model.files.map((file) => (file.as === "tokenizer.json" ? { ...file, sha256: undefined } : file)) };
  await expect(download()).rejects.toMatchObject({ code: "refused", message: expect.stringContaining("--allow-unverified") });
  expect(existsSync(leaf)).toBe(false);
  expect((await download({ allowUnverified: true })).files[1]).toMatchObject({ voucher: "nobody", sha256: sha256(tokenizer) });
});

test("too little space is said before anything is fetched", async () => {
  await expect(download({ freeBytes: async () => 1_000_000 })).rejects.toThrow(/needs \d+ MB of free space and there are 1 MB/);
  expect(hub.requests).toEqual([]);
});

test("where the directory exists, wrong files are replaced and right ones stay", async () => {
  await download();
  await writeFile(join(leaf, "model.onnx"), "damaged");
  await writeFile(join(leaf, "notes.txt"), "mine");
  hub.requests.length = 0;
  expect(await download()).toMatchObject({ kind: "installed" });
  expect(hub.requests.map(({ path }) => path)).toEqual(["/test/tiny/resolve/main/onnx/model_int8.onnx"]);
  expect(sha256(await readFile(join(leaf, "model.onnx")))).toBe(sha256(graph));
  expect((await readdir(leaf)).sort()).toEqual(["memory-industry.json", "model.onnx", "notes.txt", "tokenizer.compact", "tokenizer.json"]);
  expect(await readdir(cacheRoot)).toEqual(["models-tiny"]);
});

test("two at once: the second is told to wait, the lock of a dead process counts for nothing", async () => {
  await mkdir(cacheRoot, { recursive: true });
  const lock = join(cacheRoot, "models-tiny.downloading.lock");
  // The parent of this process lives and is not us.
  await writeFile(lock, String(process.ppid));
  await expect(download()).rejects.toMatchObject({ code: "busy" });
  const gone = Bun.spawn([process.execPath, "-e", ""]);
  await gone.exited;
  await writeFile(lock, String(gone.pid));
  expect(await download()).toMatchObject({ kind: "installed" });
});

const child = (env: Record<string, string>) =>
  Bun.spawn([process.execPath, join(import.meta.dir, "../fixtures/download-tiny.ts")], {
    env: { PATH: process.env["PATH"] ?? "", CACHE_ROOT: cacheRoot, MODEL: JSON.stringify(model), ...env },
    stdout: "pipe",
    stderr: "pipe",
  });

test("a process killed in the middle leaves no model, and the next one continues", async () => {
  hub.stallAfter = 3_000;
  const killed = child({ HUB_URL: hub.url });
  const decoder = new TextDecoder();
  for await (const chunk of killed.stdout) if (decoder.decode(chunk).includes("model.onnx 3000")) break;
  killed.kill(9);
  await killed.exited;
  expect(existsSync(leaf)).toBe(false);
  expect((await stat(part())).size).toBe(3_000);
  hub.requests.length = 0;
  expect(await download()).toMatchObject({ kind: "installed" });
  expect(hub.requests[0]).toMatchObject({ range: "bytes=3000-", status: 206 });
});

test("HTTP_PROXY is honoured, and NO_PROXY too", async () => {
  const through: string[] = [];
  const proxy = createServer(async (request, response) => {
    through.push(request.url ?? "");
    const answer = await fetch(new URL(new URL(request.url ?? "").pathname, hub.url));
    response.writeHead(answer.status, { "Content-Length": answer.headers.get("content-length") ?? "0" });
    response.end(new Uint8Array(await answer.arrayBuffer()));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = proxy.address();
  const HTTP_PROXY = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const viaProxy = child({ HUB_URL: "http://hub.invalid", HTTP_PROXY });
  expect(await viaProxy.exited).toBe(0);
  expect(through).toEqual([
    "http://hub.invalid/test/tiny/resolve/main/onnx/model_int8.onnx",
    "http://hub.invalid/test/tiny/resolve/main/tokenizer.json",
  ]);

  await rm(leaf, { recursive: true });
  const direct = child({ HUB_URL: hub.url, HTTP_PROXY, NO_PROXY: "127.0.0.1" });
  expect(await direct.exited).toBe(0);
  expect(through).toHaveLength(2);
  proxy.closeAllConnections();
  proxy.close();
});
