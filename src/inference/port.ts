/** Model ports: text in, numbers out. Adapters run in a worker thread; tests bring their own. */
import type { TokenVectors } from "../domain/retrieval/abstention/word-match.ts";
import type { Entailed } from "../domain/trust/verify.ts";
import type { Deadline } from "../kernel/deadline.ts";

export type EmbedRole = "query" | "passage";

/**
 * `ready`: loaded · `idle`: installed, not loaded yet · `missing`: nothing installed, no fault · `failed`: installed and does not load.
 * `trouble`: why the last question got no answer of it, a sentence; undefined once one did.
 * `displaced`: why it runs on the processor although it was placed on a card; known once it was loaded.
 * `remedy`: what helps where the command that installs the model does not, because a variable names another place.
 */
export type ModelState =
  | {
      readonly state: "ready" | "idle" | "loading";
      readonly model: string;
      readonly trouble?: string | undefined;
      readonly displaced?: string | undefined;
      readonly remedy?: string | undefined;
    }
  | { readonly state: "missing"; readonly reason: string; readonly isDisabledByPlan?: boolean; readonly remedy?: string | undefined }
  | { readonly state: "failed"; readonly model: string; readonly reason: string; readonly remedy?: string | undefined };

export interface Embedder {
  /** What is stored in `embedding_model` beside each vector: model name plus the form of the text that was embedded. */
  readonly label: string;
  /** Length of a vector. */
  readonly dimensions: number;
  /** Reading it never loads anything. */
  status(): ModelState;
  /** Starts loading in the background; never throws. */
  warm(): void;
  /**
   * Unit vectors, f32 [dimensions], one for each text, in order. The role's prefix is added here; callers pass bare text.
   * @throws MemoryError `unavailable` where no model is installed or it fails; never a made-up vector.
   */
  embed(texts: readonly string[], role: EmbedRole, signal: AbortSignal): Promise<Float32Array[]>;
  /**
   * The tokens of each text and their vectors before pooling, in order. Undefined for a model that gives one vector a text and no more; one whose
   * tokenizer cannot tell a token's text rejects, like one that fails.
   * @throws MemoryError `unavailable`, as `embed`.
   */
  readonly tokens?: ((texts: readonly string[], role: EmbedRole, signal: AbortSignal) => Promise<TokenVectors[]>) | undefined;
  close(): Promise<void>;
}

/** Why there are no numbers, for programs; the reason beside it is for people. */
export type NoAnswerCode = "no_model" | "disabled_by_plan" | "load_failed" | "no_budget" | "busy" | "timeout" | "inference_error";

/**
 * An answer, or why there is none. Expected outcomes, so no error is thrown for them: search keeps its order, verification says `unknown`.
 * `reason` is a whole sentence without a path.
 */
export type Answer<T> =
  | { readonly kind: "answered"; readonly values: readonly T[] }
  | { readonly kind: "none"; readonly code: NoAnswerCode; readonly reason: string };

/** Bounds of one call: load, waiting for the model and inference share them. */
export interface CallLimits {
  readonly deadline: Deadline;
  /** @throws MemoryError `cancelled` when it fires for another reason than time. */
  readonly signal: AbortSignal;
}

/** A cross-encoder: how well passages answer a question. */
export interface Reranker {
  /** Reading it never loads anything. */
  status(): ModelState;
  /** Starts loading in the background; never throws. */
  warm(): void;
  /** A score in 0–1 for each passage, in order; all or none. No passages are answered at once, without loading. */
  score(query: string, passages: readonly string[], limits: CallLimits): Promise<Answer<number>>;
  close(): Promise<void>;
}

/** Two texts in one direction: does the hypothesis follow from the premise? */
export interface EntailmentPair {
  readonly premise: string;
  readonly hypothesis: string;
}

export interface EntailmentReading extends Entailed {
  /** A part of the two texts did not fit: a contradiction there is invisible. */
  readonly isCut: boolean;
}

export interface Entailment {
  status(): ModelState;
  warm(): void;
  /**
   * Three probabilities for each pair, in order; all or none.
   * @throws MemoryError `invalid` for an empty premise: that is an error of the call, not a verdict.
   */
  entail(pairs: readonly EntailmentPair[], limits: CallLimits): Promise<Answer<EntailmentReading>>;
  close(): Promise<void>;
}
