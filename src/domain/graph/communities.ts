/**
 * Communities by Leiden (Traag, Waltman & van Eck 2019): queue-based local moving, refinement inside each community, aggregation of what was refined, until
 * nothing moves. Deterministic: nodes in their order, ties to the lowest label. graphology has Louvain, whose communities may fall apart; refinement is what it lacks.
 */
import { type IndexedGraph, type WeightedNeighbours, weightedNeighboursOf } from "./indexed.ts";

/** Resolution γ: 1 is plain modularity. */
const RESOLUTION = 1;
/** Gains below it are rounding. */
const MIN_GAIN = 1e-12;
const MAX_LEVELS = 10;

/** A graph of one level: nodes may stand for many, and then have weight inside. */
interface Level extends WeightedNeighbours {
  /** Weight of all edges of a node, those inside twice. */
  readonly strength: Float64Array;
  /** Sum of all strengths: twice the weight of the graph. */
  readonly total: number;
}

export interface Communities {
  /** Community of each node, numbered by size, largest first; a lone node has one of its own. */
  readonly label: Int32Array;
  /** Q = Σ_c [L_c/m − γ(d_c/2m)²] (Newman & Girvan 2004); 0 without an edge. */
  readonly modularity: number;
}

const at = (list: ArrayLike<number>, index: number): number => list[index] ?? 0;

function levelOf(links: WeightedNeighbours, inside: Float64Array): Level {
  const strength = inside.map((weight) => 2 * weight);
  for (let node = 0; node < links.size; node++)
    for (let link = at(links.starts, node); link < at(links.starts, node + 1); link++)
      strength[node] = at(strength, node) + at(links.weights, link);
  return { ...links, strength, total: strength.reduce((sum, each) => sum + each, 0) };
}

/** Weight between a node and each community around it, reused from node to node. */
function createGathering(size: number) {
  const weight = new Float64Array(size);
  const touched: number[] = [];
  return {
    weight,
    touched,
    gather(level: Level, node: number, label: Int32Array) {
      for (const community of touched) weight[community] = 0;
      touched.length = 0;
      for (let link = at(level.starts, node); link < at(level.starts, node + 1); link++) {
        const community = at(label, at(level.rows, link));
        if (weight[community] === 0) touched.push(community);
        weight[community] = at(weight, community) + at(level.weights, link);
      }
    },
  };
}

/** Moves nodes to the neighbouring community with the greatest gain, until no node has one. Changes `label`. */
function moveNodes(level: Level, label: Int32Array): boolean {
  const { size, total, strength } = level;
  const sum = new Float64Array(size);
  for (let node = 0; node < size; node++) sum[at(label, node)] = at(sum, at(label, node)) + at(strength, node);
  const gathering = createGathering(size);
  const waits = new Uint8Array(size).fill(1);
  const queue = Array.from({ length: size }, (_, node) => node);
  let moved = false;
  for (let head = 0; head < queue.length; head++) {
    const node = queue[head] ?? 0;
    waits[node] = 0;
    const own = at(label, node);
    const k = at(strength, node);
    gathering.gather(level, node, label);
    sum[own] = at(sum, own) - k;
    const gain = (community: number) => at(gathering.weight, community) - (RESOLUTION * k * at(sum, community)) / total;
    let best = own;
    let most = gain(own);
    for (const community of gathering.touched.sort((a, b) => a - b))
      if (gain(community) > most + MIN_GAIN) {
        best = community;
        most = gain(community);
      }
    sum[best] = at(sum, best) + k;
    if (best === own) continue;
    label[node] = best;
    moved = true;
    for (let link = at(level.starts, node); link < at(level.starts, node + 1); link++) {
      const other = at(level.rows, link);
      if (at(label, other) !== best && waits[other] === 0) {
        waits[other] = 1;
        queue.push(other);
      }
    }
  }
  return moved;
}

/**
 * Parts of each community that hang together well: every node starts alone, and one that is alone joins the part with the greatest gain, if node and part
 * are well connected with the rest of their community. A part grows along edges only, so each is connected.
 */
function refine(level: Level, label: Int32Array): Int32Array {
  const { size, total, strength } = level;
  const whole = new Float64Array(size);
  for (let node = 0; node < size; node++) whole[at(label, node)] = at(whole, at(label, node)) + at(strength, node);
  const part = Int32Array.from({ length: size }, (_, node) => node);
  const sum = strength.slice();
  const alone = new Uint8Array(size).fill(1);
  /** Weight between a part and the rest of its community. */
  const outside = new Float64Array(size);
  for (let node = 0; node < size; node++)
    for (let link = at(level.starts, node); link < at(level.starts, node + 1); link++)
      if (at(label, at(level.rows, link)) === at(label, node)) outside[node] = at(outside, node) + at(level.weights, link);
  const isWellConnected = (of: number, community: number) =>
    at(outside, of) + MIN_GAIN >= (RESOLUTION * at(sum, of) * (at(whole, community) - at(sum, of))) / total;
  const gathering = createGathering(size);
  for (let node = 0; node < size; node++) {
    const community = at(label, node);
    if (alone[node] === 0 || !isWellConnected(node, community)) continue;
    gathering.gather(level, node, part);
    const k = at(strength, node);
    let best = node;
    let most = 0;
    for (const other of gathering.touched.sort((a, b) => a - b)) {
      if (other === node || at(label, other) !== community || !isWellConnected(other, community)) continue;
      const gain = at(gathering.weight, other) - (RESOLUTION * k * at(sum, other)) / total;
      if (gain > most + MIN_GAIN) {
        best = other;
        most = gain;
      }
    }
    if (best === node) continue;
    // What was between the two is inside now.
    outside[best] = at(outside, best) + at(outside, node) - 2 * at(gathering.weight, best);
    sum[best] = at(sum, best) + k;
    part[node] = best;
    alone[best] = 0;
    alone[node] = 0;
  }
  return part;
}

/** Labels as 0, 1, 2 … in the order in which they first appear. */
function renumbered(label: Int32Array): { readonly label: Int32Array; readonly count: number } {
  const numbers = new Map<number, number>();
  const next = label.map((each) => {
    const known = numbers.get(each) ?? numbers.size;
    numbers.set(each, known);
    return known;
  });
  return { label: next, count: numbers.size };
}

/** One node for each part. */
function aggregate(level: Level, part: Int32Array, count: number): Level {
  const around = Array.from({ length: count }, () => new Map<number, number>());
  const inside = new Float64Array(count);
  for (let node = 0; node < level.size; node++) {
    const own = at(part, node);
    let linked = 0;
    for (let link = at(level.starts, node); link < at(level.starts, node + 1); link++) {
      const other = at(part, at(level.rows, link));
      const weight = at(level.weights, link);
      linked += weight;
      if (other === own) inside[own] = at(inside, own) + weight / 2;
      else around[own]?.set(other, (around[own].get(other) ?? 0) + weight);
    }
    inside[own] = at(inside, own) + (at(level.strength, node) - linked) / 2;
  }
  const starts = new Uint32Array(count + 1);
  for (const [node, found] of around.entries()) starts[node + 1] = at(starts, node) + found.size;
  const rows = new Uint32Array(at(starts, count));
  const weights = new Float64Array(rows.length);
  for (const [node, found] of around.entries())
    for (const [place, [other, weight]] of [...found].sort(([a], [b]) => a - b).entries()) {
      rows[at(starts, node) + place] = other;
      weights[at(starts, node) + place] = weight;
    }
  return levelOf({ size: count, starts, rows, weights }, inside);
}

/**
 * Labels with every community that does not hang together taken apart; splitting one never lowers the modularity. Local moving can leave such a community
 * behind when the node that held it together goes as the last one.
 */
export function connectedLabels(links: WeightedNeighbours, label: Int32Array): Int32Array {
  const out = new Int32Array(links.size).fill(-1);
  for (let start = 0; start < links.size; start++) {
    if (out[start] !== -1) continue;
    out[start] = start;
    const open = [start];
    for (let node = open.pop(); node !== undefined; node = open.pop())
      for (let link = at(links.starts, node); link < at(links.starts, node + 1); link++) {
        const other = at(links.rows, link);
        if (out[other] !== -1 || at(label, other) !== at(label, start)) continue;
        out[other] = start;
        open.push(other);
      }
  }
  return out;
}

/** Labels by size, largest first; of equals the one with the smallest node first. */
function bySize(label: Int32Array): Int32Array {
  const sizes = new Map<number, number>();
  for (const each of label) sizes.set(each, (sizes.get(each) ?? 0) + 1);
  // Insertion order is the order of the smallest node.
  const order = new Map([...sizes].sort(([, a], [, b]) => b - a).map(([community], place) => [community, place]));
  return label.map((each) => order.get(each) ?? 0);
}

function modularityOf(level: Level, label: Int32Array): number {
  if (level.total === 0) return 0;
  const inside = new Float64Array(level.size);
  const sum = new Float64Array(level.size);
  for (let node = 0; node < level.size; node++) {
    const community = at(label, node);
    sum[community] = at(sum, community) + at(level.strength, node);
    for (let link = at(level.starts, node); link < at(level.starts, node + 1); link++)
      if (at(label, at(level.rows, link)) === community) inside[community] = at(inside, community) + at(level.weights, link);
  }
  return inside.reduce((q, weight, community) => q + weight / level.total - RESOLUTION * (at(sum, community) / level.total) ** 2, 0);
}

/** Communities of a graph; every one of them is connected. Without any weight each node stays alone. */
export function findCommunities(graph: IndexedGraph): Communities {
  const links = weightedNeighboursOf(graph);
  const ground = levelOf(links, new Float64Array(links.size));
  let label: Int32Array = Int32Array.from({ length: links.size }, (_, node) => node);
  if (ground.total > 0) {
    let level = ground;
    /** Node of the level that a node of the graph belongs to, and community of each node of the level. */
    let member: Int32Array = label;
    let current: Int32Array = label.slice();
    for (let round = 0; round < MAX_LEVELS; round++) {
      const moved = moveNodes(level, current);
      label = member.map((node) => at(current, node));
      if (!moved && round > 0) break;
      const parts = renumbered(refine(level, current));
      if (parts.count === level.size) break;
      // A part starts the next level in the community that it was refined from.
      const home = new Int32Array(parts.count);
      for (let node = 0; node < level.size; node++) home[at(parts.label, node)] = at(current, node);
      level = aggregate(level, parts.label, parts.count);
      member = member.map((node) => at(parts.label, node));
      current = renumbered(home).label;
    }
  }
  const connected = bySize(connectedLabels(links, label));
  return { label: connected, modularity: modularityOf(ground, connected) };
}
