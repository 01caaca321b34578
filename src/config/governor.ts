/**
 * The memory governor (`config-packaging.md` §4): from readings of the machine to the models that run and the knobs that follow, once, at the start. It only
 * takes away (no knob is above its value without it), the operator always wins (it writes to its own layer, below every explicit variable), and it
 * invents no new degradation: a model that does not fit is pointed at a path that does not exist, which is how an operator switches one off.
 */

/** Every size in MiB. */
export interface Readings {
  readonly totalMb: number;
  /** What the kernel says new work can have; not what is free. */
  readonly availableMb: number;
  /** Smallest limit between the root of the cgroup file system and this process. */
  readonly cgroupLimitMb: number | undefined;
  readonly logicalCores: number;
  /** Of the first card; undefined in a build that cannot use one. */
  readonly vramFreeMb: number | undefined;
  /** The two halves of it, each looked at by itself: a card of this machine, and a provider library beside the runtime. */
  readonly hasCard?: boolean;
  readonly hasCardLibrary?: boolean;
  /** Size of the files on disk; undefined where the model is not installed. */
  readonly weights: {
    readonly embedder: number | undefined;
    readonly reranker: number | undefined;
    readonly rerankerLight: number | undefined;
    readonly nli: number | undefined;
    readonly nliLight: number | undefined;
  };
  /** `CUBA_RERANK_DEVICE` as a person set it. */
  readonly wantedDevice?: "gpu" | "cpu" | undefined;
  /** `CUBA_GPU_MEM_LIMIT_MB` as a person set it. */
  readonly wantedGpuCapMb?: number | undefined;
}

export type Level = "minimal" | "lean" | "standard" | "full";
export type ModelSlot = "embedder" | "reranker" | "nli";

/** `absent`: not on disk, so nothing is reserved for it. `off`: on disk and does not fit. */
export interface ModelPlan {
  readonly state: "runs" | "light" | "off" | "absent";
  readonly costMb: number;
  /** One sentence for `doctor`. */
  readonly reason: string;
}

export interface Plan {
  readonly readings: Readings;
  readonly budgetMb: number;
  readonly level: Level;
  /** Base and every model that runs. */
  readonly committedMb: number;
  readonly models: Readonly<Record<ModelSlot, ModelPlan>>;
  readonly rerankerOnCard: boolean;
  /** Set where the reranker runs on a card. */
  readonly card: { readonly capMb: number; readonly floorMb: number } | undefined;
  /** For the governor's layer of the configuration. */
  readonly variables: Readonly<Record<string, string>>;
  /** What an operator set and cannot work, for the log. */
  readonly problems: readonly string[];
}

/** Where the plan may point a model. */
export interface PlanPlaces {
  /** A path that never exists; its name says who wrote it. */
  readonly disabled: string;
  readonly rerankerLight: string;
  readonly nliLight: string;
}

/** Left to the rest of the machine. */
const RESERVE_MB = 768;
const BASE_MB = 220;
/** Measured with the models of the earlier generation (§5): resident after the first run. */
const COST_MB: Readonly<Record<ModelSlot, number>> = { embedder: 900, reranker: 1_100, nli: 1_100 };
/** A small model beside its weights: tokenizer, runtime, activations. e5-small: 86 MB on disk, 152 MB resident (decision 0041). */
const OVERHEAD_MB = 130;

/** Bytes of one sample of the out-of-distribution fit (1,024 doubles, two copies) and the share of the budget it may take. */
const FIT_SAMPLE_BYTES = 1_024 * 8 * 2;
const FIT_SHARE = 20;
const MEBIBYTE = 1_048_576;

const clamp = (value: number, least: number, most: number) => Math.min(most, Math.max(least, value));
/** What a model of known weight takes where the constants say nothing about it. */
const weighed = (weightMb: number) => Math.ceil(weightMb) + OVERHEAD_MB;

/** The plan for these readings. Pure: same readings, same plan; touches no environment and no disk. */
export function planResources(readings: Readings, places: PlanPlaces): Plan {
  const { availableMb, cgroupLimitMb, weights, logicalCores } = readings;
  // The cgroup wins: a machine reported 7.16 GB available under a limit of 4.39 GiB.
  const budgetMb = Math.max(0, Math.floor(Math.min(cgroupLimitMb ?? Number.POSITIVE_INFINITY, availableMb)) - RESERVE_MB);
  const need = embedderNeed(weights.embedder);
  const room = budgetMb - BASE_MB;
  const hasEmbedder = room >= need.least;
  // A quality helper comes beside the whole reserve of the embedder, a light one beside what the embedder weighs.
  const reranker = planHelper("reranker", hasEmbedder, room - need.usual, room - need.least, weights.reranker, weights.rerankerLight);
  const taken = reranker.costMb;
  const nli = planHelper("nli", hasEmbedder, room - need.usual - taken, room - need.least - taken, weights.nli, weights.nliLight);
  const embedder = planEmbedder(weights.embedder, need, room - taken - nli.costMb, room);
  const card = placeOnCard(readings);
  const models = { embedder, reranker, nli };
  const rerankerOnCard = card.place !== undefined && reranker.state === "runs";
  return {
    readings,
    budgetMb,
    level: levelOf(models),
    committedMb: BASE_MB + embedder.costMb + reranker.costMb + nli.costMb,
    models,
    rerankerOnCard,
    card: rerankerOnCard && card.place !== undefined ? { capMb: card.place.capMb, floorMb: card.place.floorMb } : undefined,
    variables: {
      CUBA_EMBED_INTRA_THREADS: String(threads(logicalCores, 4)),
      CUBA_NLI_INTRA_THREADS: String(threads(logicalCores, 4)),
      CUBA_RERANK_INTRA_THREADS: String(rerankerOnCard ? 2 : threads(logicalCores, 8)),
      CUBA_RERANK_CHUNK: String(rerankerOnCard ? (card.place?.chunk ?? 8) : isRunning(reranker) ? 4 : 16),
      CUBA_DB_MAX_CONNECTIONS: String(clamp(logicalCores, 2, 4)),
      CUBA_OOD_FIT_LIMIT: String(clamp(Math.floor((budgetMb * MEBIBYTE) / FIT_SHARE / FIT_SAMPLE_BYTES), 500, 5_000)),
      CUBA_RERANK_DEVICE: rerankerOnCard ? "gpu" : "cpu",
      ...(rerankerOnCard && card.place !== undefined ? { CUBA_GPU_MEM_LIMIT_MB: String(card.place.capMb) } : {}),
      ...pathOf("ONNX_MODEL_PATH", embedder, places.disabled, places.disabled),
      ...pathOf("CUBA_RERANKER_PATH", reranker, places.disabled, places.rerankerLight),
      ...pathOf("CUBA_NLI_PATH", nli, places.disabled, places.nliLight),
    },
    problems: rerankerOnCard ? card.problems : [],
  };
}

const threads = (logicalCores: number, most: number) => clamp(Math.floor(logicalCores / 2), 1, most);
const isRunning = ({ state }: ModelPlan) => state === "runs" || state === "light";

const pathOf = (variable: string, { state }: ModelPlan, disabled: string, light: string): Record<string, string> =>
  state === "off" ? { [variable]: disabled } : state === "light" ? { [variable]: light } : {};

const ABSENT: ModelPlan = { state: "absent", costMb: 0, reason: "not installed, so nothing is kept free for it" };

interface Need {
  /** What is kept free where there is room. */
  readonly usual: number;
  /** What it takes by the weight of its file. */
  readonly least: number;
}

function embedderNeed(weightMb: number | undefined): Need {
  if (weightMb === undefined) return { usual: 0, least: 0 };
  const usual = Math.max(COST_MB.embedder, Math.ceil(weightMb));
  return { usual, least: Math.min(usual, weighed(weightMb)) };
}

/** The whole reserve as far as the helpers leave it; a small model on a small machine by what its file weighs. */
function planEmbedder(weightMb: number | undefined, { usual, least }: Need, leftMb: number, room: number): ModelPlan {
  if (weightMb === undefined) return ABSENT;
  if (leftMb < least)
    return { state: "off", costMb: 0, reason: `needs ${least} MiB beside ${BASE_MB} of the program; ${Math.max(0, room)} are left` };
  const costMb = clamp(leftMb, least, usual);
  return { state: "runs", costMb, reason: `fits: ${costMb} of ${room} MiB` };
}

/** A helper without the embedder would search on words and judge the best of a worse list: it waits until the embedder fits. */
function planHelper(
  slot: "reranker" | "nli",
  hasEmbedder: boolean,
  leftMb: number,
  leftForLightMb: number,
  weightMb: number | undefined,
  lightMb: number | undefined,
): ModelPlan {
  if (weightMb === undefined && lightMb === undefined) return ABSENT;
  if (!hasEmbedder) return { state: "off", costMb: 0, reason: "the embedding model comes first, and that does not fit" };
  const left = Math.max(0, leftMb);
  if (weightMb !== undefined) {
    const costMb = Math.max(COST_MB[slot], Math.ceil(weightMb));
    if (left >= costMb) return { state: "runs", costMb, reason: `fits: ${costMb} of ${left} MiB` };
    if (lightMb === undefined) return { state: "off", costMb: 0, reason: `needs ${costMb} MiB; ${left} are left` };
  }
  const costMb = weighed(lightMb ?? 0);
  const leftLight = Math.max(0, leftForLightMb);
  const instead = weightMb === undefined ? "the only one installed" : "in place of the quality model, which does not fit";
  return leftLight >= costMb
    ? { state: "light", costMb, reason: `the light model, ${instead}: ${costMb} of ${leftLight} MiB` }
    : { state: "off", costMb: 0, reason: `even the light model needs ${costMb} MiB; ${leftLight} are left` };
}

function levelOf({ embedder, reranker, nli }: Plan["models"]): Level {
  if (!isRunning(embedder)) return "minimal";
  if (isRunning(reranker) && isRunning(nli)) return "full";
  return isRunning(reranker) || isRunning(nli) ? "standard" : "lean";
}

/** Kept free on a card, and what a pair, the context and expanded weights take there (2,938 against 2,364 MiB at chunk 16 and 4). */
const CARD_RESERVE_MB = 512;
const CARD_PAIR_MB = 48;
const CARD_CONTEXT_MB = 448;
const EXPANDED = 1.1;
const WIDE_CHUNK = 16;
const NARROW_CHUNK = 8;

interface CardPlace {
  readonly chunk: number;
  readonly capMb: number;
  readonly floorMb: number;
}

/** Unknown weights are not placed on a card; an honest processor beats an arena that bursts. */
function placeOnCard({ vramFreeMb, weights, wantedDevice, wantedGpuCapMb }: Readings): {
  readonly place: CardPlace | undefined;
  readonly problems: readonly string[];
} {
  const weightMb = weights.reranker;
  if (vramFreeMb === undefined || weightMb === undefined || wantedDevice === "cpu") return { place: undefined, problems: [] };
  const ceiling = vramFreeMb - CARD_RESERVE_MB;
  const floor = (chunk: number) => weightMb * EXPANDED + CARD_PAIR_MB * chunk;
  const fits = (each: number) => floor(each) + CARD_CONTEXT_MB <= ceiling;
  // A wish that holds the narrow batch is kept to; one that holds none is raised.
  const isWished = (each: number) => wantedGpuCapMb === undefined || wantedGpuCapMb < floor(NARROW_CHUNK) || floor(each) <= wantedGpuCapMb;
  const chunk = [WIDE_CHUNK, NARROW_CHUNK].find((each) => fits(each) && isWished(each));
  if (chunk === undefined) return { place: undefined, problems: [] };
  const floorMb = Math.round(floor(chunk));
  // A cap under the floor saves nothing; it makes an allocation fail half-way.
  const isTooLow = wantedGpuCapMb !== undefined && wantedGpuCapMb < floorMb;
  return {
    place: { chunk, capMb: wantedGpuCapMb === undefined || isTooLow ? ceiling : wantedGpuCapMb, floorMb },
    problems: isTooLow
      ? [
          `CUBA_GPU_MEM_LIMIT_MB=${wantedGpuCapMb} is under the ${floorMb} MiB that the reranker needs on the card; ${ceiling} are used. To use less of the card set CUBA_RERANK_DEVICE=cpu.`,
        ]
      : [],
  };
}
