import { z } from "zod";
import { isProjectScoped } from "../services/maintenance/overview.ts";
import { action, defineTool } from "./define.ts";
import { fitRows, tokensLeft } from "./fit.ts";
import { round } from "./numbers.ts";

/** Tokens that an observation or an episode takes, about. */
const TOKENS_A_ROW = 50;
const round3 = (value: number) => Math.round(value * 1_000) / 1_000;
const none = z.object({});

export default defineTool({
  name: "cuba_vigia",
  group: "maintenance",
  profile: "full",
  title: "Analytics",
  describe:
    "Numbers about the memory: counts, health, drift of errors; of the graph its communities, bridges (betweenness) and structure (closeness, cores). Reads only.",
  hints: { readOnly: true, destructive: false, openWorld: false },
  selector: { name: "metric", describe: "which numbers", default: "summary" },
  actions: {
    summary: action({
      input: none,
      run: async (ctx, _, { analytics }) => {
        const counts = await analytics.summary(ctx);
        const tokens = (counts.observations + counts.episodes) * TOKENS_A_ROW;
        return { metric: "summary", ...counts, estimated_tokens: tokens, project_scoped: isProjectScoped(ctx.scope) };
      },
    }),
    health: action({
      input: none,
      run: async (ctx, _, { analytics }) => {
        const found = await analytics.health(ctx);
        return {
          metric: "health",
          avg_importance: found.averageImportance === null ? null : round3(found.averageImportance),
          stale_observations: found.stale,
          unused_entities: found.unusedEntities,
          database_size: found.databaseSize,
          null_embeddings: found.withoutVector,
          active_triggers: found.activeTriggers,
          table_sizes: Object.fromEntries(found.tables.map(({ table, size }) => [table, size])),
          embedding_model: found.model,
          entropy: {
            entity_types: round3(found.entityEntropy),
            observation_types: round3(found.observationEntropy),
            knowledge_diversity_score: round3(found.diversity),
            interpretation: "bits over the counts of types; diversity 0: all of one type, 1: spread evenly",
          },
          error_metrics: {
            resolution_rate: round3(found.resolutionRate),
            mttr_minutes: found.minutesToResolve === null ? null : Math.round(found.minutesToResolve * 10) / 10,
          },
          project_scoped: isProjectScoped(ctx.scope),
        };
      },
    }),
    drift: action({
      input: none,
      run: async (ctx, _, { analytics }) => {
        const found = await analytics.drift(ctx);
        const rest = {
          metric: "drift",
          chi_squared: round(found.chiSquared),
          degrees_of_freedom: found.degreesOfFreedom,
          p_value: Math.round(found.pValue * 1e6) / 1e6,
          categories: found.types.length,
          drift_detected: found.isDrift,
          project_scoped: isProjectScoped(ctx.scope),
        };
        const rows = found.types.filter(({ recent }) => recent > 0).map(({ type, recent }) => ({ error_type: type, count: recent }));
        const budget = await tokensLeft(rest, 2);
        const page = await fitRows({ rows, total: rows.length, offset: 0, budget });
        const fresh = await fitRows({ rows: found.newTypes.map((type) => ({ type })), total: found.newTypes.length, offset: 0, budget });
        return {
          ...rest,
          error_distribution: page.rows,
          new_types: fresh.rows.map(({ type }) => type),
          ...(page.truncated || fresh.truncated ? { truncated: true, total: rows.length } : {}),
        };
      },
    }),
    communities: action({
      input: none,
      run: async (ctx, _, { analytics }) => {
        const found = await analytics.communities(ctx);
        const persisted = { persisted: false, nodes_tagged: 0, project_scoped: isProjectScoped(ctx.scope) };
        if (found.kind === "types")
          return {
            metric: "communities",
            algorithm: "fallback_groupby",
            degraded: true,
            reason: found.reason,
            communities: found.types,
            count: found.types.length,
            ...persisted,
          };
        const rows = found.communities.map(({ size, members }, at) => ({ community_id: at + 1, size, members }));
        const page = await fitRows({ rows: rows.map(shortened), total: rows.length, offset: 0 });
        return {
          metric: "communities",
          algorithm: "leiden",
          communities: page.rows,
          count: found.communities.length,
          singletons: found.singletons,
          modularity: round(found.modularity),
          ...persisted,
          ...(page.truncated ? { truncated: true, total: rows.length, next: "cuba_faro scope=entities" } : {}),
        };
      },
    }),
    bridges: action({
      input: none,
      run: async (ctx, _, { analytics }) => {
        const found = await analytics.bridges(ctx);
        const scoped = { project_scoped: isProjectScoped(ctx.scope) };
        if (found.kind === "counted")
          return {
            metric: "bridges",
            algorithm: "sql_connection_count",
            degraded: true,
            reason: found.reason,
            bridge_entities: found.bridges,
            interpretation: "entities with more than two relations; betweenness could not be computed",
            ...scoped,
          };
        return {
          metric: "bridges",
          algorithm: "brandes_betweenness",
          bridge_entities: found.bridges.map(({ entity, centrality }) => ({ entity, centrality: round(centrality) })),
          sampled: found.sampled,
          interpretation: "share of shortest paths that lead through an entity (0–1): what connects parts that would else be apart",
          ...scoped,
        };
      },
    }),
    structural: action({
      input: none,
      run: async (ctx, _, { analytics }) => {
        const found = await analytics.structure(ctx);
        return {
          metric: "structural",
          closeness_harmonic: found.closeness.map((row) => ({
            entity: row.entity,
            harmonic: round(row.harmonic),
            closeness: round(row.closeness),
          })),
          kcore: found.cores.map(({ entity, core }) => ({ entity, kcore: core })),
          interpretation: "harmonic and closeness: how near an entity is to all others; kcore: the densest group that it belongs to",
          project_scoped: isProjectScoped(ctx.scope),
        };
      },
    }),
  },
});

/** Members named of one community; the size tells how many there are. */
const MOST_MEMBERS = 50;
function shortened<T extends { readonly members: readonly string[] }>(row: T): T | (T & { readonly members_truncated: true }) {
  return row.members.length > MOST_MEMBERS
    ? { ...row, members: row.members.slice(0, MOST_MEMBERS), members_truncated: true as const }
    : row;
}
