/** Small files in place of the libraries: what is tested is where they come from and what is believed of them. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dependencies } from "../../../package.json" with { type: "json" };
import {
  installProviders,
  mirrorFolder,
  type ProviderBuild,
  type ProviderRequest,
  providerBuild,
} from "../../../src/inference/models/provider-libraries.ts";
import { sha256 } from "../../support/model-hub.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const contents = { "shared.so": bytes("\u007fELF shared ".repeat(50)), "cuda.so": bytes("\u007fELF cuda ".repeat(5_000)) };
const build: ProviderBuild = {
  version: "9.9.9",
  platform: "linux-x64",
  needs: "CUDA 99",
  published: "a package",
  files: Object.entries(contents).map(([name, content]) => ({ name, sizeBytes: content.length, sha256: sha256(content) })),
};

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "mi-providers-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A mirror that serves under the documented folder; `served` may differ from what is pinned. */
function mirror(served: Readonly<Record<string, Uint8Array>> = contents) {
  const asked: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      const content = served[pathname.replace("/mirror/onnxruntime-gpu/9.9.9/linux-x64/", "")];
      return content === undefined ? new Response("no", { status: 404 }) : new Response(content.slice());
    },
  });
  return { url: `${server.url.origin}/mirror/`, asked, [Symbol.asyncDispose]: () => server.stop(true) };
}

const install = (more: Partial<ProviderRequest>) =>
  installProviders({
    build,
    runtimeVersion: "9.9.9",
    platform: "linux-x64",
    directory,
    mirrorUrl: undefined,
    from: undefined,
    allowUnverified: false,
    signal: new AbortController().signal,
    onProgress: () => {},
    ...more,
  });

test("a mirror's files are verified and put beside the runtime; a second run asks nobody", async () => {
  await using from = mirror();
  writeFileSync(join(directory, "libonnxruntime.so.1"), "the runtime itself");
  expect(await install({ mirrorUrl: from.url })).toEqual({ kind: "installed", unverified: [] });
  expect(readdirSync(directory).sort()).toEqual(["cuda.so", "libonnxruntime.so.1", "shared.so"]);
  expect(readFileSync(join(directory, "cuda.so"))).toEqual(Buffer.from(contents["cuda.so"]));
  expect(from.asked).toHaveLength(2);
  expect(await install({ mirrorUrl: from.url })).toEqual({ kind: "already", unverified: [] });
  expect(from.asked).toHaveLength(2);
  writeFileSync(join(directory, "cuda.so"), "damaged since");
  expect(await install({ mirrorUrl: from.url })).toMatchObject({ kind: "installed" });
});

test("one wrong file and none of the two is put in place", async () => {
  const other = contents["cuda.so"].slice().fill(1, 8);
  await using from = mirror({ ...contents, "cuda.so": other });
  await expect(install({ mirrorUrl: from.url, allowUnverified: true })).rejects.toThrow(/cuda\.so came with the SHA-256/);
  expect(existsSync(join(directory, "shared.so"))).toBe(false);
  await using short = mirror({ "shared.so": contents["shared.so"] });
  await expect(install({ mirrorUrl: short.url })).rejects.toThrow("answered 404");
  expect(existsSync(join(directory, "shared.so"))).toBe(false);
});

test("another platform and another version are refused before anything is asked", async () => {
  await using from = mirror();
  await expect(install({ mirrorUrl: from.url, platform: "darwin-arm64" })).rejects.toThrow("on linux-x64 only; this is darwin-arm64");
  await expect(install({ mirrorUrl: from.url, runtimeVersion: "9.9.8" })).rejects.toThrow("they must be of one version");
  expect(from.asked).toEqual([]);
});

test("the catalogue's libraries are those of the runtime inside the program, in one folder of a mirror", () => {
  expect(providerBuild.version).toBe(dependencies["onnxruntime-node"]);
  expect(mirrorFolder(providerBuild)).toBe("onnxruntime-gpu/1.27.0/linux-x64");
  expect(providerBuild.files.map(({ name }) => name)).toEqual(["libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so"]);
});
