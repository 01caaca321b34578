/** What is computed over a whole graph, away from the thread that answers calls. */
import { betweenness, closeness, cores, pageRanks, type Scores } from "../../domain/graph/centrality.ts";
import { findCommunities } from "../../domain/graph/communities.ts";
import type { IndexedGraph } from "../../domain/graph/indexed.ts";

export interface Measured {
  readonly ranks: { readonly ranks: Scores; readonly between: Scores; readonly sampled: boolean };
  readonly bridges: { readonly between: Scores; readonly sampled: boolean };
  readonly communities: { readonly label: Int32Array; readonly modularity: number };
  readonly structure: { readonly harmonic: Scores; readonly closeness: Scores; readonly cores: Scores };
}
export type Measure = keyof Measured;

export const measures: { readonly [M in Measure]: (graph: IndexedGraph) => Measured[M] } = {
  ranks(graph) {
    const { scores, sampled } = betweenness(graph);
    return { ranks: pageRanks(graph), between: scores, sampled };
  },
  bridges(graph) {
    const { scores, sampled } = betweenness(graph);
    return { between: scores, sampled };
  },
  communities: findCommunities,
  structure: (graph) => ({ ...closeness(graph), cores: cores(graph) }),
};

/** Runs a measure. @throws MemoryError `timeout` when the deadline passes first, `cancelled` when the caller gives up */
export type RunMeasure = <M extends Measure>(
  measure: M,
  graph: IndexedGraph,
  limits: { readonly remainingMs: number; readonly signal: AbortSignal },
) => Promise<Measured[M]>;
