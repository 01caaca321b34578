/** What the embedder and its worker say to each other; both ends are ours, so these are types only. */
import type { Pooling } from "./pooling.ts";

/** Everything a worker needs to turn text into vectors; plain values, sent once. */
export interface LoadRequest {
  readonly directory: string;
  readonly graphFile: string;
  readonly dimensions: number;
  readonly pooling: Pooling;
  readonly output: string | undefined;
  /** In tokens, specials included. */
  readonly maxTokens: number;
  readonly threads: number;
  readonly runtimeDirectory: string | undefined;
  readonly runtimeLibrary: string | undefined;
  readonly derivedDirectory: string | undefined;
}

export type ToWorker =
  | { readonly kind: "prepare"; readonly load: LoadRequest }
  | { readonly kind: "load"; readonly load: LoadRequest }
  /** `text` already carries its prefix. */
  | { readonly kind: "embed"; readonly text: string }
  | { readonly kind: "release" };

export type FromWorker =
  | { readonly kind: "done" }
  | { readonly kind: "loaded"; readonly tokenizerMs: number; readonly sessionMs: number; readonly tokenizer: "compact" | "library" }
  | { readonly kind: "vector"; readonly vector: Float32Array<ArrayBuffer> }
  | { readonly kind: "failed"; readonly reason: string };
