/** What a scope looks like as a whole (`tools-maintenance.md` §7): counts, health, drift of errors, and measures of its graph. Reads only. */
import { type Drift, errorDrift, type TypeCounts } from "../../domain/drift.ts";
import { entropy, evenness } from "../../domain/entropy.ts";
import { byText } from "../../domain/graph/edges.ts";
import type { Embedder } from "../../inference/port.ts";
import type { CallContext } from "../../kernel/context.ts";
import { ANSWER_RESERVE_MS } from "../../kernel/deadline.ts";
import { causeChain, present } from "../../kernel/errors.ts";
import type { Database, RowOf, Tx } from "../../store/port.ts";
import { mostLinked } from "../../store/queries/analytics.ts";
import {
  activeTriggers,
  databaseSize,
  entityTypes,
  errorHealth,
  errorTypes,
  kindCounts,
  observationHealth,
  scopeCounts,
  tableSizes,
} from "../../store/queries/health.ts";
import type { PaceOfCall } from "../pace.ts";
import { loadGraph } from "./graph.ts";
import type { Measure, Measured, RunMeasure } from "./measures.ts";

/** An observation that nobody read for so long is stale. */
const STALE_DAYS = 30;
/** Tables whose size is shown. */
const SHOWN_TABLES = 12;
/** Entities shown of a ranking. */
const BRIDGES = 10;
const RANKED = 20;
/** Beside harmonic centrality, which alone compares nodes of parts that do not hang together; closeness orders those of one part. */
const CLOSENESS_WEIGHT = 0.5;
/** Relations from which on an entity stands in for a bridge, where betweenness could not be computed. */
const MANY_LINKS = 2;

export type Counts = RowOf<typeof scopeCounts>;

export interface Health {
  readonly averageImportance: number | null;
  readonly stale: number;
  readonly unusedEntities: number;
  readonly databaseSize: string | null;
  readonly withoutVector: number;
  readonly activeTriggers: number;
  readonly tables: readonly { readonly table: string; readonly size: string }[];
  readonly model: string;
  readonly entityEntropy: number;
  readonly observationEntropy: number;
  /** 0–1. */
  readonly diversity: number;
  readonly resolutionRate: number;
  readonly minutesToResolve: number | null;
}

export interface Community {
  readonly size: number;
  readonly members: readonly string[];
}

/** A measure of the graph, or what stands in for it and why. */
export type Communities =
  | { readonly kind: "found"; readonly communities: readonly Community[]; readonly singletons: number; readonly modularity: number }
  | { readonly kind: "types"; readonly types: readonly { readonly type: string; readonly size: number }[]; readonly reason: string };
export type Bridges =
  | {
      readonly kind: "found";
      readonly bridges: readonly { readonly entity: string; readonly centrality: number }[];
      readonly sampled: boolean;
    }
  | {
      readonly kind: "counted";
      readonly bridges: readonly { readonly entity: string; readonly connections: number }[];
      readonly reason: string;
    };

export interface Structure {
  readonly closeness: readonly { readonly entity: string; readonly harmonic: number; readonly closeness: number }[];
  readonly cores: readonly { readonly entity: string; readonly core: number }[];
}

export interface Analytics {
  summary(ctx: CallContext): Promise<Counts>;
  health(ctx: CallContext): Promise<Health>;
  drift(ctx: CallContext): Promise<Drift & { readonly types: readonly TypeCounts[] }>;
  /** Largest first. */
  communities(ctx: CallContext): Promise<Communities>;
  bridges(ctx: CallContext): Promise<Bridges>;
  structure(ctx: CallContext): Promise<Structure>;
}

export interface AnalyticsParts {
  readonly db: Database;
  readonly embedder: Pick<Embedder, "label" | "status">;
  readonly run: RunMeasure;
  readonly paceOf: PaceOfCall;
}

export function createAnalytics({ db, embedder, run, paceOf }: AnalyticsParts): Analytics {
  const measure = async <M extends Measure>(ctx: CallContext, name: M): Promise<{ names: string[]; found: Measured[M] }> => {
    const { graph, nodes } = await loadGraph(ctx, db, paceOf(ctx.id));
    const remainingMs = Math.max(0, ctx.deadline.remainingMs() - ANSWER_RESERVE_MS);
    return { names: nodes.map((node) => node.name), found: await run(name, graph, { remainingMs, signal: ctx.signal }) };
  };
  /** Nodes with a score, best first, ties by name. */
  const ranked = (names: readonly string[], scores: ArrayLike<number>, most: number) =>
    names
      .flatMap((entity, node) => (Number.isNaN(scores[node] ?? Number.NaN) ? [] : [{ entity, node, score: scores[node] ?? 0 }]))
      .sort((a, b) => b.score - a.score || byText(a.entity, b.entity) || a.node - b.node)
      .slice(0, most);
  /** What stands in where a measure failed; a caller who gave up gets no answer at all. */
  const instead = async <T>(ctx: CallContext, cause: unknown, read: (tx: Tx) => Promise<T>): Promise<{ rows: T; reason: string }> => {
    if (ctx.signal.aborted) throw cause;
    ctx.log.warn("a measure of the graph failed", { cause: causeChain(cause) });
    return { rows: await db.read(ctx, read), reason: present(cause, ctx.id).text };
  };

  return {
    summary: (ctx) =>
      db.read(ctx, async (tx) => {
        const counts = await tx.first(scopeCounts({ scope: ctx.scope }));
        return counts ?? { entities: 0, observations: 0, episodes: 0, relations: 0, errors: 0, sessions: 0 };
      }),

    async health(ctx) {
      const { scope } = ctx;
      const read = await db.read(ctx, async (tx) => ({
        observations: await tx.first(observationHealth({ scope, staleDays: STALE_DAYS })),
        kinds: await tx.all(kindCounts({ scope })),
        errors: await tx.first(errorHealth({ scope })),
        triggers: await tx.first(activeTriggers({ scope })),
      }));
      const sizes = await db
        .read(ctx, async (tx) => ({
          all: (await tx.first(databaseSize()))?.size ?? null,
          tables: await tx.all(tableSizes({ limit: SHOWN_TABLES })),
        }))
        .catch((cause: unknown) => {
          // A role that may not ask for sizes still gets the rest.
          ctx.log.warn("the size of the database is unknown", { cause: causeChain(cause) });
          return { all: null, tables: [] };
        });
      const of = (kind: "entity" | "observation") => read.kinds.filter((row) => row.of === kind);
      const counts = (kind: "entity" | "observation") => of(kind).map((row) => row.count);
      const { all, resolved, minutes } = read.errors ?? { all: 0, resolved: 0, minutes: null };
      return {
        averageImportance: read.observations?.averageImportance ?? null,
        stale: read.observations?.stale ?? 0,
        withoutVector: read.observations?.withoutVector ?? 0,
        unusedEntities: of("entity").reduce((sum, row) => sum + row.unused, 0),
        databaseSize: sizes.all,
        tables: sizes.tables,
        activeTriggers: read.triggers?.count ?? 0,
        model: embedder.label,
        entityEntropy: entropy(counts("entity")),
        observationEntropy: entropy(counts("observation")),
        diversity: (evenness(counts("entity")) + evenness(counts("observation"))) / 2,
        resolutionRate: all === 0 ? 0 : resolved / all,
        minutesToResolve: minutes,
      };
    },

    async drift(ctx) {
      const types = await db.read(ctx, (tx) => tx.all(errorTypes({ scope: ctx.scope })));
      return { ...errorDrift(types), types };
    },

    async communities(ctx) {
      try {
        const { names, found } = await measure(ctx, "communities");
        const groups = Map.groupBy(names.keys(), (node) => found.label[node] ?? 0);
        const membersOf = (group: readonly number[]) => group.map((node) => names[node] ?? "").sort(byText);
        const ordered = Array.from(groups.values(), (group) => ({ size: group.length, members: membersOf(group) })).sort(
          (a, b) => b.size - a.size || byText(a.members[0] ?? "", b.members[0] ?? ""),
        );
        const communities = ordered.filter(({ size }) => size > 1);
        return { kind: "found", communities, singletons: ordered.length - communities.length, modularity: found.modularity };
      } catch (cause) {
        const { rows, reason } = await instead(ctx, cause, (tx) => tx.all(entityTypes({ scope: ctx.scope })));
        return { kind: "types", types: rows, reason };
      }
    },

    async bridges(ctx) {
      try {
        const { names, found } = await measure(ctx, "bridges");
        const bridges = ranked(names, found.between, BRIDGES).filter(({ score }) => score > 0);
        return { kind: "found", bridges: bridges.map(({ entity, score }) => ({ entity, centrality: score })), sampled: found.sampled };
      } catch (cause) {
        const { rows, reason } = await instead(ctx, cause, (tx) =>
          tx.all(mostLinked({ scope: ctx.scope, above: MANY_LINKS, limit: BRIDGES })),
        );
        return { kind: "counted", bridges: rows, reason };
      }
    },

    async structure(ctx) {
      const { names, found } = await measure(ctx, "structure");
      const together = names.map(
        (_, node) => (found.harmonic[node] ?? Number.NaN) + CLOSENESS_WEIGHT * (found.closeness[node] ?? Number.NaN),
      );
      return {
        closeness: ranked(names, together, RANKED).map(({ entity, node }) => ({
          entity,
          harmonic: found.harmonic[node] ?? 0,
          closeness: found.closeness[node] ?? 0,
        })),
        cores: ranked(names, found.cores, RANKED).map(({ entity, score }) => ({ entity, core: score })),
      };
    },
  };
}
