/** The graph of a scope as columns: read in slices, so that nobody waits while it is loaded. */
import type { IndexedGraph } from "../../domain/graph/indexed.ts";
import type { CallScope } from "../../kernel/context.ts";
import type { Database } from "../../store/port.ts";
import { graphEdges, graphNodes } from "../../store/queries/analytics.ts";
import { FIRST_ID } from "../../store/queries/windows.ts";
import { inSlices, type Pace } from "../pace.ts";

/** Rows of a slice; the least ones take some 5 ms to read. */
const NODE_ROWS = { first: 200, most: 5_000, least: 200 };
const EDGE_ROWS = { first: 500, most: 5_000, least: 500 };

export interface GraphNode {
  readonly id: string;
  readonly name: string;
  readonly importance: number;
}

export interface LoadedGraph {
  readonly graph: IndexedGraph;
  /** Node of each number. */
  readonly nodes: readonly GraphNode[];
}

export async function loadGraph(ctx: CallScope, db: Database, pace: Pace): Promise<LoadedGraph> {
  const { scope } = ctx;
  const nodes: GraphNode[] = [];
  let after = FIRST_ID;
  await inSlices(pace, ctx.signal, NODE_ROWS, async (limit) => {
    const page = await db.read(ctx, (tx) => tx.all(graphNodes({ scope, after, limit })), { byKey: true });
    for (const { isNode, ...node } of page) if (isNode) nodes.push(node);
    after = page.at(-1)?.id ?? after;
    return page.length === limit;
  });
  const numbers = new Map(nodes.map(({ id }, number) => [id, number]));
  const from: number[] = [];
  const to: number[] = [];
  const strength: number[] = [];
  const bothWays: number[] = [];
  after = FIRST_ID;
  await inSlices(pace, ctx.signal, EDGE_ROWS, async (limit) => {
    const page = await db.read(ctx, (tx) => tx.all(graphEdges({ scope, after, limit })), { byKey: true });
    for (const edge of page) {
      const [start, end] = [numbers.get(edge.from), numbers.get(edge.to)];
      if (start === undefined || end === undefined) continue;
      from.push(start);
      to.push(end);
      strength.push(edge.strength);
      bothWays.push(edge.bothWays ? 1 : 0);
    }
    after = page.at(-1)?.id ?? after;
    return page.length === limit;
  });
  const graph = {
    nodes: nodes.length,
    from: Uint32Array.from(from),
    to: Uint32Array.from(to),
    strength: Float64Array.from(strength),
    bothWays: Uint8Array.from(bothWays),
  };
  return { graph, nodes };
}
