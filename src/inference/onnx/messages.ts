/** What a model's owner and its worker say to each other; both ends are ours, so these are types only. */
import type { Pooling } from "./pooling.ts";

/** What every model needs to be loaded; plain values, sent once. */
interface LoadCommon {
  readonly directory: string;
  readonly graphFile: string;
  /** In tokens, specials included. */
  readonly maxTokens: number;
  readonly threads: number;
  readonly runtimeDirectory: string | undefined;
  readonly runtimeLibrary: string | undefined;
  readonly derivedDirectory: string | undefined;
}

/** A text in, a vector out. */
export interface EmbeddingLoad extends LoadCommon {
  readonly task: "embed";
  readonly dimensions: number;
  readonly pooling: Pooling;
  readonly output: string | undefined;
}

/** Two texts in, logits out: a reranker or an entailment model. */
export interface PairLoad extends LoadCommon {
  readonly task: "pairs";
  readonly padId: number;
  readonly placement: PairPlacement;
  /** How many logits a pair must give; undefined takes what the graph returns. */
  readonly labels: number | undefined;
}

/** Where and how the session of a pair model runs. */
export interface PairPlacement {
  readonly device: "cpu" | "gpu";
  /** Keep freed host memory for the next run: on for a model that runs often, off for one that runs rarely and is large. */
  readonly arena: boolean;
  /** Threads that wait busily between two runs. */
  readonly spinning: boolean;
}

export type LoadRequest = EmbeddingLoad | PairLoad;

/** How a failure of the runtime itself begins: no download of a model mends it. */
export const RUNTIME_TROUBLE = "the ONNX runtime cannot be loaded";
export const LIBRARY_VARIABLE = "ORT_DYLIB_PATH";

/** What mends a load that failed for that reason, where it is not the model's own fault. */
export function runtimeRemedy(reason: string): string | undefined {
  if (reason.startsWith(LIBRARY_VARIABLE)) return `correct ${LIBRARY_VARIABLE}, or unset it: the program carries a runtime`;
  if (reason.startsWith(RUNTIME_TROUBLE))
    return "see that the cache directory can be written, and delete onnxruntime/ in it: the program writes it anew";
  return undefined;
}

export type ToWorker =
  | { readonly kind: "prepare"; readonly load: LoadRequest }
  | { readonly kind: "load"; readonly load: LoadRequest }
  /** `text` already carries its prefix. */
  | { readonly kind: "embed"; readonly text: string }
  /** The vectors of a text's tokens; those of its `prefix` are left out. */
  | { readonly kind: "tokens"; readonly prefix: string; readonly text: string }
  /** Tokenises pairs and keeps them until the next `encode`; `run` then names them by their place. */
  | { readonly kind: "encode"; readonly pairs: readonly (readonly [string, string])[] }
  /** One forward pass over `rows`, each padded to `length` tokens; rows that are missing to `size` are filled with padding. */
  | { readonly kind: "run"; readonly rows: readonly number[]; readonly length: number; readonly size: number }
  | { readonly kind: "release" };

export type FromWorker =
  | { readonly kind: "done" }
  | {
      readonly kind: "loaded";
      readonly tokenizerMs: number;
      readonly sessionMs: number;
      readonly tokenizer: "compact" | "library";
      /** Said where the session runs elsewhere than asked. */
      readonly remark?: string | undefined;
    }
  | { readonly kind: "vector"; readonly vector: Float32Array<ArrayBuffer> }
  | { readonly kind: "tokens"; readonly pieces: readonly string[]; readonly vectors: Float32Array<ArrayBuffer> }
  /** Tokens of each pair, and whether a part of it did not fit. */
  | { readonly kind: "encoded"; readonly lengths: readonly number[]; readonly cut: readonly boolean[] }
  /** f32 [rows, labels], the filled rows dropped. */
  | { readonly kind: "logits"; readonly logits: Float32Array<ArrayBuffer>; readonly labels: number }
  | { readonly kind: "failed"; readonly reason: string };
