/** A relation of a graph that a test draws. */
import type { Edge } from "../../src/domain/graph/edges.ts";

export const edge = (from: string, to: string, strength = 1, more: Partial<Edge> = {}): Edge => ({
  from,
  to,
  strength,
  relation: "uses",
  isBidirectional: false,
  provenance: "extracted",
  ...more,
});
