import { z } from "zod";
import { LEAST_NAME_CHARS } from "../domain/mentions.ts";
import type { Erasure } from "../services/forgetting.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { entityName, flag } from "./fields.ts";

/** Ids shown of what stays. */
const SHOWN_MENTIONS = 50;

/** Names shown that no text was searched for. */
const SHOWN_NAMES = 20;
const notSought = (name: string) =>
  `texts that name '${name}': a name below ${LEAST_NAME_CHARS} characters is not looked for in them, since it would take too much along; find them with cuba_faro and delete what should go`;

/** Where copies may be that no statement of ours reaches. */
const NOT_REACHABLE = [
  "files that export and skills wrote, and what was copied from here",
  "git history and sync bundles that were written before",
  "peers that have not synced since: the tombstones erase their rows when they do",
  "undo files and backups",
  "the audit log, which is append-only",
  "freed pages of the database files until they are used again",
  "logs, clients and models that have read it",
];

export default defineTool({
  name: "cuba_forget",
  group: "maintenance",
  profile: "full",
  title: "Forget",
  describe:
    "Erase an entity for good: its memories and whatever else of its project names it. A plan unless confirm; rows of others that mention it stay and are listed.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  only: action({
    input: z.object({
      entity_name: entityName("exact name or alias"),
      confirm: flag("true erases; else a plan").optional(),
      expect: z.record(z.string(), z.int().min(0)).describe("would_erase of the plan; refused when it no longer holds").optional(),
    }),
    run: async (ctx, a, { forgetting }) => {
      if (a.confirm !== true) {
        const plan = await forgetting.plan(ctx, a.entity_name);
        return {
          action: "forget",
          dry_run: true,
          ...described(plan, a.entity_name, false),
          would_erase: plan.counts,
          samples: plan.samples,
          hint:
            plan.entity === undefined
              ? "no entity has this name here"
              : "nothing was erased; confirm: true erases it, and nothing brings it back",
        };
      }
      const done = await forgetting.forget(ctx, a.entity_name, a.expect);
      return { action: "forget", dry_run: false, ...described(done, a.entity_name, done.entity !== undefined), erased: done.counts };
    },
  }),
});

const described = (erasure: Erasure, asked: string, deleted: boolean): Answer => ({
  entity_name: erasure.entity ?? asked,
  ...(erasure.entity === undefined || erasure.entity === asked ? {} : { requested_name: asked }),
  entity_deleted: deleted,
  cascaded: {
    observations: "via FK CASCADE",
    episodes: "via FK CASCADE",
    relations: "via FK CASCADE",
    errors_purged: deleted ? (erasure.counts.brain_errors ?? 0) : 0,
    sessions_purged: deleted ? (erasure.counts.brain_sessions ?? 0) : 0,
  },
  remaining_mentions: erasure.remaining.slice(0, SHOWN_MENTIONS),
  remaining_total: erasure.remaining.length,
  not_reachable: [...erasure.notSought.slice(0, SHOWN_NAMES).map(notSought), ...NOT_REACHABLE],
  gdpr_compliance: deleted
    ? "No compliance is claimed: erased says what is gone from this database, remaining_mentions and not_reachable where copies may be left."
    : "Nothing was erased.",
});
