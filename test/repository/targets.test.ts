/** What a release is built from, checked without building it. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { devDependencies } from "../../package.json" with { type: "json" };
import { lockedIntegrity } from "../../scripts/npm-package.ts";
import { hostTarget, targets } from "../../scripts/targets.ts";

const root = resolve(import.meta.dir, "../..");

test("the five platforms, and this machine is one of them", () => {
  expect(targets.map(({ name }) => name)).toEqual(["linux-x64", "linux-arm64", "darwin-arm64", "darwin-x64", "windows-x64"]);
  expect(hostTarget()?.name).toBe(`${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`);
});

test("versions are pinned exactly, and bun.lock holds no address of a registry", () => {
  const manifest: { dependencies: Record<string, string>; devDependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const loose = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
  );
  expect(loose).toEqual([]);
  expect(readFileSync(join(root, "bun.lock"), "utf8")).not.toMatch(/https?:\/\//);
});

describe.each(targets.map((target) => [target.name, target] as const))("%s", (_name, target) => {
  test("bun.lock names the digest of its Bun", () => {
    expect(lockedIntegrity(target.bunPackage, devDependencies.bun)).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
  });

  test("the files of its ONNX runtime are those of the pinned package, or have a digest of their own", () => {
    const folder = join(root, "node_modules/onnxruntime-node/bin/napi-v6", target.runtimeFolder);
    const missing = target.runtimeFiles.filter((file) => !existsSync(join(folder, file)));
    expect(missing.length === 0 || /^sha512-[A-Za-z0-9+/]{86}==$/.test(target.runtimeFrom?.integrity ?? "")).toBe(true);
    expect(target.runtimeFiles).toContain("onnxruntime_binding.node");
  });

  test("its libraries ask for no newer C library than 2.34", () => {
    const folder = join(root, "node_modules/onnxruntime-node/bin/napi-v6", target.runtimeFolder);
    if (!target.name.startsWith("linux")) return;
    const versions = target.runtimeFiles.flatMap((file) =>
      [...readFileSync(join(folder, file), "latin1").matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor)),
    );
    expect(Math.max(...versions)).toBeGreaterThan(0);
    expect(Math.max(...versions)).toBeLessThanOrEqual(34);
  });
});

test("a digest that is not locked is an error", () => {
  expect(() => lockedIntegrity("@oven/bun-linux-x64", "0.0.1")).toThrow("bun.lock names no digest for @oven/bun-linux-x64@0.0.1");
});
