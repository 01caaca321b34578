/** An embedder of the tests: unit vectors made of the letters of a text, at a speed and with a fate the test chooses. */

import type { Embedder, ModelState } from "../../src/inference/port.ts";
import { unavailable } from "../../src/kernel/errors.ts";

export const DIMENSIONS = 384;

/** The vector of a text: counts of its characters, unit length. Same text, same vector; it means nothing. */
export function letterVector(text: string): Float32Array {
  const vector = new Float32Array(DIMENSIONS);
  for (const char of text) {
    const at = (char.codePointAt(0) ?? 0) % DIMENSIONS;
    vector[at] = (vector[at] ?? 0) + 1;
  }
  const norm = Math.hypot(...vector) || 1;
  return vector.map((value) => value / norm);
}

export interface TestEmbedder extends Embedder {
  /** Texts that were asked for, in order. */
  readonly asked: string[];
  state: ModelState;
  label: string;
  dimensions: number;
  /** Called before each answer; its failure is the answer's. */
  before: (text: string) => Promise<void> | void;
}

export function testEmbedder(state: ModelState["state"] = "ready"): TestEmbedder {
  const embedder: TestEmbedder = {
    asked: [],
    label: "letters/name-type-1",
    dimensions: DIMENSIONS,
    state: stateOf(state),
    before: () => {},
    status: () => embedder.state,
    warm: () => {},
    async embed(texts) {
      if (embedder.state.state === "missing" || embedder.state.state === "failed") throw unavailable(embedder.state.reason);
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        embedder.asked.push(text);
        await embedder.before(text);
        vectors.push(letterVector(text).slice(0, embedder.dimensions));
      }
      return vectors;
    },
    close: async () => {},
  };
  return embedder;
}

export function stateOf(state: ModelState["state"]): ModelState {
  if (state === "missing") return { state, reason: "no model is installed" };
  if (state === "failed") return { state, model: "letters", reason: "the model does not load" };
  return { state, model: "letters" };
}
