/**
 * The model catalogue: what the `models` command may fetch, pinned. Source of every value: `docs` of the models page (§1 sizes and settings, §4 pins).
 * A digest that nobody has published yet is `undefined`: at download the hub's own pointer vouches for the file instead, and `unpinnedFiles` lists it as a
 * gap to close before a release.
 */
import type { GoldenPairs } from "./description.ts";
import type { EmbeddingSettings } from "./settings.ts";

export type Slot = "embed" | "reranker" | "nli";

export interface CatalogueFile {
  /** Path in the repository on the hub. */
  readonly path: string;
  /** Name in the model directory. */
  readonly as: string;
  readonly sha256: string | undefined;
  /** Exact size in bytes, where it is published. */
  readonly size?: number;
}

interface CatalogueEntry {
  readonly name: string;
  /** `owner/name` on the hub. */
  readonly repository: string;
  /** Commit; `main` where no pin is known, and then the files' digests are all there is. */
  readonly revision: string;
  readonly licence: string;
  /** Directory under the cache root. */
  readonly leaf: string;
  /** Published size of all files, rounded: for the plan that is shown and the check of free space before the exact sizes are known. */
  readonly aboutBytes: number;
  readonly files: readonly CatalogueFile[];
  readonly maxTokens: number;
  readonly padId: number;
}

export interface EmbeddingModel extends CatalogueEntry {
  readonly slot: "embed";
  readonly settings: Omit<EmbeddingSettings, "name" | "maxTokens">;
}

export interface RerankerModel extends CatalogueEntry {
  readonly slot: "reranker";
  readonly golden: GoldenPairs | undefined;
  /** The sibling for small machines, or the file that belongs on a card. */
  readonly variant: "default" | "light" | "gpu";
}

export interface EntailmentModel extends CatalogueEntry {
  readonly slot: "nli";
  readonly golden: GoldenPairs | undefined;
  readonly variant: "default" | "light";
  /** Meaning of the graph's logits, in their order. */
  readonly labels: readonly ["entailment", "neutral", "contradiction"];
}

export type CatalogueModel = EmbeddingModel | RerankerModel | EntailmentModel;

/** The public hub; `MEMORY_INDUSTRY_MODELS_URL` names a mirror with the same paths. */
export const HUB_URL = "https://huggingface.co";

export const DEFAULT_EMBEDDING_MODEL = "multilingual-e5-small";

const MB = 1_000_000;
const labels = ["entailment", "neutral", "contradiction"] as const;

export const catalogue: readonly CatalogueModel[] = [
  {
    slot: "embed",
    name: DEFAULT_EMBEDDING_MODEL,
    repository: "Xenova/multilingual-e5-small",
    revision: "761b726dd34fb83930e26aab4e9ac3899aa1fa78",
    licence: "MIT",
    leaf: "models",
    aboutBytes: 135 * MB,
    files: [
      {
        path: "onnx/model_quantized.onnx",
        as: "model.onnx",
        sha256: "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193",
      },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39" },
    ],
    maxTokens: 512,
    padId: 1,
    settings: {
      dimensions: 384,
      pooling: "mean",
      queryPrefix: "query: ",
      passagePrefix: "passage: ",
      output: "last_hidden_state",
      golden: undefined,
    },
  },
  {
    slot: "embed",
    name: "granite-97m-multilingual-r2",
    repository: "ibm-granite/granite-embedding-97m-multilingual-r2",
    revision: "c61e626a6255c490879d0af885078b61929d51f6",
    licence: "Apache-2.0",
    leaf: "models-granite-97m-multilingual-r2",
    aboutBytes: 115 * MB,
    files: [
      {
        path: "onnx/model_quint8_avx2.onnx",
        as: "model.onnx",
        sha256: "a6022dd8220ea6f6595562a1328ee216f4a94faa55362f2f4747c80f1e78772e",
      },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: "4f2842d568e2724370aec203652a42ac783c7937f8347a1a2cc7506d71f1582f" },
    ],
    maxTokens: 8192,
    padId: 0,
    settings: { dimensions: 384, pooling: "cls", queryPrefix: "", passagePrefix: "", output: undefined, golden: undefined },
  },
  {
    slot: "embed",
    name: "arctic-m-v2.0",
    repository: "Snowflake/snowflake-arctic-embed-m-v2.0",
    revision: "main",
    licence: "Apache-2.0",
    leaf: "models-arctic-m-v2.0",
    aboutBytes: 328 * MB,
    files: [
      { path: "onnx/model_int8.onnx", as: "model.onnx", sha256: undefined },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: undefined },
    ],
    maxTokens: 8192,
    padId: 1,
    settings: { dimensions: 768, pooling: "cls", queryPrefix: "query: ", passagePrefix: "", output: undefined, golden: undefined },
  },
  {
    slot: "embed",
    name: "bge-m3",
    repository: "BAAI/bge-m3",
    revision: "main",
    licence: "MIT",
    leaf: "models-bge-m3",
    aboutBytes: 2_290 * MB,
    files: [
      { path: "onnx/model.onnx", as: "model.onnx", sha256: undefined },
      { path: "onnx/model.onnx_data", as: "model.onnx_data", sha256: undefined },
      {
        path: "onnx/tokenizer.json",
        as: "tokenizer.json",
        sha256: "6710678b12670bc442b99edc952c4d996ae309a7020c1fa0096dd245c2faf790",
      },
    ],
    maxTokens: 8192,
    padId: 1,
    settings: { dimensions: 1024, pooling: "cls", queryPrefix: "", passagePrefix: "", output: undefined, golden: undefined },
  },
  {
    slot: "embed",
    name: "pplx-embed-v1-0.6b",
    repository: "perplexity-ai/pplx-embed-v1-0.6b",
    revision: "main",
    licence: "MIT",
    leaf: "models-pplx-embed-v1-0.6b",
    aboutBytes: 900 * MB,
    files: [
      { path: "onnx/model_q4.onnx", as: "model.onnx", sha256: undefined },
      // The graph names its data file, so this one keeps the hub's name.
      { path: "onnx/model_q4.onnx_data", as: "model_q4.onnx_data", sha256: undefined },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: undefined },
    ],
    maxTokens: 8192,
    padId: 0,
    settings: { dimensions: 1024, pooling: "mean", queryPrefix: "", passagePrefix: "", output: undefined, golden: undefined },
  },
  {
    slot: "reranker",
    variant: "default",
    name: "bge-reranker-v2-m3",
    repository: "onnx-community/bge-reranker-v2-m3-ONNX",
    revision: "6f5ff65298512715a1e669753bc754d2bc8f367b",
    licence: "Apache-2.0",
    leaf: "reranker",
    aboutBytes: 588 * MB,
    files: [
      {
        path: "onnx/model_int8.onnx",
        as: "model.onnx",
        sha256: "912fc1215c2dbff6499700534bd8d31253af01573861abbfc43afd1fab6cce5d",
        size: 570_727_094,
      },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: undefined },
    ],
    maxTokens: 512,
    padId: 1,
    golden: undefined,
  },
  {
    slot: "reranker",
    variant: "gpu",
    name: "bge-reranker-v2-m3-fp16",
    repository: "celinehoang/bge-reranker-v2-m3-onnx",
    revision: "main",
    licence: "Apache-2.0",
    leaf: "reranker",
    aboutBytes: 4_640 * MB,
    files: [
      { path: "model.onnx", as: "model.onnx", sha256: "77f102be02885c81e5064485c5358e87721856d15ba750ae893480d39903a461" },
      { path: "model.onnx_data", as: "model.onnx_data", sha256: "c75282ab65d3f53c20a45f637fafbeb7f064cbd6b7c9df01bd8a32e41abe879b" },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: "8bf8afbfd11306bd872018c53bfdf2e160a56f8edbcf49933324404791c148d3" },
    ],
    maxTokens: 512,
    padId: 1,
    golden: undefined,
  },
  {
    slot: "reranker",
    variant: "light",
    name: "mmarco-mMiniLMv2-L12",
    repository: "cross-encoder/mmarco-mMiniLMv2-L12-H384-v1",
    revision: "1427fd652930e4ba29e8149678df786c240d8825",
    licence: "Apache-2.0",
    leaf: "reranker-light",
    aboutBytes: 136 * MB,
    files: [
      {
        path: "onnx/model_quint8_avx2.onnx",
        as: "model.onnx",
        sha256: "6c2513767fb63d008a4377bef7a7a3555433d9436342bb53e35a3a72ffc52d4b",
      },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: "62c24cdc13d4c9952d63718d6c9fa4c287974249e16b7ade6d5a85e7bbb75626" },
    ],
    maxTokens: 512,
    padId: 1,
    golden: undefined,
  },
  {
    slot: "nli",
    variant: "default",
    name: "mDeBERTa-v3-base-xnli-multilingual-nli-2mil7",
    repository: "MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7",
    revision: "main",
    licence: "MIT",
    leaf: "models-nli",
    aboutBytes: 1_136 * MB,
    files: [
      { path: "onnx/model.onnx", as: "model.onnx", sha256: undefined },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: undefined },
    ],
    maxTokens: 512,
    padId: 0,
    golden: undefined,
    labels,
  },
  {
    slot: "nli",
    variant: "light",
    name: "multilingual-MiniLMv2-L6-mnli-xnli",
    repository: "MoritzLaurer/multilingual-MiniLMv2-L6-mnli-xnli",
    revision: "0a71e92a985b6e1ad1828cf67ce9c459639c1dca",
    licence: "MIT",
    leaf: "models-nli-light",
    aboutBytes: 445 * MB,
    files: [
      { path: "onnx/model.onnx", as: "model.onnx", sha256: "79f8cda2b1230585a95ea0514a6f1bd21c5c986ba0529bb3261213a3e195fa6e" },
      { path: "tokenizer.json", as: "tokenizer.json", sha256: undefined },
    ],
    maxTokens: 512,
    padId: 1,
    golden: undefined,
    labels,
  },
];

/** The catalogue's embedding model of that name. */
export const embeddingModel = (name: string): EmbeddingModel | undefined =>
  catalogue.find((model): model is EmbeddingModel => model.slot === "embed" && model.name === name);

/** What a person, the machine or the memory plan wants of a slot. */
export interface ModelChoice {
  /** `--model`; beats the other two. */
  readonly name?: string | undefined;
  /** `--gpu`: the reranker's file for a card. */
  readonly gpu?: boolean;
  /** The memory plan: only the light sibling fits. The embedder has none. */
  readonly light?: boolean;
}

/** The model that `models <slot>` installs; undefined where the catalogue has none of that name in that slot. */
export function chosenModel(slot: Slot, { name, gpu = false, light = false }: ModelChoice): CatalogueModel | undefined {
  const offered = catalogue.filter((model) => model.slot === slot);
  if (name !== undefined) return offered.find((model) => model.name === name);
  const wanted = light ? "light" : gpu ? "gpu" : "default";
  return offered.find((model) => model.slot !== "embed" && model.variant === wanted) ?? offered[0];
}

/**
 * Models whose golden vector or values nobody has computed yet: that takes the very files (a vector of other bytes, 0.99, would refuse good ones), and
 * `scripts/golden.ts` does it. Until then `doctor` says that a model loads and answers, and cannot say that it answers right.
 */
export const modelsWithoutGolden = (): string[] =>
  catalogue.filter((model) => (model.slot === "embed" ? model.settings.golden : model.golden) === undefined).map(({ name }) => name);

/** Files that nothing of ours pins yet, as `model/file`: they are verified against the hub's pointer only. */
export const unpinnedFiles = (): string[] =>
  catalogue.flatMap((model) => model.files.filter(({ sha256 }) => sha256 === undefined).map(({ path }) => `${model.name}/${path}`));
