/** Which entities turn up in the same working sessions more often than by chance (`tools-maintenance.md` §15.7). */
import { type Steps, sortedInSteps } from "../../kernel/steps.ts";
import { byText } from "./edges.ts";

/**
 * Normalised pointwise mutual information (Bouma 2009), in [−1, 1]: ln(p_ab / (p_a·p_b)) / −ln p_ab. 1: always together; 0: as chance has it.
 * Undefined for an empty count and where the pair is in every session. (together 2, a 2, b 3, sessions 10) → 0.748.
 */
export function npmi(together: number, a: number, b: number, sessions: number): number | undefined {
  if (together <= 0 || a <= 0 || b <= 0 || sessions <= 0 || together >= sessions) return undefined;
  const share = together / sessions;
  return Math.log(share / ((a / sessions) * (b / sessions))) / -Math.log(share);
}

/** An entity that got an observation in a session. Entities of different projects are never paired. */
export interface Appearance {
  readonly session: string;
  readonly entity: string;
  readonly project: string | null;
}

export interface Cooccurrence {
  /** The smaller id. */
  readonly a: string;
  readonly b: string;
  readonly project: string | null;
  readonly sessions: number;
  /** In (0, 1]. */
  readonly npmi: number;
}

export interface Thresholds {
  /** Least NPMI. */
  readonly threshold: number;
  /** Least number of sessions that both are in. */
  readonly minSessions: number;
}

/**
 * A session with more entities than this (an import, a build of a code graph) says nothing about any two of them, and its pairs would be millions: it
 * counts nowhere.
 */
export const MOST_ENTITIES_OF_A_SESSION = 300;

/** Gathers appearances, session by session, and finds the pairs. */
export interface Appearances {
  /** All appearances of some sessions; a session must not be split over two calls. */
  add(appearances: readonly Appearance[]): void;
  /**
   * Pairs above the thresholds, the strongest first, ties by id: the first `most` behind a pair. A large memory has millions, of which no more than twice
   * that many are kept at once. Takes seconds there, so it comes in steps of a millisecond or so.
   */
  pairs(thresholds: Thresholds, page: PairPage): Steps<Cooccurrence[]>;
  /** All pairs above the thresholds, in no order, each handed over as it is found: nothing is kept. */
  each(thresholds: Thresholds, take: (pair: Cooccurrence) => void): Steps<void>;
}

export interface PairPage {
  readonly behind?: Cooccurrence | undefined;
  readonly most: number;
}

interface ProjectCounts {
  readonly sessions: string[][];
  readonly seen: Map<string, number>;
}

export const strongestFirst = (x: Cooccurrence, y: Cooccurrence): number => y.npmi - x.npmi || byText(x.a, y.a) || byText(x.b, y.b);

/** Keeps the strongest pairs that come behind one. */
function createKeeper({ behind, most }: PairPage) {
  let kept: Cooccurrence[] = [];
  let weakest: Cooccurrence | undefined;
  return {
    take(pair: Cooccurrence): void {
      if (behind !== undefined && strongestFirst(behind, pair) >= 0) return;
      if (weakest === undefined || strongestFirst(pair, weakest) < 0) kept.push(pair);
    },
    /** Lets go of what is too many, once it is as much again. */
    *cut(): Steps<void> {
      if (kept.length < 2 * most) return;
      kept = (yield* sortedInSteps(kept, strongestFirst)).slice(0, most);
      weakest = kept.at(-1);
    },
    *all(): Steps<Cooccurrence[]> {
      return (yield* sortedInSteps(kept, strongestFirst)).slice(0, most);
    },
  };
}

/** Pairs of one project. Entity by entity, whom it meets is counted in one column: all pairs at once would be millions of counters. */
function* pairsOf(
  project: string | null,
  { sessions, seen }: ProjectCounts,
  { threshold, minSessions }: Thresholds,
  take: (pair: Cooccurrence) => void,
): Steps<void> {
  // Whoever was in too few sessions can be in no pair: most entities, and with them most of the work, go here.
  const ids = [...seen].flatMap(([entity, count]) => (count >= minSessions ? [entity] : [])).sort(byText);
  const numbers = new Map(ids.map((entity, number) => [entity, number]));
  const met = ids.map((): Uint32Array[] => []);
  yield;
  for (const entities of sessions) {
    const often = Uint32Array.from(entities.flatMap((entity) => numbers.get(entity) ?? [])).sort();
    for (const number of often) met[number]?.push(often);
    yield;
  }
  const together = new Uint32Array(ids.length);
  for (const [number, a] of ids.entries()) {
    const others: number[] = [];
    for (const session of met[number] ?? [])
      for (const other of session) {
        if (other <= number) continue;
        if (together[other] === 0) others.push(other);
        together[other] = (together[other] ?? 0) + 1;
      }
    for (const other of others) {
      const [b, count] = [ids[other] ?? "", together[other] ?? 0];
      together[other] = 0;
      if (count < minSessions) continue;
      const value = npmi(count, seen.get(a) ?? 0, seen.get(b) ?? 0, sessions.length);
      if (value !== undefined && value >= threshold && value > 0) take({ a, b, project, sessions: count, npmi: Math.min(1, value) });
    }
    yield;
  }
}

export function createAppearances(): Appearances {
  const projects = new Map<string | null, ProjectCounts>();
  return {
    add(appearances) {
      const bySession = Map.groupBy(appearances, ({ session, project }) => `${session}/${project}`);
      for (const group of bySession.values()) {
        const project = group[0]?.project ?? null;
        const entities = [...new Set(group.map(({ entity }) => entity))];
        if (entities.length > MOST_ENTITIES_OF_A_SESSION) continue;
        const counts = projects.get(project) ?? { sessions: [], seen: new Map<string, number>() };
        projects.set(project, counts);
        counts.sessions.push(entities);
        for (const entity of entities) counts.seen.set(entity, (counts.seen.get(entity) ?? 0) + 1);
      }
    },

    *pairs(thresholds, page) {
      const keeper = createKeeper(page);
      for (const [project, counts] of projects)
        for (const step of pairsOf(project, counts, thresholds, keeper.take)) {
          yield* keeper.cut();
          yield step;
        }
      return yield* keeper.all();
    },

    *each(thresholds, take) {
      for (const [project, counts] of projects) {
        yield* pairsOf(project, counts, thresholds, take);
        yield;
      }
    },
  };
}
