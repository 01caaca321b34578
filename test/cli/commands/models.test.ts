import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
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
    expect(await runCli(["models", "runtime", "--gpu"], host)).toBe(0);
    expect(host.out()).toContain("libonnxruntime_providers_cuda.so of exactly ONNX Runtime 1.30.0");
    expect(await runCli(["models", "embed", "--gpu"], host)).toBe(2);
    expect(await runCli(["models", "status"], host)).toBe(0);
    expect(host.out()).toMatch(/embed +multilingual-e5-small +missing \(default\)/);
    expect(hub.count()).toBe(0);
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
