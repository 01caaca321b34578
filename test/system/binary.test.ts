/** The compiled program, alone in an empty directory: what it carries inside is all it needs. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dependencies } from "../../package.json" with { type: "json" };
import { build } from "../../scripts/build.ts";
import { hostTarget } from "../../scripts/targets.ts";
import { createEmbedder } from "../../src/inference/embedder.ts";
import { locateEmbeddingModel } from "../../src/inference/models/locate.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { migratedDirectory } from "../support/engines.ts";
import { writeTinyModel } from "../support/tiny-model.ts";

const work = mkdtempSync(join(tmpdir(), "memory-industry-binary-"));
const program = join(work, process.platform === "win32" ? "program.exe" : "program");
const model = join(work, "model");
const cache = join(work, "cache");
/** Building writes 160 MB, and making the first database of a schema takes 10 s where others use the processor too. */
setDefaultTimeout(120_000);

beforeAll(async () => {
  const host = hostTarget();
  if (host === undefined) throw new Error(`there is no build target for ${process.platform}-${process.arch}`);
  await build(host, "test/system/embedded-entry.ts", program);
  await writeTinyModel(model);
});

afterAll(() => rmSync(work, { recursive: true, force: true }));

interface Answer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program in `directory` with an empty environment but a home. */
async function run(directory: string, ...args: string[]): Promise<Answer> {
  const child = Bun.spawn([program, ...args], {
    cwd: directory,
    env: { HOME: join(work, "home") },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { exitCode, stdout, stderr };
}

async function freshDirectory(name: string): Promise<string> {
  const directory = join(work, name);
  mkdirSync(join(work, "home"), { recursive: true });
  cpSync(await migratedDirectory(), join(directory, "db"), { recursive: true });
  return directory;
}

const expected = {
  compiled: true,
  row: { distance: 1, similarity: 0.3333333432674408, role: "cuba_app" },
  inputs: ["input_ids", "attention_mask", "token_type_ids"],
};

test("it opens its database with vector and pg_trgm and runs a model, and two at once extract the same files", async () => {
  const places = await Promise.all([freshDirectory("one"), freshDirectory("two")]);
  const answers = await Promise.all(places.map((place) => run(place, "open", "db", cache, join(model, "model.onnx"))));
  for (const { exitCode, stdout, stderr } of answers) {
    expect(stderr).toBe("");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual(expected);
  }
  const runtime = join(cache, "onnxruntime", dependencies["onnxruntime-node"]);
  expect(readdirSync(runtime).filter((name) => name.endsWith(".part"))).toEqual([]);
  expect(readdirSync(runtime)).toContain("onnxruntime_binding.node");
  if (process.platform !== "win32") expect(statSync(runtime).mode & 0o777).toBe(0o700);
});

test("what was extracted is used again, and one that was cut short is written anew", async () => {
  const place = await freshDirectory("three");
  const runtime = join(cache, "onnxruntime", dependencies["onnxruntime-node"]);
  const library = readdirSync(runtime).find((name) => name.includes("libonnxruntime") || name === "onnxruntime.dll") ?? "";
  const binding = join(runtime, "onnxruntime_binding.node");
  const sizeBytes = statSync(join(runtime, library)).size;
  const untouched = statSync(binding).mtimeMs;
  writeFileSync(join(runtime, library), "cut short");
  const { exitCode, stdout } = await run(place, "open", "db", cache, join(model, "model.onnx"));
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual(expected);
  expect(statSync(join(runtime, library)).size).toBe(sizeBytes);
  expect(statSync(binding).mtimeMs).toBe(untouched);
});

test("a library of the right size with other bytes is written anew before it is opened", async () => {
  const place = await freshDirectory("four");
  const runtime = join(cache, "onnxruntime", dependencies["onnxruntime-node"]);
  for (const name of readdirSync(runtime)) {
    const bytes = readFileSync(join(runtime, name));
    bytes.fill(0x41, bytes.length >> 1, (bytes.length >> 1) + 65_536);
    rmSync(join(runtime, name));
    writeFileSync(join(runtime, name), bytes);
  }
  const { exitCode, stdout } = await run(place, "open", "db", cache, join(model, "model.onnx"));
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual(expected);
});

test("its embedding worker is inside and gives the vectors that the source gives", async () => {
  const find = () => locateEmbeddingModel({ explicitPath: model, overrides: {} });
  const embedder = await createEmbedder({ find, threads: 1, log: silentLogger });
  const [vector] = await embedder.embed(["a red car"], "passage", new AbortController().signal);
  await embedder.close();
  mkdirSync(join(work, "alone"), { recursive: true });
  const { exitCode, stdout, stderr } = await run(join(work, "alone"), "embed", model, cache, "a red car");
  expect(stderr).toBe("");
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual([...(vector ?? [])]);
});

test("it leaves nothing in the home directory and does not read the settings of the project it starts in", async () => {
  const place = join(work, "project");
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, ".env"), "SECRET_OF_A_PROJECT=seen\n");
  writeFileSync(join(place, "bunfig.toml"), 'preload = ["./missing.ts"]\n');
  const { exitCode, stdout } = await run(place, "environment");
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ secret: null });
  expect(readdirSync(join(work, "home"))).toEqual([]);
});
