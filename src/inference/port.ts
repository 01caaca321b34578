/** Model ports: text in, numbers out. Adapters run in a worker thread; tests bring their own. */

export type EmbedRole = "query" | "passage";

/** `ready`: loaded · `idle`: installed, not loaded yet · `missing`: nothing installed, no fault · `failed`: installed and does not load. */
export type ModelState =
  | { readonly state: "ready" | "idle" | "loading"; readonly model: string }
  | { readonly state: "missing"; readonly reason: string }
  | { readonly state: "failed"; readonly model: string; readonly reason: string };

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
  close(): Promise<void>;
}
