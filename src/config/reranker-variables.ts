/** Variables of the reranker and of the card that it may run on, part of the one table in `variables.ts`. */
import { integer, oneOf, onOff, path, powerOfTwoOrZero, seconds } from "../kernel/kinds.ts";

const device = oneOf(["gpu", "cpu"], { cuda: "gpu", directml: "gpu" });

export const rerankerVariables = {
  RERANKER_PATH: {
    is: path,
    group: "models",
    unset: "reranker/ in the cache directory",
    doc: "directory of the reranker; a path that does not exist switches it off",
  },
  RERANK_TIMEOUT_SECS: {
    is: seconds(1, 600),
    group: "models",
    default: 20,
    doc: "longest time of a search that is reranked, loading and waiting included; after it the fused order is served",
  },
  RERANK_DEVICE: {
    is: device,
    group: "models",
    default: "gpu",
    doc: "where the reranker runs; a card only where the program, its libraries and the memory plan allow it",
  },
  GPU_MEM_LIMIT_MB: {
    is: integer(1, 1_048_576),
    group: "models",
    unset: "what is free there, less 512",
    doc: "MiB of a card for the reranker",
  },
  RERANK_INTRA_THREADS: {
    is: integer(1, 256),
    group: "models",
    unset: "2 on a card, else half the logical cores, 1 to 8",
    doc: "threads of the reranker",
  },
  RERANK_CHUNK: { is: integer(1, 1_024), group: "models", default: 16, doc: "candidates of one pass through the reranker" },
  RERANK_BUCKET: {
    is: powerOfTwoOrZero(512),
    group: "models",
    unset: "512 where the shape is fixed, else 0",
    doc: "texts are padded to a multiple of so many tokens; 0 pads to the longest of the pass",
  },
  RERANK_FIXED_SHAPE: {
    is: onOff,
    group: "models",
    unset: "on where the reranker is placed on a card",
    doc: "every pass has the same shape",
  },
  RERANK_LENGTH_BUCKETING: {
    is: onOff,
    group: "models",
    unset: "on unless the shape is fixed",
    doc: "candidates of similar length go together",
  },
  WARM_RERANKER: { is: onOff, group: "models", default: "off", doc: "load the reranker at the start in place of with its first question" },
} as const;
