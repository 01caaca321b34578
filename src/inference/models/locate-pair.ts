/** Which directory holds the reranker or the entailment model, and what it must be told; looks at names and sizes, loads nothing. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { MemoryError } from "../../kernel/errors.ts";
import { catalogue } from "./catalogue.ts";
import { DESCRIPTION_FILE, type GoldenPairs, type ModelDescription, readDescription } from "./description.ts";
import { DISABLED_BY_PLAN, type ModelFiles, modelFiles } from "./locate.ts";

export type PairSlot = "reranker" | "nli";

export interface PairPlaces {
  readonly slot: PairSlot;
  /** `CUBA_RERANKER_PATH`, `CUBA_NLI_PATH`. Final: what is not there is not looked for elsewhere; a path that does not exist switches the model off. */
  readonly explicitPath?: string | undefined;
  readonly cacheRoot?: string | undefined;
  /** Read, never written. */
  readonly legacyCacheRoot?: string | undefined;
}

export const entailmentLabels = ["entailment", "neutral", "contradiction"] as const;
export type EntailmentLabel = (typeof entailmentLabels)[number];

export interface PairModel {
  readonly kind: "installed";
  readonly name: string;
  readonly directory: string;
  readonly graphFile: string;
  /** In tokens, specials included. */
  readonly maxTokens: number;
  readonly padId: number;
  /** Meaning of the logits in their order; empty for a reranker. */
  readonly labels: readonly EntailmentLabel[];
  /** Changes whenever the weights do; part of a cache key. */
  readonly fingerprint: string;
  /** Changes whenever a file of the model is replaced, good or bad. */
  readonly stamp: string;
  /** Pairs whose values are known, for `doctor`; undefined where nobody has computed them. */
  readonly golden: GoldenPairs | undefined;
  /** One sentence about what is wrong with using it all the same. */
  readonly remark: string | undefined;
  readonly remedy?: string | undefined;
}

export type LocatedPair =
  | PairModel
  | {
      readonly kind: "missing";
      readonly name: string;
      readonly reason: string;
      readonly isDisabledByPlan?: boolean;
      readonly remedy?: string | undefined;
    }
  | {
      readonly kind: "refused";
      readonly name: string;
      readonly reason: string;
      readonly stamp: string;
      readonly remedy?: string | undefined;
    };

/** Catalogue directories: the one that is read where no path is given; the plan names the light one by its path. */
const LEAF: Readonly<Record<PairSlot, string>> = { reranker: "reranker", nli: "models-nli" };
const MISSING: Readonly<Record<PairSlot, string>> = {
  reranker: "No reranker is installed: search keeps the fused order. Install one with 'memory-industry models reranker'.",
  nli: "No entailment model is installed. Install one with 'memory-industry models nli'.",
};
const VARIABLE: Readonly<Record<PairSlot, string>> = { reranker: "CUBA_RERANKER_PATH", nli: "CUBA_NLI_PATH" };
/** No model of the two kinds reads more; longer pairs only cost time (`retrieval.md` §4.3). */
const MOST_TOKENS = 512;

const pathRemedy = (slot: PairSlot) =>
  `put the whole model where ${VARIABLE[slot]} points, or unset it and run 'memory-industry models ${slot}'`;

const configSchema = z.looseObject({
  id2label: z.record(z.string(), z.string()).optional(),
  pad_token_id: z.int().nonnegative().nullable().optional(),
});
type ModelConfig = z.infer<typeof configSchema>;

/** @throws never for a missing or damaged model: that is an answer. */
export async function locatePairModel(places: PairPlaces): Promise<LocatedPair> {
  const { slot, explicitPath } = places;
  const standard = catalogue.find((model) => model.slot === slot && model.leaf === LEAF[slot]);
  const name = standard?.name ?? slot;
  if (explicitPath?.includes(DISABLED_BY_PLAN)) {
    const reason = `The memory of this machine does not hold the ${slot === "nli" ? "entailment model" : "reranker"} beside the rest, so the resource plan switched it off; 'memory-industry doctor' shows the plan.`;
    return { kind: "missing", name, reason, isDisabledByPlan: true };
  }
  const roots = [places.cacheRoot, places.legacyCacheRoot].filter((root) => root !== undefined);
  for (const path of explicitPath === undefined ? roots.map((root) => join(root, LEAF[slot])) : [explicitPath]) {
    const files = await modelFiles(path);
    if (files !== undefined) return await described(slot, name, files, explicitPath === undefined ? undefined : pathRemedy(slot));
  }
  if (explicitPath === undefined) return { kind: "missing", name, reason: MISSING[slot] };
  return {
    kind: "missing",
    name,
    reason: `${VARIABLE[slot]} names no model directory (model.onnx with tokenizer.json): the model is off.`,
    remedy: pathRemedy(slot),
  };
}

async function described(slot: PairSlot, standardName: string, files: ModelFiles, remedy: string | undefined): Promise<LocatedPair> {
  const config = await readConfig(files.directory);
  const stamp = [...files.stamps, config.stamp].join(" ");
  const refused = (name: string, reason: string): LocatedPair => ({ kind: "refused", name, reason, stamp, remedy });
  let description: ModelDescription | undefined;
  try {
    description = await readDescription(files.directory);
  } catch (error) {
    return refused(standardName, error instanceof MemoryError ? error.message : `${DESCRIPTION_FILE} of the model cannot be read.`);
  }
  const name = description?.name ?? standardName;
  if (description !== undefined && description.kind !== slot) {
    return refused(name, `${name} is a model of the kind '${description.kind}', not '${slot}'.`);
  }
  const pinned = description?.files[files.graphName];
  if (pinned !== undefined && pinned.size !== files.graphBytes) {
    return refused(
      name,
      `${files.graphName} has ${files.graphBytes} bytes where ${pinned.size} are expected: the file is not whole. To mend it: ${remedy ?? `run 'memory-industry models ${slot}' again`}.`,
    );
  }
  const labels = slot === "nli" ? labelsOf(config.value, description) : [];
  if (typeof labels === "string") return refused(name, labels);
  const standard = catalogue.find((model) => model.name === name) ?? catalogue.find((model) => model.name === standardName);
  return {
    kind: "installed",
    name,
    directory: files.directory,
    graphFile: files.graphFile,
    maxTokens: Math.min(description?.max_tokens ?? MOST_TOKENS, MOST_TOKENS),
    padId: description?.pad_id ?? config.value.pad_token_id ?? standard?.padId ?? 0,
    labels,
    fingerprint: pinned?.sha256 ?? files.stamps[0] ?? "",
    stamp,
    remedy,
    golden: description?.golden,
    remark:
      slot === "nli" && files.graphName === "model_quantized.onnx"
        ? "the entailment model is a quantised file: such files read 'disabled by default' as supporting 'enabled'; install the FP32 one with 'memory-industry models nli'"
        : undefined,
  };
}

/** `config.json` beside the graph; empty where there is none or it is not readable, which is no fault of the weights. */
async function readConfig(directory: string): Promise<{ readonly value: ModelConfig; readonly stamp: string }> {
  const path = join(directory, "config.json");
  try {
    const [text, { size, mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    const parsed = configSchema.safeParse(JSON.parse(text));
    return { value: parsed.success ? parsed.data : {}, stamp: `${size}:${mtimeMs}` };
  } catch {
    return { value: {}, stamp: "0:0" };
  }
}

/** The order of the logits: the model's own file, then ours. @returns a sentence where the labels are not the three. */
function labelsOf({ id2label }: ModelConfig, description: ModelDescription | undefined): readonly EntailmentLabel[] | string {
  if (id2label === undefined) return description?.kind === "nli" ? description.labels : entailmentLabels;
  const labels = Object.entries(id2label)
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([, label]) => label.toLowerCase());
  const known = entailmentLabels.filter((label) => labels.includes(label));
  if (labels.length !== entailmentLabels.length || known.length !== entailmentLabels.length) {
    return `config.json names the labels ${labels.join(", ")}; an entailment model must tell entailment, neutral and contradiction apart.`;
  }
  return labels.flatMap((label) => entailmentLabels.find((each) => each === label) ?? []);
}
