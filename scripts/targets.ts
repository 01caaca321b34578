/** The platforms of a release: which Bun runs there, and which files of the ONNX runtime go in. */
export interface Target {
  readonly name: string;
  /** npm package that carries Bun for it; its digest stands in bun.lock. */
  readonly bunPackage: string;
  readonly executable: string;
  /** Folder below `bin/napi-v6` of the npm package onnxruntime-node. */
  readonly runtimeFolder: string;
  readonly runtimeFiles: readonly string[];
  /** Where the pinned onnxruntime-node has no files for this platform: the last version that had, with the digest of its tarball. */
  readonly runtimeFrom?: { readonly version: string; readonly integrity: string };
}

const BINDING = "onnxruntime_binding.node";

export const targets: readonly Target[] = [
  {
    name: "linux-x64",
    bunPackage: "@oven/bun-linux-x64",
    executable: "bin/bun",
    runtimeFolder: "linux/x64",
    runtimeFiles: [BINDING, "libonnxruntime.so.1"],
  },
  {
    name: "linux-arm64",
    bunPackage: "@oven/bun-linux-aarch64",
    executable: "bin/bun",
    runtimeFolder: "linux/arm64",
    runtimeFiles: [BINDING, "libonnxruntime.so.1"],
  },
  {
    name: "darwin-arm64",
    bunPackage: "@oven/bun-darwin-aarch64",
    executable: "bin/bun",
    runtimeFolder: "darwin/arm64",
    // The package holds the same library under two names; the binding asks for this one.
    runtimeFiles: [BINDING, "libonnxruntime.1.dylib"],
  },
  {
    name: "darwin-x64",
    bunPackage: "@oven/bun-darwin-x64",
    executable: "bin/bun",
    runtimeFolder: "darwin/x64",
    runtimeFiles: [BINDING, "libonnxruntime.1.23.2.dylib"],
    runtimeFrom: {
      version: "1.23.2",
      integrity: "sha512-OBTsG0W8ddBVOeVVVychpVBS87A9YV5sa2hJ6lc025T97Le+J4v++PwSC4XFs1C62SWyNdof0Mh4KvnZgtt4aw==",
    },
  },
  {
    name: "windows-x64",
    bunPackage: "@oven/bun-windows-x64",
    executable: "bin/bun.exe",
    runtimeFolder: "win32/x64",
    // DirectML.dll, dxcompiler.dll and dxil.dll are loaded on demand by the GPU provider, which this variant does not offer.
    runtimeFiles: [BINDING, "onnxruntime.dll"],
  },
];

/** The target of the machine that builds; undefined where there is none. */
export function hostTarget(): Target | undefined {
  const os = process.platform === "win32" ? "windows" : process.platform;
  return targets.find(({ name }) => name === `${os}-${process.arch}`);
}
