/**
 * Measures that are stored (`tools-maintenance.md` §5.6, §15): PageRank, betweenness and energy of every node, and its community. They stand beside the
 * graph: nothing of them touches an entity's own importance. Over all projects; a node's numbers say nothing of another's text.
 */
import { energy } from "../../domain/graph/centrality.ts";
import { normalizedRanks } from "../../domain/graph/pagerank.ts";
import type { CallScope } from "../../kernel/context.ts";
import type { Deadline } from "../../kernel/deadline.ts";
import { newId } from "../../kernel/ids.ts";
import type { Database, Tx } from "../../store/port.ts";
import { dropOtherCommunities, insertCommunities, type NodeMetrics, saveNodeMetrics, tagNodes } from "../../store/queries/analytics.ts";
import { inSlices, type Pace } from "../pace.ts";
import { loadGraph } from "./graph.ts";
import type { RunMeasure } from "./measures.ts";

export const COMMUNITY_ALGORITHM = "leiden_v1";
/** Rows stored in one slice. */
const SAVED_ROWS = { first: 50, most: 1_000, least: 50 };
/** The greatest number of a limit. */
const EVERY_ROW = 2 ** 31 - 1;
/** Share of the time a call has left that the measure itself may take; storing it takes the rest. */
const MEASURE_SHARE = 0.7;

export interface MetricsRequest {
  readonly signal: AbortSignal;
  readonly deadline: Deadline;
  readonly pace: Pace;
}

export interface Ranked {
  /** Nodes that have a rank; 0 where all are equal and nothing was stored. */
  readonly updated: number;
  readonly energyRefreshed: number;
  /** Betweenness was estimated from some of the nodes. */
  readonly sampled: boolean;
}

export interface Tagged {
  readonly communities: number;
  readonly nodes: number;
  /** Nodes in no community with another. */
  readonly singletons: number;
  readonly modularity: number;
}

export interface NodeMetricsService {
  rank(request: MetricsRequest): Promise<Ranked>;
  /** Replaces all communities. */
  tag(request: MetricsRequest): Promise<Tagged>;
}

export function createNodeMetrics({ db, run }: { readonly db: Database; readonly run: RunMeasure }): NodeMetricsService {
  const everything = (signal: AbortSignal): CallScope => ({
    principal: { kind: "system", id: "analytics" },
    scope: { kind: "everything" },
    signal,
  });
  const limitsOf = ({ deadline, signal }: MetricsRequest) => ({ remainingMs: deadline.share(MEASURE_SHARE).remainingMs(), signal });

  return {
    async rank(request) {
      const ctx = everything(request.signal);
      const { graph, nodes } = await loadGraph(ctx, db, request.pace);
      const { ranks, between, sampled } = await run("ranks", graph, limitsOf(request));
      const known = nodes.flatMap((_, number): [string, number][] =>
        Number.isNaN(ranks[number] ?? Number.NaN) ? [] : [[String(number), ranks[number] ?? 0]],
      );
      const stretched = normalizedRanks(new Map(known));
      if (stretched === undefined) return { updated: 0, energyRefreshed: 0, sampled };
      const rows = nodes.map(({ id, importance }, number): NodeMetrics => {
        const rank = stretched.get(String(number));
        const through = Number.isNaN(between[number] ?? Number.NaN) ? 0 : (between[number] ?? 0);
        return { id, rank: rank ?? 0, between: through, energy: energy(rank ?? importance, through) };
      });
      let at = 0;
      await inSlices(request.pace, request.signal, SAVED_ROWS, async (size) => {
        const some = rows.slice(at, at + size);
        if (some.length > 0) await db.write(ctx, (tx) => tx.run(saveNodeMetrics(some)));
        at += size;
        return at < rows.length;
      });
      return { updated: known.length, energyRefreshed: rows.length, sampled };
    },

    async tag(request) {
      const ctx = everything(request.signal);
      const { graph, nodes } = await loadGraph(ctx, db, request.pace);
      const { label, modularity } = await run("communities", graph, limitsOf(request));
      const groups = Map.groupBy(nodes.keys(), (number) => label[number] ?? 0);
      const shared = Array.from(groups.values(), (group) => group.flatMap((number) => nodes[number]?.id ?? [])).filter(
        (group) => group.length > 1,
      );
      const ids = shared.map(() => newId());
      const tags = shared.flatMap((group, at) => group.map((node) => ({ node, community: at + 1 })));

      const begin = (tx: Tx) =>
        tx.run(insertCommunities({ ids, names: ids.map((_, at) => `community_${at + 1}`), algorithm: COMMUNITY_ALGORITHM, modularity }));
      const tagSome = (tx: Tx, some: typeof tags) =>
        tx.run(tagNodes({ ids, nodes: some.map(({ node }) => node), community: some.map(({ community }) => community) }));
      const drop = (tx: Tx, limit: number) => tx.run(dropOtherCommunities({ keep: ids, limit }));

      if (db.traits.concurrent)
        await db.write(ctx, async (tx) => {
          if (ids.length > 0) await begin(tx);
          if (tags.length > 0) await tagSome(tx, tags);
          await drop(tx, EVERY_ROW);
        });
      else {
        // One transaction over all nodes would hold every other call up on the only connection. Each slice leaves a node in its old community or in its
        // new one; the old ones go at the end, and what an interruption leaves the next run replaces.
        if (ids.length > 0) await db.write(ctx, begin);
        let at = 0;
        await inSlices(request.pace, request.signal, SAVED_ROWS, async (size) => {
          const some = tags.slice(at, at + size);
          if (some.length > 0) await db.write(ctx, (tx) => tagSome(tx, some));
          at += size;
          return at < tags.length;
        });
        await inSlices(request.pace, request.signal, SAVED_ROWS, async (size) => (await db.write(ctx, (tx) => drop(tx, size))) === size);
      }
      return { communities: shared.length, nodes: tags.length, singletons: groups.size - shared.length, modularity };
    },
  };
}
