import { z } from "zod";
import { cleanName } from "../domain/names.ts";
import type { Backfilled, Merged } from "../services/project-merge.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { filledText, flag, offset } from "./fields.ts";
import { fitRows, readOn } from "./fit.ts";

const NAME_CHARS = 200;
/** Projects listed at once. */
const PAGE = 100;

const name = filledText(NAME_CHARS, "project name");
const to = filledText(NAME_CHARS, "rename, merge: the other name");
const confirm = flag("merge, backfill: true does it; without it a plan is shown and nothing changes").optional();

export default defineTool({
  name: "cuba_proyecto",
  group: "sessions",
  profile: "agent",
  title: "Projects",
  describe:
    "Keeps the memories of several projects apart. current tells which one is active and why. While a project is active, rows without a project are hidden: backfill adopts them. merge and backfill are plans unless confirm is true.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  actions: {
    list: action({
      input: z.object({ offset: offset.optional() }),
      run: async (ctx, args, { projects }) => {
        const start = args.offset ?? 0;
        const { rows, total } = await projects.list(ctx, { limit: PAGE, offset: start });
        const shown = rows.map((row) => ({
          id: row.id,
          name: row.name,
          created_at: row.createdAt,
          last_active_at: row.lastActiveAt,
          entity_count: row.entityCount,
        }));
        const page = await fitRows({ rows: shown, total, offset: start });
        return { action: "list", projects: page.rows, count: page.rows.length, ...readOn(page) };
      },
    }),
    current: action({
      input: z.object({}),
      run: async (ctx, _args, { projects }) => {
        const active = await projects.current(ctx);
        if (active === undefined) return { action: "current", project: null };
        return { action: "current", project: { id: active.id, name: active.name }, source: active.source, identity: active.identity };
      },
    }),
    switch: action({
      input: z.object({ name }),
      secretGate: ["name"],
      run: async (ctx, args, { projects }) => {
        const switched = await projects.switchTo(ctx, cleanName(args.name));
        return {
          action: "switch",
          project: switched.project,
          bound_to_session: switched.session ?? null,
          created: switched.created,
          ...(switched.similarNames.length === 0 ? {} : { similar_names: switched.similarNames }),
          ...(switched.unbound
            ? { warning: "this client declared no identity (header Mcp-Client-Id), so its next call is in no project again" }
            : {}),
        };
      },
    }),
    stats: action({
      input: z.object({ name: name.optional() }),
      run: async (ctx, args, { projects }) => {
        const stats = await projects.stats(ctx, args.name === undefined ? undefined : cleanName(args.name));
        if (stats === undefined)
          return { action: "stats", project: null, note: "no project is active; name one, or see cuba_proyecto action=list" };
        const { project, ...counts } = stats;
        return { action: "stats", project_id: project.id, project_name: project.name, ...counts };
      },
    }),
    rename: action({
      input: z.object({ name, to }),
      secretGate: ["to"],
      run: async (ctx, args, { projects }) => {
        const [from, wanted] = [cleanName(args.name), cleanName(args.to, "to")];
        return { action: "rename", from, to: wanted, renamed: await projects.rename(ctx, from, wanted) };
      },
    }),
    merge: action({
      input: z.object({ name, to, confirm }),
      secretGate: ["to"],
      run: async (ctx, args, { projects }) =>
        merged(await projects.merge(ctx, cleanName(args.name), cleanName(args.to, "to"), args.confirm === true)),
    }),
    backfill: action({
      input: z.object({ name, confirm }),
      secretGate: ["name"],
      run: async (ctx, args, { projects }) => backfilled(await projects.backfill(ctx, cleanName(args.name), args.confirm === true)),
    }),
  },
});

function merged(result: Merged): Answer {
  const common = {
    action: "merge",
    from: result.from.name,
    to: result.to.name,
    from_id: result.from.id,
    to_id: result.to.id === "" ? null : result.to.id,
  };
  return result.kind === "merged"
    ? { ...common, dry_run: false, rows_moved: result.rows, entities_folded: result.folded }
    : {
        ...common,
        dry_run: true,
        would_move: result.rows,
        entities_would_fold: result.folded,
        note: "nothing was changed; confirm: true merges. It cannot be undone, and the deletion travels to synced machines",
      };
}

function backfilled(result: Backfilled): Answer {
  const outcome =
    result.kind === "assigned"
      ? { dry_run: false, assigned: result.rows, entities_folded: result.folded }
      : {
          dry_run: true,
          would_assign: result.rows,
          entities_would_fold: result.folded,
          note: "nothing was changed; confirm: true assigns these rows",
        };
  return { action: "backfill", project: result.project, result: outcome };
}
