/** The part of the graph around an entity, loaded ring by ring, in the terms of `domain/graph`. */
import type { Direction, Edge, RelationType } from "../../domain/graph/edges.ts";
import type { Scope } from "../../kernel/context.ts";
import type { Tx } from "../../store/port.ts";
import { type EdgeRow, edgesAt } from "../../store/queries/relations.ts";

/** Edges loaded of one neighbourhood, the strongest of each ring first: a hub must not load the whole graph. */
const MAX_EDGES = 5_000;

export interface Neighbourhood {
  readonly edges: readonly Edge[];
  /** Stored row behind an edge. */
  readonly rowOf: ReadonlyMap<Edge, EdgeRow>;
  /** False where the edges of the neighbourhood were too many to load all. */
  readonly complete: boolean;
}

/** Nodes are called by name and id: rules order by name, so that no answer depends on a random id, and two namesakes stay two. */
const SEPARATOR = "\u0001";
export const nodeKey = (name: string, id: string): string => `${name}${SEPARATOR}${id}`;
export const nodeName = (key: string): string => key.slice(0, key.lastIndexOf(SEPARATOR));
export const nodeId = (key: string): string => key.slice(key.lastIndexOf(SEPARATOR) + 1);
/** A text made of node keys with the names alone. */
export const withoutIds = (text: string): string => text.replace(new RegExp(`${SEPARATOR}[0-9a-f-]{36}`, "g"), "");

export interface LoadOptions {
  readonly direction: Direction;
  readonly depth: number;
  readonly scope: Scope;
  readonly withPredicted: boolean;
  /** Relations of these types only; all of them when absent. */
  readonly types?: readonly RelationType[];
}

/** Every edge that a walk of `depth` steps from `start` could follow. */
export async function loadNeighbourhood(
  tx: Tx,
  start: string,
  { direction, depth, scope, withPredicted, types }: LoadOptions,
): Promise<Neighbourhood> {
  const rows = new Map<string, EdgeRow>();
  const seen = new Set([start]);
  let frontier = [start];
  let complete = true;
  for (let ring = 0; ring < depth && frontier.length > 0; ring++) {
    const limit = MAX_EDGES - rows.size;
    if (limit <= 0) {
      complete = false;
      break;
    }
    const found = await tx.all(edgesAt({ nodes: frontier, direction, scope, withPredicted, types, limit: limit + 1 }));
    if (found.length > limit) complete = false;
    const next = new Set<string>();
    for (const row of found.slice(0, limit)) {
      rows.set(row.id, row);
      for (const node of [row.from, row.to]) if (!seen.has(node)) next.add(node);
    }
    for (const node of next) seen.add(node);
    frontier = [...next];
  }
  // A bidirectional edge is stored as two rows; with both at hand, each is walked its own way only, or every path would be there twice.
  const arrows = new Set(Array.from(rows.values(), (row) => `${row.from} ${row.to} ${row.relation}`));
  const rowOf = new Map<Edge, EdgeRow>();
  for (const row of rows.values()) {
    const { relation, strength, provenance } = row;
    const isBidirectional = row.isBidirectional && !arrows.has(`${row.to} ${row.from} ${relation}`);
    rowOf.set(
      { from: nodeKey(row.fromName, row.from), to: nodeKey(row.toName, row.to), relation, strength, isBidirectional, provenance },
      row,
    );
  }
  return { edges: [...rowOf.keys()], rowOf, complete };
}
