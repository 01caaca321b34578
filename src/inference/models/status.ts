/** What is installed, for `models status` and `doctor`: names, sizes and digests; loads nothing. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type CatalogueModel, catalogue, type Slot } from "./catalogue.ts";
import { DESCRIPTION_FILE, type ModelDescription, readDescription } from "./description.ts";
import type { Voucher } from "./download.ts";
import { sha256OfFile } from "./transfer.ts";

export interface ModelStatus {
  readonly slot: Slot;
  readonly name: string;
  /** What the `models` command installs without `--model`. */
  readonly isDefault: boolean;
  /**
   * `installed`: all files there and, where digests were computed, right · `damaged`: a file is missing, has another size or another digest ·
   * `foreign`: the place holds something that is not from the catalogue (a legacy cache, a model of one's own) · `missing`.
   */
  readonly state: "installed" | "damaged" | "foreign" | "missing";
  readonly directory: string | undefined;
  readonly files: readonly FileStatus[];
  /** One sentence where the state needs one. */
  readonly note: string | undefined;
}

export interface FileStatus {
  readonly name: string;
  readonly size: number | undefined;
  /** Undefined where the file is missing or digests were not asked for. */
  readonly sha256: string | undefined;
  readonly expected: string | undefined;
  readonly voucher: Voucher;
}

export interface StatusOptions {
  readonly cacheRoot: string;
  /** Read, never written. */
  readonly legacyCacheRoot?: string | undefined;
  /** Hash every file (a gigabyte takes seconds); without it sizes are compared. */
  readonly digests: boolean;
}

/** One row a model of the catalogue, in the catalogue's order. */
export async function modelStatus(options: StatusOptions): Promise<ModelStatus[]> {
  const rows: ModelStatus[] = [];
  for (const model of catalogue) rows.push(await statusOf(model, options));
  return rows;
}

const sizeOf = async (path: string) => (await stat(path).catch(() => undefined))?.size;

async function statusOf(model: CatalogueModel, { cacheRoot, legacyCacheRoot, digests }: StatusOptions): Promise<ModelStatus> {
  const common = {
    slot: model.slot,
    name: model.name,
    isDefault: model.slot === "embed" ? model.leaf === "models" : model.variant === "default",
  };
  const missing: ModelStatus = { ...common, state: "missing", directory: undefined, files: [], note: undefined };
  const directory = await holder(model, [cacheRoot, legacyCacheRoot]);
  if (directory === undefined) return missing;
  const read = await readDescription(directory).then(
    (description) => ({ description, broken: false }),
    () => ({ description: undefined, broken: true }),
  );
  const { description } = read;
  if (read.broken)
    return { ...common, state: "damaged", directory, files: [], note: `${DESCRIPTION_FILE} cannot be read; install the model again.` };
  if (description === undefined) {
    const note = `no ${DESCRIPTION_FILE}: an older cache or a model of your own, used as it is and not verified.`;
    return common.isDefault ? { ...common, state: "foreign", directory, files: [], note } : missing;
  }
  // Two models of the catalogue share a directory (a card's file and the processor's); the description says which one is there.
  if (description.name !== model.name) {
    const known = catalogue.some(({ name, leaf }) => name === description.name && leaf === model.leaf);
    return known || !common.isDefault ? missing : { ...common, state: "foreign", directory, files: [], note: `holds ${description.name}.` };
  }
  const files = await Promise.all(Object.keys(description.files).map((name) => fileStatus(directory, name, description, model, digests)));
  const wrong = files.filter(
    ({ name, size, sha256, expected }) => size !== description.files[name]?.size || (sha256 !== undefined && sha256 !== expected),
  );
  if (wrong.length === 0) return { ...common, state: "installed", directory, files, note: undefined };
  return {
    ...common,
    state: "damaged",
    directory,
    files,
    note: `not as downloaded: ${wrong.map(({ name }) => name).join(", ")}; install the model again.`,
  };
}

/** The first root whose leaf really holds a graph. */
async function holder({ leaf }: CatalogueModel, roots: readonly (string | undefined)[]): Promise<string | undefined> {
  for (const root of roots) {
    if (root === undefined) continue;
    for (const graph of ["model.onnx", "model_quantized.onnx"]) {
      if ((await sizeOf(join(root, leaf, graph))) !== undefined) return join(root, leaf);
    }
    if ((await sizeOf(join(root, leaf, DESCRIPTION_FILE))) !== undefined) return join(root, leaf);
  }
  return undefined;
}

async function fileStatus(
  directory: string,
  name: string,
  description: ModelDescription,
  model: CatalogueModel,
  digests: boolean,
): Promise<FileStatus> {
  const path = join(directory, name);
  const size = await sizeOf(path);
  const pinned = model.files.find(({ as }) => as === name)?.sha256;
  return {
    name,
    size,
    sha256: digests && size !== undefined ? await sha256OfFile(path) : undefined,
    expected: pinned ?? description.files[name]?.sha256,
    voucher: pinned === undefined ? "recorded" : "catalogue",
  };
}
