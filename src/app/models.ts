/** The models of this configuration, governed by the memory of this machine, and the judge that stands on them. Nothing is loaded here. */
import { existsSync } from "node:fs";
import { availableParallelism, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { type Plan, planResources } from "../config/governor.ts";
import { type Config, govern } from "../config/load.ts";
import { availableMb, cgroupLimitMb, modelWeightMb } from "../config/machine-readings.ts";
import { createEmbedder } from "../inference/embedder.ts";
import { createEntailment } from "../inference/entailment.ts";
import { DISABLED_BY_PLAN, type LocatedModel, locateEmbeddingModel } from "../inference/models/locate.ts";
import { type LocatedPair, locatePairModel, type PairSlot } from "../inference/models/locate-pair.ts";
import { CARD_LIBRARY } from "../inference/models/provider-libraries.ts";
import type { Embedder, Entailment, ModelState, Reranker } from "../inference/port.ts";
import { createReranker } from "../inference/reranker.ts";
import { deadlineIn } from "../kernel/deadline.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Judge } from "../services/judge/judge.ts";
import type { Assets } from "./assets.ts";
import { cacheFolderIfAny } from "./cache-folder.ts";
import { judgeOf } from "./judge.ts";

export interface ModelParts {
  /** As a person set it. */
  readonly config: Config;
  readonly assets: Assets;
  readonly log: Logger;
}

export interface Models {
  /** With what the governor says about variables that nobody set. */
  readonly config: Config;
  readonly plan: Plan;
  readonly embedder: Embedder;
  readonly reranker: Reranker;
  readonly entailment: Entailment;
  readonly judge: Judge;
  /** How search uses the reranker. */
  readonly rerank: RerankRules;
  close(): Promise<void>;
}

export interface RerankRules {
  /** Where a call says nothing: mode `completo`, or the reranker really runs on a card (`retrieval.md` §4.1). */
  readonly byDefault: boolean;
  /** Rows of the fused order that are scored. */
  readonly depth: number;
  readonly timeoutMs: number;
}

/** Others gained nothing beyond 20 on a processor; a card has the time for 50 (`retrieval.md` §4, `models.md` §2). */
const DEPTH = { cpu: 20, gpu: 50 };
/** Length of a fixed shape. */
const MOST_TOKENS = 512;

/** Half the cores, within bounds: beyond some four threads one text gets slower (`retrieval.md` §5.2). */
const halfTheCores = (most: number) => Math.min(most, Math.max(1, Math.floor(availableParallelism() / 2)));

const explicit = <T>(setting: { readonly value: T; readonly layer: string }) => (setting.layer === "default" ? undefined : setting.value);

/** Where the embedding model of this configuration lies. */
export const locateModel = ({ settings, paths }: Config): Promise<LocatedModel> =>
  locateEmbeddingModel({
    explicitPath: settings.ONNX_MODEL_PATH.value,
    cacheRoot: paths.cacheRoot,
    legacyCacheRoot: paths.legacyCacheRoot,
    overrides: {
      name: explicit(settings.EMBED_MODEL),
      dimensions: explicit(settings.EMBEDDING_DIM),
      pooling: explicit(settings.POOLING),
      queryPrefix: explicit(settings.QUERY_PREFIX),
      passagePrefix: explicit(settings.PASSAGE_PREFIX),
    },
  });

export const locatePair = ({ settings, paths }: Config, slot: PairSlot): Promise<LocatedPair> =>
  locatePairModel({
    slot,
    explicitPath: slot === "nli" ? settings.NLI_PATH.value : settings.RERANKER_PATH.value,
    cacheRoot: paths.cacheRoot,
    legacyCacheRoot: paths.legacyCacheRoot,
  });

const runtimeOf = ({ config, assets }: ModelParts) => {
  const cache = cacheFolderIfAny(config.paths);
  return {
    runtimeDirectory: cache === undefined ? undefined : assets.runtimeDirectory(cache),
    runtimeLibrary: config.settings.ORT_DYLIB_PATH.value,
    derivedDirectory: cache,
  };
};

/** The models as this machine holds them. */
export async function openModels(parts: ModelParts): Promise<Models> {
  const plan = await planOf(parts);
  const config = govern(parts.config, plan.variables);
  const { settings } = config;
  const { log } = parts;
  const runtime = runtimeOf(parts);
  for (const problem of plan.problems) log.error(problem);
  const embedder = await createEmbedder({
    find: () => locateModel(config),
    threads: settings.EMBED_INTRA_THREADS.value ?? halfTheCores(4),
    ...runtime,
    log,
  });
  const onCard = plan.rerankerOnCard && settings.RERANK_DEVICE.value === "gpu";
  const fixedShape = settings.RERANK_FIXED_SHAPE.value ?? onCard;
  const reranker = await createReranker({
    find: () => locatePair(config, "reranker"),
    threads: settings.RERANK_INTRA_THREADS.value ?? (onCard ? 2 : halfTheCores(8)),
    rules: {
      chunk: settings.RERANK_CHUNK.value,
      // Padding every pair to 512 tokens on a processor would undo the sorting by length.
      bucket: settings.RERANK_BUCKET.value ?? (fixedShape ? MOST_TOKENS : 0),
      fixedShape,
      byLength: settings.RERANK_LENGTH_BUCKETING.value ?? !fixedShape,
    },
    placement: { device: onCard ? "gpu" : "cpu", arena: true, spinning: true },
    ...runtime,
    log,
  });
  // A card that was planned and could not be opened: a search must not pay 50 rows on the processor for it.
  const runsOnCard = () => onCard && displaced(reranker.status()) === undefined;
  const entailment = await createEntailment({
    find: () => locatePair(config, "nli"),
    threads: settings.NLI_INTRA_THREADS.value ?? halfTheCores(4),
    // It runs rarely and is large: no memory kept, no threads that wait busily.
    placement: { device: "cpu", arena: false, spinning: false },
    ...runtime,
    log,
  });
  return {
    config,
    plan,
    embedder,
    reranker,
    entailment,
    judge: judgeOf(config, entailment, log),
    rerank: {
      get byDefault() {
        return config.mode === "completo" || runsOnCard();
      },
      get depth() {
        return runsOnCard() ? DEPTH.gpu : DEPTH.cpu;
      },
      timeoutMs: settings.RERANK_TIMEOUT_SECS.value * 1_000,
    },
    async close() {
      await Promise.all([embedder.close(), reranker.close(), entailment.close()]);
    },
  };
}

/** Why a loaded model runs elsewhere than planned; undefined where it does not, or nobody has tried. */
export const displaced = (status: ModelState): string | undefined =>
  status.state === "ready" || status.state === "idle" || status.state === "loading" ? status.displaced : undefined;

/** A cold load from a slow disk and a first pass over kernels that compile for each shape. */
const WARM_MS = 600_000;
/** Some 240 characters, as memories are: warming with a short passage is useless on a card, whose kernels compile for each shape. */
const WARM_PASSAGE = "the service keeps its settings beside the database and reads them once at the start ".repeat(3);

/** `CUBA_WARM_RERANKER`: one batch of the real shape and depth, in the background. */
export function warmReranker({ config, reranker, rerank }: Models, log: Logger, signal: AbortSignal): void {
  if (!config.settings.WARM_RERANKER.value) return;
  const passages = Array.from({ length: rerank.depth }, (_, at) => `${at} ${WARM_PASSAGE}`);
  reranker.score("warm-up", passages, { deadline: deadlineIn(WARM_MS), signal }).then(
    (answer) => {
      if (answer.kind === "none") log.warn("the reranker could not be warmed", { code: answer.code, reason: answer.reason });
    },
    () => undefined, // cancelled: the product closes
  );
}

/** The memory plan of this machine, now. */
async function planOf({ config, assets, log }: ModelParts): Promise<Plan> {
  const { settings, paths } = config;
  const cache = cacheFolderIfAny(paths);
  const [embedder, reranker, nli] = await Promise.all([locateModel(config), locatePair(config, "reranker"), locatePair(config, "nli")]);
  const weightOf = (found: LocatedModel | LocatedPair) => (found.kind === "installed" ? modelWeightMb(found.directory) : undefined);
  const light = (leaf: string) => join(paths.cacheRoot ?? tmpdir(), leaf);
  const places = {
    disabled: join(tmpdir(), `memory-industry-${DISABLED_BY_PLAN}`),
    rerankerLight: light("reranker-light"),
    nliLight: light("models-nli-light"),
  };
  const plan = planResources(
    {
      totalMb: Math.round(totalmem() / 1_048_576),
      availableMb: availableMb(),
      cgroupLimitMb: cgroupLimitMb(),
      logicalCores: availableParallelism(),
      ...readCard(cache === undefined ? undefined : assets.runtimeDirectory(cache)),
      weights: {
        embedder: weightOf(embedder),
        reranker: weightOf(reranker),
        rerankerLight: modelWeightMb(places.rerankerLight),
        nli: weightOf(nli),
        nliLight: modelWeightMb(places.nliLight),
      },
      wantedDevice: explicit(settings.RERANK_DEVICE),
      wantedGpuCapMb: settings.GPU_MEM_LIMIT_MB.value,
    },
    places,
  );
  const { budgetMb, level, committedMb, readings } = plan;
  log.info("memory plan", { plan: level, budgetMb, committedMb, availableMb: readings.availableMb, cgroupLimitMb: readings.cgroupLimitMb });
  return plan;
}

const CARD_QUERY_MS = 2_000;
/** Made by the driver of a card. Asking the driver's program takes up to a second, which a start without the library does not spend. */
const CARD_DEVICES = ["/dev/nvidia0", "/dev/dxg"];

/** A card counts only where the library for it lies beside the runtime (`models runtime --gpu` says how). */
function readCard(runtimeDirectory: string | undefined): Pick<Plan["readings"], "vramFreeMb" | "hasCard" | "hasCardLibrary"> {
  const hasCard = CARD_DEVICES.some((device) => existsSync(device));
  const hasCardLibrary = runtimeDirectory !== undefined && existsSync(join(runtimeDirectory, CARD_LIBRARY));
  return { hasCard, hasCardLibrary, vramFreeMb: hasCardLibrary ? freeCardMemoryMb() : undefined };
}

/** Free memory of the first card, MiB; undefined where no driver answers. */
function freeCardMemoryMb(): number | undefined {
  try {
    const asked = Bun.spawnSync(["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"], { timeout: CARD_QUERY_MS });
    const free = Number.parseInt(asked.stdout.toString(), 10);
    return Number.isFinite(free) ? free : undefined;
  } catch {
    return undefined;
  }
}
