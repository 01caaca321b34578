/** Relations as the graph rules see them. */

export const relationTypes = ["uses", "causes", "implements", "depends_on", "related_to"] as const;
export type RelationType = (typeof relationTypes)[number];

export const provenances = ["extracted", "inferred", "predicted"] as const;
export type Provenance = (typeof provenances)[number];

/** A relation between two nodes; node names are ids. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly relation: string;
  /** 0–1. */
  readonly strength: number;
  readonly isBidirectional: boolean;
  readonly provenance: Provenance;
}

export type Direction = "out" | "in" | "both";

/** One step from a node to a neighbour. `isForward` false where the edge is walked against its arrow. */
export interface Step {
  readonly from: string;
  readonly to: string;
  readonly edge: Edge;
  readonly isForward: boolean;
}

/** Steps out of each node. A bidirectional edge can be walked both ways whatever the direction; a loop leads nowhere. */
export function stepsByNode(edges: readonly Edge[], direction: Direction): ReadonlyMap<string, readonly Step[]> {
  const steps = new Map<string, Step[]>();
  const add = (step: Step) => {
    const list = steps.get(step.from);
    if (list === undefined) steps.set(step.from, [step]);
    else list.push(step);
  };
  for (const edge of edges) {
    if (edge.from === edge.to) continue;
    if (direction !== "in" || edge.isBidirectional) add({ from: edge.from, to: edge.to, edge, isForward: true });
    if (direction !== "out" || edge.isBidirectional) add({ from: edge.to, to: edge.from, edge, isForward: false });
  }
  return steps;
}

const MIN_STRENGTH = 0.01;

/** Strength as a factor: never 0, so that a long path still differs from none. */
export const strengthFactor = (strength: number): number => Math.min(Math.max(strength, MIN_STRENGTH), 1);

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Where relations start and how use changes them (`tools-graph.md` §3.17): a guess weighs less than an assertion. */
export const initialStrength: Readonly<Record<"extracted" | "inferred", number>> = { extracted: 1, inferred: 0.5 };
/** How much a relation gains, up to 1, when it is named again. */
export const GAIN_BY_SIGHT = 0.1;
/** The same when `cuba_puente traverse` follows it. */
export const GAIN_BY_WALK = 0.02;
