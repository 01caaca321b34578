import { z } from "zod";
import { EPISODE_DECAY, halfLifeDays } from "../domain/strength/decay.ts";
import { MemoryError, present } from "../kernel/errors.ts";
import { firstChars } from "../kernel/text.ts";
import { COMMUNITY_ALGORITHM } from "../services/analytics/node-metrics.ts";
import { isProjectScoped } from "../services/maintenance/overview.ts";
import type { PruneCounts } from "../services/maintenance/pruning.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { allowSecret, CONTENT_CHARS, choice, entityName, filledText, flag, int, number, offset } from "./fields.ts";
import { fitRows } from "./fit.ts";
import { round } from "./numbers.ts";

const PRUNE_BELOW = 0.1;
const MERGE_ABOVE = 0.8;
/** Pairs above it are shown as duplicates, and how many where nothing else was asked for. */
const DUPLICATES_ABOVE = 0.7;
const DUPLICATE_ROWS = 20;
const DUPLICATE_CHARS = 100;
const REEMBED_ROWS = 500;
const MOST_REEMBEDDED = 1_000_000;
const EXPORT_ROWS = 500;
/** From so many rows on a repair tells how far it is. */
const PROGRESS_FROM = 50;

/** Greater than 0, and small enough to be computed with. */
const positive = (describe: string) => z.number().gt(0).max(1e6).describe(describe);
const unfinished = (complete: boolean): Answer =>
  complete ? {} : { complete: false, hint: "the time of the call was over; call again for the rest, nothing is done twice" };

export default defineTool({
  name: "cuba_zafra",
  group: "maintenance",
  profile: "full",
  title: "Maintenance",
  describe:
    "Memory maintenance: decay, prune (a plan unless confirm), merge observations of the same words, summarize an entity, stats, find_duplicates, pagerank and communities (all projects; stored beside the graph), export (top entities), reembed, decay_episodes.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  actions: {
    decay: action({
      input: z.object({ halflife_days: positive("decay: one half-life for all types").optional() }),
      run: async (ctx, a, { maintenance }) => {
        const { count, complete } = await maintenance.fading.decay({
          ...ctx,
          pace: maintenance.paceOf(ctx.id),
          halfLifeDays: a.halflife_days,
        });
        return {
          action: "decay",
          decayed: count,
          project_scoped: isProjectScoped(ctx.scope),
          stratification: {
            "fact/preference": `${halfLifeDays("fact")}d base halflife`,
            "error/solution": `${halfLifeDays("error")}d base halflife`,
            "context/tool_usage": `${halfLifeDays("context")}d base halflife`,
            "decision/lesson": "never decay",
          },
          formula: "importance * 2^(-days / (base_halflife * (1 + ln(1 + access_count))))",
          testing_effect: "Karpicke & Roediger 2008",
          ...(a.halflife_days === undefined ? {} : { halflife_days: a.halflife_days }),
          ...unfinished(complete),
        };
      },
    }),
    prune: action({
      input: z.object({
        threshold: number(0, 1, "prune: importance below it goes").default(PRUNE_BELOW),
        confirm: flag("prune: true deletes").optional(),
        scope: choice(["project", "all"], "prune: all, where no project is active").default("project"),
      }),
      run: async (ctx, a, { maintenance }) => {
        const same = { threshold: a.threshold, project_scoped: isProjectScoped(ctx.scope) };
        if (a.confirm !== true) {
          const plan = await maintenance.pruning.plan(ctx, a.threshold);
          const hint = `nothing was deleted; confirm: true deletes${isProjectScoped(ctx.scope) ? "" : ', with scope: "all" because no project is active'}. Decisions, lessons and quarantined rows stay.`;
          return { action: "prune", dry_run: true, would_prune: plan.total, ...groups(plan), ...same, hint };
        }
        const done = await maintenance.pruning.prune(ctx, a.threshold, a.scope === "all");
        return {
          action: "prune",
          dry_run: false,
          pruned: done.total,
          ...groups(done),
          ...same,
          remaining: done.remaining,
          undo_file: done.undoFile ?? null,
          ...(done.undoFile === undefined ? {} : { hint: "memory-industry delete --undo FILE brings them back" }),
        };
      },
    }),
    merge: action({
      input: z.object({ similarity_threshold: number(0, 1, "merge: similarity above it").default(MERGE_ABOVE) }),
      run: async (ctx, a, { maintenance }) => {
        const done = await maintenance.pairs.merge(ctx, a.similarity_threshold);
        return {
          action: "merge",
          merged: done.merged,
          threshold: a.similarity_threshold,
          project_scoped: isProjectScoped(ctx.scope),
          skipped_different: done.skippedDifferent,
          remaining: done.left,
          ...unfinished(done.complete),
        };
      },
    }),
    summarize: action({
      input: z.object({
        entity_name: entityName("summarize: the entity"),
        compressed_summary: filledText(CONTENT_CHARS, "summarize: text that replaces its observations"),
        include_protected: flag("summarize: decisions and lessons too").optional(),
        ...allowSecret,
      }),
      secretGate: ["compressed_summary", "entity_name"],
      run: async (ctx, a, { maintenance }) => {
        const done = await maintenance.summaries.summarize(ctx, {
          entityName: a.entity_name,
          summary: a.compressed_summary,
          includeProtected: a.include_protected === true,
        });
        return {
          action: "summarize",
          entity: done.entity,
          ...(done.requestedName === undefined ? {} : { requested_name: done.requestedName }),
          superseded: done.superseded,
          observation_id: done.id,
          kept: done.kept,
          quarantined_kept: done.withheld,
          project_scoped: isProjectScoped(ctx.scope),
        };
      },
    }),
    stats: action({
      input: z.object({}),
      run: async (ctx, _, { maintenance }) => {
        const { entities, observations, superseded } = await maintenance.overview.counts(ctx);
        const active = observations - superseded;
        return { action: "stats", entities, observations, superseded, active, project_scoped: isProjectScoped(ctx.scope) };
      },
    }),
    find_duplicates: action({
      input: z.object({ offset: offset.optional() }),
      run: async (ctx, a, { maintenance }) => {
        const start = a.offset ?? 0;
        const { pairs, total, complete } = await maintenance.pairs.find(ctx, DUPLICATES_ABOVE);
        const rows = pairs.slice(start, start + DUPLICATE_ROWS).map((pair) => ({
          entity: pair.entity,
          id_a: pair.a,
          id_b: pair.b,
          content_a: firstChars(pair.contentA, DUPLICATE_CHARS),
          content_b: firstChars(pair.contentB, DUPLICATE_CHARS),
          similarity: round(pair.similarity),
        }));
        const page = await fitRows({ rows, total: Math.min(total, pairs.length), offset: start });
        return {
          action: "find_duplicates",
          duplicates: page.rows,
          count: page.rows.length,
          project_scoped: isProjectScoped(ctx.scope),
          ...(page.truncated ? { truncated: true, total, next: page.next } : {}),
          ...unfinished(complete),
        };
      },
    }),
    export: action({
      input: z.object({ offset: offset.optional() }),
      run: async (ctx, a, { maintenance }) => {
        const start = a.offset ?? 0;
        const found = await maintenance.overview.top(ctx, { limit: EXPORT_ROWS, offset: start });
        const rows = found.rows.map((row) => ({ ...row, importance: round(row.importance) }));
        const page = await fitRows({ rows, total: found.total, offset: start });
        return {
          action: "export",
          entities: page.rows,
          count: page.rows.length,
          project_scoped: isProjectScoped(ctx.scope),
          total: found.total,
          truncated: page.truncated,
          ...(page.truncated ? { next: page.next } : {}),
        };
      },
    }),
    pagerank: action({
      input: z.object({}),
      run: async (ctx, _, { maintenance }) => {
        const done = await maintenance.nodeMetrics.rank({ ...ctx, pace: maintenance.paceOf(ctx.id) });
        return {
          action: "pagerank",
          updated: done.updated,
          energy_refreshed: done.energyRefreshed,
          project_scoped: false,
          ...(done.sampled ? { sampled: true } : {}),
        };
      },
    }),
    communities: action({
      input: z.object({}),
      run: async (ctx, _, { maintenance }) => {
        const done = await maintenance.nodeMetrics.tag({ ...ctx, pace: maintenance.paceOf(ctx.id) });
        return {
          action: "communities",
          communities: done.communities,
          nodes_tagged: done.nodes,
          algorithm: COMMUNITY_ALGORITHM,
          singletons: done.singletons,
          modularity: round(done.modularity),
          project_scoped: false,
        };
      },
    }),
    reembed: action({
      input: z.object({ batch_size: int(1, MOST_REEMBEDDED, "reembed: most rows of each kind").default(REEMBED_ROWS) }),
      run: async (ctx, a, { maintenance }) => {
        const scoped = { project_scoped: isProjectScoped(ctx.scope) };
        try {
          const done = await maintenance.reembed.run({
            ...ctx,
            limit: a.batch_size,
            progress: (at, all, unit) => {
              if ((all ?? 0) > PROGRESS_FROM) ctx.progress(at, all, unit);
            },
          });
          return {
            action: "reembed",
            total_fetched: done.fetched,
            updated: done.updated,
            failed: done.failed,
            remaining: done.remaining,
            model: done.model,
            dim: done.dimensions,
            ...scoped,
            note:
              done.remaining > 0
                ? "call again for the rest; rows that are done are not done twice"
                : "every row has a vector of this model",
          };
        } catch (error) {
          // Without a model there is nothing to repair with, which is a state and not a fault.
          if (!(error instanceof MemoryError) || error.code !== "unavailable" || maintenance.reembed.ready()) throw error;
          return { action: "reembed", updated: 0, error: `embedding model not loaded: ${present(error).text}`, ...scoped };
        }
      },
    }),
    decay_episodes: action({
      input: z.object({
        c: positive("decay_episodes").default(EPISODE_DECAY.c),
        beta: positive("decay_episodes").default(EPISODE_DECAY.beta),
      }),
      run: async (ctx, { c, beta }, { maintenance }) => {
        const { count, complete } = await maintenance.fading.decayEpisodes({ ...ctx, pace: maintenance.paceOf(ctx.id) }, { c, beta });
        return {
          action: "decay_episodes",
          decayed: count,
          formula: "initial_importance / (1 + c * days)^beta",
          c,
          beta,
          project_scoped: isProjectScoped(ctx.scope),
          ...unfinished(complete),
        };
      },
    }),
  },
});

const groups = ({ byProject, byType }: PruneCounts): Answer => ({ by_project: byProject, by_type: byType });
