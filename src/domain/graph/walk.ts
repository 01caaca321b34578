/** Walking relations from a node: who is reached, what follows transitively, by which paths (`tools-graph.md` §4.3). Cycles end everywhere. */
import { byText, type Direction, type Edge, type Step, stepsByNode, strengthFactor } from "./edges.ts";

export const MAX_DEPTH = 5;
export const DEFAULT_DEPTH = 3;
const MAX_REACHED = 50;
const MAX_INFERRED = 20;

/** 1 to 5; what is no integer counts as the default. */
export const clampDepth = (depth: number | undefined): number =>
  depth === undefined || !Number.isInteger(depth) ? DEFAULT_DEPTH : Math.min(Math.max(depth, 1), MAX_DEPTH);

/** A node that a walk reached, once, by its shortest way and there by the strongest edge. */
export interface Reached {
  readonly node: string;
  readonly depth: number;
  readonly step: Step;
}

export interface WalkOptions {
  readonly maxDepth?: number;
  readonly direction?: Direction;
  readonly limit?: number;
}

const strongestFirst = (a: Reached, b: Reached) =>
  a.depth - b.depth || b.step.edge.strength - a.step.edge.strength || byText(a.node, b.node) || byText(a.step.from, b.step.from);

/** Nodes around `start`, without itself, by depth, then strength, then name; at most 50. */
export function reachableFrom(edges: readonly Edge[], start: string, options: WalkOptions = {}): Reached[] {
  const steps = stepsByNode(edges, options.direction ?? "out");
  const seen = new Set([start]);
  const reached: Reached[] = [];
  let frontier = [start];
  for (let depth = 1; depth <= clampDepth(options.maxDepth) && frontier.length > 0; depth++) {
    const found = frontier.flatMap((node) => (steps.get(node) ?? []).map((step) => ({ node: step.to, depth, step })));
    const next: string[] = [];
    for (const each of found.sort(strongestFirst)) {
      if (seen.has(each.node)) continue;
      seen.add(each.node);
      reached.push(each);
      next.push(each.node);
    }
    frontier = next;
  }
  return reached.slice(0, options.limit ?? MAX_REACHED);
}

/** A way through the graph, from its first step to its last. */
export interface Path {
  readonly steps: readonly Step[];
  /** Product of the factors of its steps. */
  readonly strength: number;
}

/**
 * The strongest path to every node within `maxDepth` steps; of equally strong ones the shorter, then the first by names.
 * @param stepsOf steps out of a node; @param factor what a step multiplies the strength by, in (0, 1].
 */
export function strongestPaths(
  stepsOf: (node: string) => readonly Step[],
  start: string,
  maxDepth: number,
  factor: (step: Step) => number,
): Map<string, Path> {
  const best = new Map<string, Path>();
  let frontier = new Map<string, Path>([[start, { steps: [], strength: 1 }]]);
  // Factors are at most 1, so a path that meets itself is never stronger than the one without the lap: layers suffice.
  for (let depth = 1; depth <= maxDepth && frontier.size > 0; depth++) {
    const next = new Map<string, Path>();
    for (const path of frontier.values())
      for (const step of stepsOf(path.steps.at(-1)?.to ?? start)) {
        if (step.to === start) continue;
        const strength = path.strength * factor(step);
        const known = next.get(step.to) ?? best.get(step.to);
        if (known === undefined || strength > known.strength) next.set(step.to, { steps: [...path.steps, step], strength });
      }
    for (const [node, path] of next) best.set(node, path);
    frontier = next;
  }
  return best;
}

/** A node that is connected only through others. */
export interface Inferred extends Path {
  readonly node: string;
}

/** Nodes at two steps or more, each by its strongest path (product of strengths), strongest first, at most 20. Direct neighbours and the start are known already. */
export function inferConnections(edges: readonly Edge[], start: string, options: WalkOptions = {}): Inferred[] {
  const steps = stepsByNode(edges, options.direction ?? "out");
  const direct = new Set((steps.get(start) ?? []).map((step) => step.to));
  const paths = strongestPaths(
    (node) => steps.get(node) ?? [],
    start,
    clampDepth(options.maxDepth),
    (step) => step.edge.strength,
  );
  return Array.from(paths, ([node, path]) => ({ node, ...path }))
    .filter(({ node }) => !direct.has(node))
    .sort((a, b) => b.strength - a.strength || byText(a.node, b.node))
    .slice(0, options.limit ?? MAX_INFERRED);
}

export interface ScoredPath extends Path {
  /** Π clamp(strength, 0.01, 1) ÷ (1 + hops). */
  readonly score: number;
}

export interface PathOptions extends WalkOptions {
  /** Most paths; 5. */
  readonly maxPaths?: number;
  /** Most different nodes over all paths; 20. */
  readonly maxNodes?: number;
}

/** Paths looked at before giving up on a dense hub. */
const MAX_VISITED = 1_000;

/**
 * The best paths from a node, **weakest first** so that the strongest stands last, where a reader of a long context looks
 * (path pruning after PathRAG, Chen et al. 2025; "lost in the middle", Liu et al. 2024). A –1→ B –0.5→ D scores 0.1667.
 */
export function bestPaths(edges: readonly Edge[], start: string, options: PathOptions = {}): ScoredPath[] {
  const steps = stepsByNode(edges, options.direction ?? "out");
  const maxDepth = clampDepth(options.maxDepth);
  const maxNodes = options.maxNodes ?? 20;
  const kept: ScoredPath[] = [];
  const nodes = new Set([start]);
  let open: ScoredPath[] = [{ steps: [], strength: 1, score: 1 }];
  // A longer path never scores more than its beginning, so the best open path is the best of all that are left.
  for (let visited = 0; open.length > 0 && kept.length < (options.maxPaths ?? 5) && visited < MAX_VISITED; visited++) {
    const best = open.reduce((winner, path) => (isBetter(path, winner) ? path : winner));
    open = open.filter((path) => path !== best);
    const end = best.steps.at(-1)?.to ?? start;
    const added = nodes.has(end) ? 0 : 1;
    if (best.steps.length > 0 && nodes.size + added > maxNodes) continue;
    nodes.add(end);
    if (best.steps.length > 0) kept.push(best);
    if (best.steps.length === maxDepth) continue;
    const onPath = new Set([start, ...best.steps.map((step) => step.to)]);
    for (const step of steps.get(end) ?? []) if (!onPath.has(step.to)) open.push(extend(best, step));
  }
  return kept.reverse();
}

function extend(path: ScoredPath, step: Step): ScoredPath {
  const steps = [...path.steps, step];
  const strength = path.strength * strengthFactor(step.edge.strength);
  return { steps, strength, score: strength / (1 + steps.length) };
}

const isBetter = (a: ScoredPath, b: ScoredPath) => a.score > b.score || (a.score === b.score && byText(pathText(a), pathText(b)) < 0);

/** `A -[uses]-> B -[depends_on]-> D`; a step against the arrow is written `<-[uses]-`. */
export function pathText({ steps }: Path): string {
  return steps.reduce(
    (text, { to, edge, isForward }) => `${text} ${isForward ? `-[${edge.relation}]->` : `<-[${edge.relation}]-`} ${to}`,
    steps[0]?.from ?? "",
  );
}
