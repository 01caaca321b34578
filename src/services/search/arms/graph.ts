/** What the graph adds to the rows that the arms found: associations on request, connections for questions about them. */
import type { Edge } from "../../../domain/graph/edges.ts";
import { spreadActivation } from "../../../domain/graph/links.ts";
import { pageRank } from "../../../domain/graph/pagerank.ts";
import { bestPaths, reachableFrom } from "../../../domain/graph/walk.ts";
import type { Tx } from "../../../store/port.ts";
import { type EdgeRow, edgesAt } from "../../../store/queries/relations.ts";
import { entitiesByName, importantOf } from "../../../store/queries/search-context.ts";
import type { Filters } from "../../../store/queries/search-filters.ts";
import type { Connections } from "../request.ts";

/** A row that the graph brings, with a score on the scale of the fused ones. */
export interface GraphRow {
  readonly id: string;
  readonly score: number;
}

const EDGES_PER_HOP = 400;

/** Edges within `hops` steps of the seeds, and the names of their nodes; at most `maxNodes` nodes. Only edges in scope are walked. */
async function edgesAround(tx: Tx, seeds: readonly string[], hops: number, maxNodes: number, filters: Filters) {
  const edges = new Map<string, EdgeRow>();
  const nodes = new Set(seeds);
  const names = new Map<string, string>();
  let frontier = [...seeds];
  for (let hop = 0; hop < hops && frontier.length > 0 && nodes.size < maxNodes; hop++) {
    const next: string[] = [];
    for (const edge of await tx.all(
      edgesAt({ nodes: frontier, direction: "both", scope: filters.scope, withPredicted: true, limit: EDGES_PER_HOP }),
    )) {
      const fresh = [edge.from, edge.to].filter((node) => !nodes.has(node));
      if (nodes.size + fresh.length > maxNodes) continue;
      for (const node of fresh) {
        nodes.add(node);
        next.push(node);
      }
      edges.set(edge.id, edge);
      names.set(edge.from, edge.fromName);
      names.set(edge.to, edge.toName);
    }
    frontier = next;
  }
  return { edges: [...edges.values()] satisfies readonly Edge[], names };
}

const ASSOCIATIVE = { seeds: 5, hops: 2, nodes: 200, entities: 8, each: 2, weight: 0.02 } as const;

/** Observations of what the entities that the words found remind of; measured to hurt, hence on request alone. */
export async function associations(tx: Tx, seeds: readonly string[], filters: Filters): Promise<readonly GraphRow[]> {
  const start = seeds.slice(0, ASSOCIATIVE.seeds);
  if (start.length === 0) return [];
  const { edges } = await edgesAround(tx, start, ASSOCIATIVE.hops, ASSOCIATIVE.nodes, filters);
  const active = spreadActivation(edges, start, ASSOCIATIVE.hops).slice(0, ASSOCIATIVE.entities);
  const activation = new Map(active.map(({ node, score }) => [node, score]));
  const rows = await tx.all(importantOf({ entityIds: active.map(({ node }) => node), each: ASSOCIATIVE.each, filters }));
  return rows.map(({ entityId, id, importance }) => ({ id, score: ASSOCIATIVE.weight * (activation.get(entityId) ?? 0) * importance }));
}

const MULTI_HOP = {
  seeds: 8,
  hops: 3,
  nodes: 80,
  ranked: 15,
  extras: 3,
  each: 2,
  shown: 5,
  hopList: 50,
  paths: 5,
  pathNodes: 20,
  weight: 0.02,
} as const;

/**
 * What connects the entities of a question and its answer: ranks personal to them (HippoRAG), the best paths from the first, and
 * observations of the best ranked. The observations compete with a small score; nothing is evicted for them.
 */
export async function connectionsOf(
  tx: Tx,
  seedNames: readonly string[],
  filters: Filters,
): Promise<{ readonly connections: Connections; readonly rows: readonly GraphRow[] }> {
  const seeds = await tx.all(entitiesByName({ names: seedNames.slice(0, MULTI_HOP.seeds), filters }));
  const ids = seeds.map(({ id }) => id);
  const { edges, names } = await edgesAround(tx, ids, MULTI_HOP.hops, MULTI_HOP.nodes, filters);
  const name = (id: string) => names.get(id) ?? seeds.find((seed) => seed.id === id)?.name ?? id;
  const ranks = pageRank(edges, ids);
  const ranked = [...ranks].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, MULTI_HOP.ranked);
  const best = ranked[0]?.[1] ?? 0;
  const important =
    edges.length === 0 ? [] : await tx.all(importantOf({ entityIds: ranked.map(([id]) => id), each: MULTI_HOP.each, filters }));
  const first = ids[0];
  const paths =
    first === undefined
      ? []
      : bestPaths(edges, first, { direction: "out", maxDepth: MULTI_HOP.hops, maxPaths: MULTI_HOP.paths, maxNodes: MULTI_HOP.pathNodes });
  const hops =
    first === undefined ? [] : reachableFrom(edges, first, { direction: "out", maxDepth: MULTI_HOP.hops, limit: MULTI_HOP.hopList });
  return {
    connections: {
      backend: "postgres",
      entities: edges.length === 0 ? [] : ranked.slice(0, MULTI_HOP.shown).map(([id]) => name(id)),
      paths: paths.map(({ steps, score }) => ({
        names: [first ?? "", ...steps.map(({ to }) => to)].map(name),
        relations: steps.map(({ edge }) => edge.relation),
        score,
      })),
      hops: hops.map(({ step }) => `${name(step.from)} -[${step.edge.relation}]-> ${name(step.to)}`),
    },
    rows: important.map(({ entityId, id }) => ({ id, score: best === 0 ? 0 : (MULTI_HOP.weight * (ranks.get(entityId) ?? 0)) / best })),
  };
}

/** Rows that the graph may add to an answer about connections. */
export const MOST_EXTRAS = MULTI_HOP.extras;
