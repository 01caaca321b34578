/** Small graphs with numbered nodes. */
import fc from "fast-check";
import type { IndexedGraph } from "../../src/domain/graph/indexed.ts";

export type Link = readonly [from: number, to: number, strength?: number];

export const indexed = (nodes: number, links: readonly Link[], bothWays = false): IndexedGraph => ({
  nodes,
  from: Uint32Array.from(links, ([from]) => from),
  to: Uint32Array.from(links, ([, to]) => to),
  strength: Float64Array.from(links, ([, , strength]) => strength ?? 1),
  bothWays: new Uint8Array(links.length).fill(bothWays ? 1 : 0),
});

/** Graphs of up to 40 nodes with up to 120 edges; some nodes have none, some edges are there twice. */
export const anyGraph: fc.Arbitrary<IndexedGraph> = fc.integer({ min: 1, max: 40 }).chain((nodes) =>
  fc
    .array(fc.tuple(fc.nat(nodes - 1), fc.nat(nodes - 1), fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 1, noNaN: true }))), {
      maxLength: 120,
    })
    .map((links) => indexed(nodes, links)),
);
