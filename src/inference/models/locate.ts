/** Which directory holds the embedding model; looks at names and sizes, loads nothing. */
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { MemoryError } from "../../kernel/errors.ts";
import { TOKENIZER_FILE } from "../tokenizer/load.ts";
import { DEFAULT_EMBEDDING_MODEL, embeddingModel } from "./catalogue.ts";
import { DESCRIPTION_FILE, type ModelDescription, readDescription } from "./description.ts";
import { contradiction, type EmbeddingOverrides, type EmbeddingSettings, settingsOf, withOverrides } from "./settings.ts";

export interface EmbeddingPlaces {
  /** `ONNX_MODEL_PATH`: a directory or a graph file. Final: what is not there is not looked for elsewhere. */
  readonly explicitPath?: string | undefined;
  /** `~/.cache/memory-industry`; undefined where there is no home. */
  readonly cacheRoot?: string | undefined;
  /** `~/.cache/cuba-memorys`: read, never written. */
  readonly legacyCacheRoot?: string | undefined;
  readonly overrides: EmbeddingOverrides;
}

/** `missing`: nothing installed, no fault. `refused`: installed, and not to be used as it stands. */
export type LocatedModel =
  | {
      readonly kind: "installed";
      readonly settings: EmbeddingSettings;
      readonly directory: string;
      /** The graph, an absolute or given path. */
      readonly graphFile: string;
      /** Changes whenever the weights do: the digest of the model's own file, else its size and time. Part of the cache key. */
      readonly fingerprint: string;
      /** Changes whenever a file of the model is replaced, good or bad: a failed load is worth another try. */
      readonly stamp: string;
      readonly remedy?: string | undefined;
    }
  | {
      readonly kind: "missing";
      readonly settings: EmbeddingSettings;
      readonly reason: string;
      readonly isDisabledByPlan?: boolean;
      readonly remedy?: string | undefined;
    }
  | {
      readonly kind: "refused";
      readonly settings: EmbeddingSettings;
      readonly reason: string;
      readonly stamp: string;
      readonly remedy?: string | undefined;
    };

/** Today's name first, then that of older caches. */
const GRAPH_FILES = ["model.onnx", "model_quantized.onnx"];

/** The one command that makes a missing model present. */
export const INSTALL_COMMAND = "memory-industry models embed";

/** Installing goes to the cache directory, which is not looked at while the variable is set. */
const PATH_REMEDY = `put the whole model where ONNX_MODEL_PATH points, or unset it and run '${INSTALL_COMMAND}'`;

/** A path that the memory plan writes: it never exists, and its name tells "does not fit this machine" from "not installed". */
export const DISABLED_BY_PLAN = "disabled-by-resource-plan";

/** @throws never for a missing or damaged model: that is an answer. */
export async function locateEmbeddingModel(places: EmbeddingPlaces): Promise<LocatedModel> {
  const settings = expectedSettings(places.overrides);
  if (places.explicitPath?.includes(DISABLED_BY_PLAN)) {
    const reason =
      "The memory of this machine does not hold the embedding model, so the resource plan switched it off; 'memory-industry doctor' shows the plan.";
    return { kind: "missing", settings, reason, isDisabledByPlan: true };
  }
  for (const candidate of candidates(places)) {
    const files = await modelFiles(candidate);
    if (files !== undefined)
      return {
        ...(await described(files, settings, places.overrides)),
        ...(places.explicitPath === undefined ? {} : { remedy: PATH_REMEDY }),
      };
  }
  const flag = settings.name === DEFAULT_EMBEDDING_MODEL ? "" : ` --model ${settings.name}`;
  if (places.explicitPath === undefined)
    return { kind: "missing", settings, reason: `No embedding model is installed. Install it with '${INSTALL_COMMAND}${flag}'.` };
  const reason = `ONNX_MODEL_PATH names no model directory (model.onnx with tokenizer.json). Correct it, or unset it and run '${INSTALL_COMMAND}'.`;
  return { kind: "missing", settings, reason, remedy: PATH_REMEDY };
}

/** What to expect of a model by its name alone: an unknown name is a model of the default's shape. */
function expectedSettings(overrides: EmbeddingOverrides): EmbeddingSettings {
  const name = overrides.name ?? DEFAULT_EMBEDDING_MODEL;
  const entry = embeddingModel(name) ?? embeddingModel(DEFAULT_EMBEDDING_MODEL);
  if (entry === undefined) throw new Error("the catalogue has lost its default embedding model");
  return withOverrides({ ...entry.settings, name, maxTokens: entry.maxTokens }, overrides);
}

/** `models` for the default, `models-<name>` for another, in the product's cache and then in the legacy one. */
function candidates({ explicitPath, cacheRoot, legacyCacheRoot, overrides }: EmbeddingPlaces): string[] {
  if (explicitPath !== undefined) return [explicitPath];
  const name = overrides.name ?? DEFAULT_EMBEDDING_MODEL;
  const leaf = embeddingModel(name)?.leaf ?? `models-${name}`;
  return [cacheRoot, legacyCacheRoot].filter((root) => root !== undefined).map((root) => join(root, leaf));
}

export interface ModelFiles {
  readonly directory: string;
  readonly graphFile: string;
  /** `name:size:time` of each file that matters. */
  readonly stamps: readonly string[];
  readonly graphName: string;
  readonly graphBytes: number;
}

/** A directory counts by its artefact, not by its existence: an empty leaf must not hide a full one elsewhere. */
export async function modelFiles(path: string): Promise<ModelFiles | undefined> {
  const given = await statOf(path);
  if (given === undefined) return undefined;
  const directory = given.isDirectory() ? path : dirname(path);
  const graphs = given.isDirectory() ? GRAPH_FILES.map((name) => join(path, name)) : [path];
  const tokenizer = await statOf(join(directory, TOKENIZER_FILE));
  if (tokenizer === undefined) return undefined;
  for (const graphFile of graphs) {
    const graph = await statOf(graphFile);
    if (graph === undefined || !graph.isFile()) continue;
    const description = await statOf(join(directory, DESCRIPTION_FILE));
    const stamps = [graph, tokenizer, description].map((each) => `${each?.size ?? 0}:${each?.mtimeMs ?? 0}`);
    return { directory, graphFile, stamps, graphName: graphFile.slice(directory.length + 1), graphBytes: graph.size };
  }
  return undefined;
}

const statOf = (path: string) => stat(path).catch(() => undefined);

async function described(files: ModelFiles, expected: EmbeddingSettings, overrides: EmbeddingOverrides): Promise<LocatedModel> {
  const stamp = files.stamps.join(" ");
  const refusedWith = (settings: EmbeddingSettings, reason: string): LocatedModel => ({ kind: "refused", settings, reason, stamp });
  let description: ModelDescription | undefined;
  try {
    description = await readDescription(files.directory);
  } catch (error) {
    return refusedWith(expected, error instanceof MemoryError ? error.message : `${DESCRIPTION_FILE} of the model cannot be read`);
  }
  const { directory, graphFile } = files;
  if (description === undefined) {
    return { kind: "installed", settings: expected, directory, graphFile, fingerprint: files.stamps[0] ?? "", stamp };
  }
  if (description.kind !== "embedding")
    return refusedWith(expected, `${description.name} is no embedding model but one of the kind '${description.kind}'.`);
  const settings = settingsOf(description);
  const wrong = contradiction(settings, overrides);
  if (wrong !== undefined) return refusedWith(settings, wrong);
  const pinned = description.files[files.graphName];
  if (pinned !== undefined && pinned.size !== files.graphBytes) {
    return refusedWith(
      settings,
      `${files.graphName} has ${files.graphBytes} bytes where ${pinned.size} are expected: the file is not whole.`,
    );
  }
  return { kind: "installed", settings, directory, graphFile, fingerprint: pinned?.sha256 ?? files.stamps[0] ?? "", stamp };
}
