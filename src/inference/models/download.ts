/**
 * Fetches a model of the catalogue into the cache: staged beside its place, verified file by file, then renamed, so that no reader ever sees half a model.
 * A run that fails leaves its staging directory, which the next run continues, and no leaf: an empty leaf once won over a full older cache.
 */
import { mkdir, readFile, rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { busy, refused, unavailable } from "../../kernel/errors.ts";
import { prepareTokenizer } from "../tokenizer/load.ts";
import type { CatalogueFile, CatalogueModel } from "./catalogue.ts";
import { DESCRIPTION_FILE, type ModelDescription, readDescription } from "./description.ts";
import { type Fetch, fileUrl, hubPointer } from "./hub.ts";
import { sha256OfFile, transfer } from "./transfer.ts";

export interface DownloadOptions {
  readonly model: CatalogueModel;
  readonly cacheRoot: string;
  /** `MEMORY_INDUSTRY_MODELS_URL`, else the public hub. */
  readonly hubUrl: string;
  /** Take a file that neither the catalogue nor the hub's pointer vouches for. */
  readonly allowUnverified: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: DownloadProgress) => void;
  /** Default: the runtime's own, which honours HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly fetch?: Fetch;
  /** Free bytes at a path; default: the file system's answer. */
  readonly freeBytes?: (path: string) => Promise<number>;
  /** Milliseconds without a byte after which a connection counts as dead. */
  readonly stallMs?: number;
}

export interface DownloadProgress {
  readonly file: string;
  readonly receivedBytes: number;
  /** Undefined while the server has not said. */
  readonly totalBytes: number | undefined;
  /** Which of how many files, from 1. */
  readonly index: number;
  readonly count: number;
}

/** Who says that a file is the right one. `recorded`: an earlier download of ours. */
export type Voucher = "catalogue" | "hub" | "recorded" | "nobody";

export interface InstalledFile {
  readonly name: string;
  readonly sha256: string;
  readonly size: number;
  readonly voucher: Voucher;
}

export interface DownloadResult {
  /** `already`: every file was there and right, nothing was fetched. */
  readonly kind: "installed" | "already";
  readonly directory: string;
  readonly files: readonly InstalledFile[];
}

const STALL_MS = 60_000;
/** Left free beyond what is fetched: logs and the database live on the same disk. */
const SPARE_BYTES = 64_000_000;

const freeOn = async (path: string) => {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
};

/**
 * @throws MemoryError `unavailable` (network, space; run again to continue), `corrupt` (wrong bytes, deleted), `refused` (nobody vouches for a file),
 * `busy` (another process fetches the same model), `cancelled`.
 */
export async function downloadModel(options: DownloadOptions): Promise<DownloadResult> {
  const { model, cacheRoot } = options;
  const leaf = join(cacheRoot, model.leaf);
  const staging = `${leaf}.downloading`;
  await mkdir(cacheRoot, { recursive: true });
  await using _lock = await lockFor(staging);
  const recorded = await readDescription(leaf).catch(() => undefined);
  const present = new Map<string, InstalledFile>();
  for (const file of model.files) {
    const there = await rightFile(leaf, file, recorded?.name === model.name ? recorded : undefined);
    if (there !== undefined) present.set(file.as, there);
  }
  const missing = model.files.filter(({ as }) => !present.has(as));
  if (missing.length > 0) {
    const fetched = await fetchAll(options, staging, missing);
    for (const file of fetched) present.set(file.name, file);
  }
  const files = model.files.flatMap(({ as }) => present.get(as) ?? []);
  await install(leaf, staging, descriptionOf(model, files), missing.length > 0);
  await prepareTokenizer({ directory: leaf });
  return { kind: missing.length > 0 ? "installed" : "already", directory: leaf, files };
}

/** A file that is there and has the digest that the catalogue, or our own record, asks for. */
async function rightFile(leaf: string, file: CatalogueFile, recorded: ModelDescription | undefined): Promise<InstalledFile | undefined> {
  const expected = file.sha256 ?? recorded?.files[file.as]?.sha256;
  const path = join(leaf, file.as);
  const found = await stat(path).catch(() => undefined);
  if (expected === undefined || found === undefined) return undefined;
  const sha256 = await sha256OfFile(path);
  return sha256 === expected
    ? { name: file.as, sha256, size: found.size, voucher: file.sha256 === undefined ? "recorded" : "catalogue" }
    : undefined;
}

async function fetchAll(options: DownloadOptions, staging: string, files: readonly CatalogueFile[]): Promise<InstalledFile[]> {
  const { model, hubUrl, signal, onProgress } = options;
  const fetch = options.fetch ?? globalThis.fetch;
  await mkdir(staging, { recursive: true });
  await checkSpace(options, staging, files);
  const fetched: InstalledFile[] = [];
  for (const [i, file] of files.entries()) {
    const destination = join(staging, file.as);
    const known = file.sha256 === undefined ? await pointed(options, fetch, file) : { sha256: file.sha256, size: file.size };
    const voucher: Voucher = file.sha256 !== undefined ? "catalogue" : known === undefined ? "nobody" : "hub";
    const onBytes = (receivedBytes: number, totalBytes: number | undefined) =>
      onProgress({ file: file.as, receivedBytes, totalBytes, index: i + 1, count: files.length });
    const staged = await stagedAlready(destination, known?.sha256);
    if (staged !== undefined) onBytes(staged.size, staged.size);
    const { sha256, size } =
      staged ??
      (await transfer({
        url: fileUrl(hubUrl, model, file),
        destination,
        sha256: known?.sha256,
        size: known?.size,
        fetch,
        signal,
        stallMs: options.stallMs ?? STALL_MS,
        onBytes,
      }));
    fetched.push({ name: file.as, sha256, size, voucher });
  }
  return fetched;
}

/** Left complete by a run that failed on a later file. */
async function stagedAlready(path: string, expected: string | undefined): Promise<{ sha256: string; size: number } | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || expected === undefined) return undefined;
  return (await sha256OfFile(path)) === expected ? { sha256: expected, size: found.size } : undefined;
}

async function pointed({ model, hubUrl, signal, allowUnverified }: DownloadOptions, fetch: Fetch, file: CatalogueFile) {
  const pointer = await hubPointer(fetch, hubUrl, model, file, signal).catch((cause: unknown) => {
    throw unavailable(
      `The server could not be asked about ${file.as} of ${model.name}. Nothing was installed. Check the connection and run the same command again.`,
      {
        cause,
      },
    );
  });
  if (pointer === undefined && !allowUnverified) {
    throw refused(
      `Nobody vouches for ${file.as} of ${model.name}: the catalogue has no digest for it yet and the server shows no pointer. Nothing was installed. --allow-unverified takes it all the same.`,
    );
  }
  return pointer;
}

async function checkSpace({ model, freeBytes = freeOn }: DownloadOptions, staging: string, files: readonly CatalogueFile[]): Promise<void> {
  const sizes = files.map(({ size }) => size);
  const wanted = sizes.every((size) => size !== undefined) ? sizes.reduce((sum, size) => sum + size, 0) : model.aboutBytes;
  const parts = await Promise.all(
    files.flatMap(({ as }) => [as, `${as}.part`]).map(async (name) => (await stat(join(staging, name)).catch(() => undefined))?.size ?? 0),
  );
  const needed = wanted - parts.reduce((sum, size) => sum + size, 0) + SPARE_BYTES;
  const free = await freeBytes(staging);
  if (free >= needed) return;
  const mb = (count: number) => `${Math.ceil(count / 1_000_000)} MB`;
  throw unavailable(
    `${model.name} needs ${mb(needed)} of free space and there are ${mb(free)}. Nothing was installed. Make room and run the same command again.`,
  );
}

/** The product's own file for a model of the catalogue. */
function descriptionOf(model: CatalogueModel, files: readonly InstalledFile[]): ModelDescription {
  const common = {
    format: 1 as const,
    name: model.name,
    max_tokens: model.maxTokens,
    pad_id: model.padId,
    files: Object.fromEntries(files.map(({ name, sha256, size }) => [name, { sha256, size }])),
  };
  switch (model.slot) {
    case "embed": {
      const { dimensions, pooling, queryPrefix, passagePrefix, output, golden } = model.settings;
      return {
        ...common,
        kind: "embedding",
        dimensions,
        pooling,
        query_prefix: queryPrefix,
        passage_prefix: passagePrefix,
        ...(output === undefined ? {} : { output }),
        ...(golden === undefined ? {} : { golden }),
      };
    }
    case "reranker":
      return { ...common, kind: "reranker", ...(model.golden === undefined ? {} : { golden: model.golden }) };
    case "nli":
      return { ...common, kind: "nli", labels: [...model.labels], ...(model.golden === undefined ? {} : { golden: model.golden }) };
  }
}

/** Puts everything in place: the whole directory at once where there is none, else file by file with the description last. */
async function install(leaf: string, staging: string, description: ModelDescription, fetched: boolean): Promise<void> {
  const text = `${JSON.stringify(description, null, 2)}\n`;
  if (fetched && (await stat(leaf).catch(() => undefined)) === undefined) {
    await writeFile(join(staging, DESCRIPTION_FILE), text);
    await prepareTokenizer({ directory: staging });
    await rename(staging, leaf);
    return;
  }
  if ((await readFile(join(leaf, DESCRIPTION_FILE), "utf8").catch(() => "")) !== text || fetched) {
    await mkdir(staging, { recursive: true });
    await writeFile(join(staging, DESCRIPTION_FILE), text);
    for (const name of [...Object.keys(description.files), DESCRIPTION_FILE]) {
      // A file that was right already is not in staging.
      await rename(join(staging, name), join(leaf, name)).catch(ignoreMissing);
    }
  }
  await rm(staging, { recursive: true, force: true });
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
}

/** One process at a time writes a staging directory; the lock of a dead process counts for nothing. */
async function lockFor(staging: string): Promise<AsyncDisposable> {
  const path = `${staging}.lock`;
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      await writeFile(path, String(process.pid), { flag: "wx" });
      return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      // Our own id was left by a dead process too: containers give the same small numbers again and again.
      const owner = Number(await readFile(path, "utf8").catch(() => ""));
      if (owner !== process.pid && isAlive(owner)) break;
      await rm(path, { force: true });
    }
  }
  throw busy("Another process is downloading this model. Nothing was changed. Wait until it is done.");
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
