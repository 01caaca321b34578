import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProgress, progressLine } from "../../../src/cli/progress.ts";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost } from "../fake-host.ts";

/** A hub that answers everything with 404 and counts. */
function emptyHub() {
  const asked: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      asked.push(new URL(url).pathname);
      return new Response("no", { status: 404 });
    },
  });
  return { url: server.url.origin, asked: () => asked, count: () => asked.length, [Symbol.asyncDispose]: () => server.stop(true) };
}

describe("models", () => {
  test("a download that fails ends with 1 and leaves no model behind", async () => {
    await using hub = emptyHub();
    const host = fakeHost({ installation: { modelsUrl: hub.url } });
    expect(await runCli(["models", "embed"], host)).toBe(1);
    expect(hub.count()).toBeGreaterThan(0);
    expect(existsSync(join(host.home, ".cache", "memory-industry", "models"))).toBe(false);
    expect(host.out()).toBe("");
  });

  test("every model that a hint names can be asked for, and all asks for the first of them first", async () => {
    for (const [what, repository] of [
      ["embed", "/Xenova/multilingual-e5-small/"],
      ["reranker", "bge-reranker-v2-m3"],
      ["nli", "mDeBERTa-v3-base-xnli-multilingual-nli-2mil7"],
      ["all", "/Xenova/multilingual-e5-small/"],
    ] as const) {
      await using hub = emptyHub();
      const host = fakeHost({ installation: { modelsUrl: hub.url } });
      expect(await runCli(["models", what], host)).toBe(1);
      expect(hub.asked()[0]).toContain(repository);
    }
  });

  test("runtime and status ask nobody", async () => {
    await using hub = emptyHub();
    const host = fakeHost({ installation: { modelsUrl: hub.url } });
    expect(await runCli(["models", "runtime"], host)).toBe(0);
    expect(host.out()).toContain("1.30.0");
    expect(await runCli(["models", "embed", "--gpu"], host)).toBe(2);
    expect(await runCli(["models", "status"], host)).toBe(0);
    expect(host.out()).toMatch(/embed +multilingual-e5-small +missing \(default\)/);
    expect(hub.count()).toBe(0);
  });

  test("status says where a model of one's own is taken instead", async () => {
    const place = { slot: "embed", variable: "ONNX_MODEL_PATH", path: "/models/mine" } as const;
    const host = fakeHost({ installation: { modelPlaces: [place] } });
    expect(await runCli(["models", "status"], host)).toBe(0);
    expect(host.out()).toMatch(/embed +multilingual-e5-small +missing \(default\)/);
    expect(host.err()).toBe("embed: ONNX_MODEL_PATH names /models/mine; that model is used, whatever stands here.\n");
  });

  test("runtime --gpu without a mirror names what is missing, with sizes and digests, and the two ways to bring it", async () => {
    const host = fakeHost({ installation: { runtimeVersion: "1.27.0", modelsUrl: undefined } });
    expect(await runCli(["models", "runtime", "--gpu"], host)).toBe(1);
    expect(host.out()).toBe("");
    for (const part of [
      "The public model hub does not carry these libraries",
      "libonnxruntime_providers_shared.so  14632 bytes  SHA-256 086ec1d5388f64153d9c63470d126693db9a182c8ce236d3a1119068471b8a0d",
      "libonnxruntime_providers_cuda.so  251627280 bytes  SHA-256 9aacf1788ceae09ca362cbf9bb3c1d69c94cec86e24310de7ad14e6b05b5bb5d",
      "models runtime --gpu --from FOLDER",
      "onnxruntime-gpu/1.27.0/linux-x64/ with MEMORY_INDUSTRY_MODELS_URL",
    ])
      expect(host.err()).toContain(part);
    expect(existsSync(host.installation().runtimeDirectory())).toBe(false);
    expect(await runCli(["models", "runtime", "--from", host.home], host)).toBe(2);
    const arm = fakeHost({ installation: { runtimeVersion: "1.27.0", architecture: "arm64" } });
    expect(await runCli(["models", "runtime", "--gpu"], arm)).toBe(1);
    expect(arm.err()).toContain("on linux-x64 only; this is linux-arm64");
  });

  test("runtime --gpu takes what a person brings only with its digest, or on that person's word", async () => {
    const host = fakeHost({ installation: { runtimeVersion: "1.27.0" } });
    const place = host.installation().runtimeDirectory();
    const from = join(host.home, "mine");
    mkdirSync(from);
    const command = ["models", "runtime", "--gpu", "--from", from];
    expect(await runCli(command, host)).toBe(1);
    expect(host.err()).toContain("does not hold libonnxruntime_providers_shared.so and libonnxruntime_providers_cuda.so");
    for (const name of ["shared", "cuda"]) writeFileSync(join(from, `libonnxruntime_providers_${name}.so`), "\u007fELF of another build");
    expect(await runCli(command, host)).toBe(1);
    expect(host.err()).toContain("--allow-unverified; nobody vouches for it");
    expect(readdirSync(place)).toEqual([]);
    expect(await runCli([...command, "--allow-unverified"], host)).toBe(0);
    expect(readdirSync(place).sort()).toEqual(["libonnxruntime_providers_cuda.so", "libonnxruntime_providers_shared.so"]);
    expect(host.err()).toContain("Nobody vouches for libonnxruntime_providers_cuda.so");
    writeFileSync(join(from, "libonnxruntime_providers_cuda.so"), "<html>sign in</html>");
    expect(await runCli([...command, "--allow-unverified"], host)).toBe(1);
    expect(host.err()).toContain("is no library for Linux");
    expect(readFileSync(join(place, "libonnxruntime_providers_cuda.so"), "utf8")).toContain("another build");
  });

  test("what the catalogue lacks is refused with what it has, before any request", async () => {
    await using hub = emptyHub();
    const host = fakeHost({ installation: { modelsUrl: hub.url } });
    expect(await runCli(["models", "embed", "--model", "word2vec"], host)).toBe(2);
    expect(host.err()).toContain("multilingual-e5-small");
    expect(await runCli(["models", "status", "--model", "bge-m3"], host)).toBe(2);
    expect(await runCli(["models"], host)).toBe(2);
    expect(hub.count()).toBe(0);
  });
});

describe("progress", () => {
  test("shows file, share and size", () => {
    expect(progressLine("a 1/2 model.onnx", 59_000_000, 118_000_000)).toBe(
      "a 1/2 model.onnx  [############            ]  50 %  59.0 MB of 118.0 MB",
    );
    expect(progressLine("a", 1_500_000, undefined)).toBe("a  1.5 MB");
  });
  test("a terminal's line is redrawn, at most ten times a second; the end always shows", () => {
    let at = 0;
    let written = "";
    const bar = createProgress(
      (text) => {
        written += text;
      },
      true,
      () => at,
    );
    for (; at < 1_000; at++) bar.show("x", at, 1_000);
    bar.show("x", 1_000, 1_000);
    bar.end();
    expect(written.split("\r").length - 1).toBe(11);
    expect(written).toEndWith("100 %  0.0 MB of 0.0 MB\n");
  });
  test("a log file gets whole lines, now and then", () => {
    let at = 0;
    let written = "";
    const bar = createProgress(
      (text) => {
        written += text;
      },
      false,
      () => at,
    );
    for (; at < 30_000; at += 100) bar.show("x", at, 1_000_000);
    bar.end();
    expect(written.split("\n").length - 1).toBe(3);
    expect(written).not.toContain("\r");
  });
});
