/**
 * The libraries that let ONNX Runtime use an NVIDIA card. They are loaded when a session asks for the card, from beside the runtime's own library, and
 * must be of exactly its version. Pinned like model files: size and SHA-256 of the published build, or refused.
 */
import { copyFile, mkdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { corrupt, type MemoryError, refused, unavailable } from "../../kernel/errors.ts";
import type { Fetch } from "./hub.ts";
import { sha256OfFile, transfer } from "./transfer.ts";

export interface ProviderLibrary {
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface ProviderBuild {
  /** Of ONNX Runtime. */
  readonly version: string;
  /** As `process.platform`-`process.arch`. */
  readonly platform: string;
  /** What it was built against; the loader must find both. */
  readonly needs: string;
  /** Where the files are published: a package that the public model hub does not carry. */
  readonly published: string;
  /** In the order they are put in place: the one that is looked for comes last. */
  readonly files: readonly ProviderLibrary[];
}

/** The one that a session asks for; the runtime finds the card where it lies beside it. */
export const CARD_LIBRARY = "libonnxruntime_providers_cuda.so";

/**
 * Sizes and digests as the package's own RECORD lists them, compared with the files. The other published build of 1.27.0 (for CUDA 12) has no digest that
 * we know: `--from` with `--allow-unverified` takes it. TensorRT is left out.
 */
export const providerBuild: ProviderBuild = {
  version: "1.27.0",
  platform: "linux-x64",
  needs: "CUDA 13 and cuDNN 9",
  published: "the Python package onnxruntime-gpu 1.27.0 for Linux x86-64, folder onnxruntime/capi",
  files: [
    {
      name: "libonnxruntime_providers_shared.so",
      sizeBytes: 14_632,
      sha256: "086ec1d5388f64153d9c63470d126693db9a182c8ce236d3a1119068471b8a0d",
    },
    {
      name: CARD_LIBRARY,
      sizeBytes: 251_627_280,
      sha256: "9aacf1788ceae09ca362cbf9bb3c1d69c94cec86e24310de7ad14e6b05b5bb5d",
    },
  ],
};

/** Folder of a mirror that holds them. */
export const mirrorFolder = ({ version, platform }: ProviderBuild): string => `onnxruntime-gpu/${version}/${platform}`;

export interface ProviderRequest {
  readonly build: ProviderBuild;
  /** Version of the runtime inside the program, and this machine as `process.platform`-`process.arch`. */
  readonly runtimeVersion: string;
  readonly platform: string;
  /** `<cache>/onnxruntime/<version>` */
  readonly directory: string;
  /** `MEMORY_INDUSTRY_MODELS_URL`; undefined: the public hub, which does not have them. */
  readonly mirrorUrl: string | undefined;
  /** A folder that a person filled. */
  readonly from: string | undefined;
  /** Takes files of another digest: another build of the same version. */
  readonly allowUnverified: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (file: string, receivedBytes: number, totalBytes: number | undefined, index: number, count: number) => void;
  readonly fetch?: Fetch;
  readonly stallMs?: number;
}

export interface ProviderResult {
  readonly kind: "installed" | "already";
  /** Files that were taken although nobody vouches for them. */
  readonly unverified: readonly string[];
}

const STALL_MS = 60_000;
/** Left free beyond what is fetched. */
const SPARE_BYTES = 64_000_000;
/** The loader of a card's program reads an ELF file; a page of a proxy is none. */
const ELF = Uint8Array.of(0x7f, 0x45, 0x4c, 0x46);

/**
 * Puts the libraries beside the runtime: all of them or none.
 * @throws MemoryError `unavailable` (no place to take them from, network, space), `refused` (another platform, version or digest), `corrupt`, `cancelled`.
 */
export async function installProviders(request: ProviderRequest): Promise<ProviderResult> {
  const { build, directory } = request;
  if (build.platform !== request.platform)
    throw refused(
      `ONNX Runtime runs on a card on ${build.platform} only; this is ${request.platform}. Nothing was installed; every model runs on the processor.`,
    );
  if (build.version !== request.runtimeVersion)
    throw refused(
      `The catalogue has the libraries of ONNX Runtime ${build.version} and this program carries ${request.runtimeVersion}; they must be of one version. Nothing was installed.`,
    );
  if ((await digestsOf(directory, build)).every((digest, at) => digest === build.files[at]?.sha256))
    return { kind: "already", unverified: [] };
  if (request.from === undefined && request.mirrorUrl === undefined) throw unavailable(nowhere(build));
  const staging = join(directory, "providers.downloading");
  await mkdir(staging, { recursive: true });
  const unverified = request.from === undefined ? await fetchAll(request, staging) : await copyAll(request, request.from, staging);
  for (const { name } of build.files) await rename(join(staging, name), join(directory, name));
  await rm(staging, { recursive: true, force: true });
  return { kind: "installed", unverified };
}

const nowhere = (build: ProviderBuild) =>
  `The public model hub does not carry these libraries, so there is nothing to download from it. Nothing was installed. They are in ${build.published}:\n` +
  build.files.map(({ name, sizeBytes, sha256 }) => `  ${name}  ${sizeBytes} bytes  SHA-256 ${sha256}`).join("\n") +
  `\nUnpack it and run 'memory-industry models runtime --gpu --from FOLDER', or name a mirror that has them under ${mirrorFolder(build)}/ with MEMORY_INDUSTRY_MODELS_URL.`;

/** Digest of each library that is there. */
async function digestsOf(directory: string, build: ProviderBuild): Promise<(string | undefined)[]> {
  return await Promise.all(
    build.files.map(async ({ name, sizeBytes }) => {
      const path = join(directory, name);
      return (await stat(path).catch(() => undefined))?.size === sizeBytes ? await sha256OfFile(path) : undefined;
    }),
  );
}

async function checkSpace(staging: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(staging);
  const needed = neededBytes + SPARE_BYTES;
  if (bavail * bsize >= needed) return;
  const mb = (count: number) => `${Math.ceil(count / 1_000_000)} MB`;
  throw unavailable(
    `The libraries need ${mb(needed)} of free space and there are ${mb(bavail * bsize)}. Nothing was installed. Make room and run the same command again.`,
  );
}

async function fetchAll(
  { build, mirrorUrl = "", signal, onProgress, ...rest }: ProviderRequest,
  staging: string,
): Promise<readonly string[]> {
  await checkSpace(
    staging,
    build.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  );
  for (const [at, { name, sizeBytes, sha256 }] of build.files.entries()) {
    await transfer({
      url: `${mirrorUrl.replace(/\/+$/, "")}/${mirrorFolder(build)}/${name}`,
      destination: join(staging, name),
      sha256,
      size: sizeBytes,
      fetch: rest.fetch ?? globalThis.fetch,
      signal,
      stallMs: rest.stallMs ?? STALL_MS,
      onBytes: (received, total) => onProgress(name, received, total, at + 1, build.files.length),
    });
  }
  return [];
}

async function copyAll({ build, allowUnverified }: ProviderRequest, from: string, staging: string): Promise<readonly string[]> {
  const found = await Promise.all(
    build.files.map(async ({ name }) => ({ name, size: (await stat(join(from, name)).catch(() => undefined))?.size })),
  );
  const missing = found.filter(({ size }) => size === undefined).map(({ name }) => name);
  if (missing.length > 0)
    throw unavailable(
      `The folder that --from names does not hold ${missing.join(" and ")}. Nothing was installed. They are in ${build.published}.`,
    );
  await checkSpace(
    staging,
    found.reduce((sum, { size }) => sum + (size ?? 0), 0),
  );
  const unverified: string[] = [];
  for (const { name, sha256 } of build.files) {
    const copy = join(staging, name);
    await copyFile(join(from, name), copy);
    const magic = new Uint8Array(await Bun.file(copy).slice(0, ELF.length).arrayBuffer());
    if (!ELF.every((byte, at) => magic[at] === byte))
      throw await discarded(staging, corrupt(`${name} is no library for Linux. Nothing was installed.`));
    const digest = await sha256OfFile(copy);
    if (digest === sha256) continue;
    if (!allowUnverified)
      throw await discarded(
        staging,
        refused(
          `${name} has the SHA-256 ${digest} where ${sha256} is known (${build.needs}). Nothing was installed. Another build of ONNX Runtime ${build.version}, ` +
            "one for CUDA 12 for instance, is taken with --allow-unverified; nobody vouches for it.",
        ),
      );
    unverified.push(name);
  }
  return unverified;
}

/** A folder that was filled from another one is not continued. */
async function discarded(staging: string, error: MemoryError): Promise<MemoryError> {
  await rm(staging, { recursive: true, force: true });
  return error;
}
