import { z } from "zod";
import { invalid } from "../kernel/errors.ts";
import { triggerConditions } from "../services/triggers.ts";
import { action, defineTool } from "./define.ts";
import { allowSecret, choice, clamped, filledText, flag, instant, offset, text, uuid } from "./fields.ts";
import { fitRows, readOn } from "./fit.ts";
import { shownReminder } from "./shown-reminder.ts";

const PATTERN_CHARS = 200;
const MESSAGE_CHARS = 2_000;
const MOST_FIRES = 10_000;
const PAGE = 50;

const subject = text(0, PATTERN_CHARS, "entity name, error type, or session or client name; check: the subject");

export default defineTool({
  name: "cuba_centinela",
  group: "cognition",
  profile: "standard",
  title: "Reminders and notes",
  describe:
    "Reminders that fire when an entity is read, a session starts or an error matches; fires count down. on_session_start with another session's or client's name leaves it a note.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  actions: {
    create: action({
      input: z.object({
        entity_pattern: subject,
        condition_type: choice(triggerConditions, "when it fires; check: on_access by default"),
        message: filledText(MESSAGE_CHARS, "create: what to be told"),
        max_fires: clamped(-1, MOST_FIRES, "create: how often, 1 by default; -1 without limit").optional(),
        expires_at: instant("create: no longer after this").optional(),
        ...allowSecret,
      }),
      secretGate: ["message", "entity_pattern"],
      run: async (ctx, a, { triggers }) => {
        const pattern = a.entity_pattern.trim();
        if (pattern === "")
          throw invalid("entity_pattern is required: the name that it waits for. Nothing was written.", { field: "entity_pattern" });
        if (a.max_fires === 0)
          throw invalid(
            `max_fires must be from 1 to ${MOST_FIRES}, or -1 without limit; got 0, with which it could never fire. Nothing was written.`,
            {
              field: "max_fires",
            },
          );
        const trigger = { pattern, condition: a.condition_type, message: a.message, maxFires: a.max_fires ?? 1 };
        const { id } = await triggers.create(ctx, { ...trigger, expiresAt: a.expires_at });
        return {
          action: "create",
          trigger_id: id,
          entity_pattern: pattern,
          condition_type: trigger.condition,
          message: trigger.message,
          max_fires: trigger.maxFires,
          ...(a.expires_at === undefined ? {} : { expires_at: a.expires_at }),
        };
      },
    }),
    list: action({
      input: z.object({ offset: offset.optional() }),
      run: async (ctx, a, { triggers }) => {
        const start = a.offset ?? 0;
        const found = await triggers.list(ctx, { limit: PAGE, offset: start });
        const rows = found.rows.map((row) => ({
          id: row.id,
          entity_pattern: row.pattern,
          condition_type: row.condition,
          message: row.message,
          active: row.active,
          from_agent: row.fromAgent,
          fire_count: row.fireCount,
          max_fires: row.maxFires,
          created_at: row.createdAt,
          expires_at: row.expiresAt,
        }));
        const page = await fitRows({ rows, total: found.total, offset: start });
        return {
          action: "list",
          triggers: page.rows,
          count: page.rows.length,
          ...readOn(page),
        };
      },
    }),
    delete: action({
      deletesAtOnce: true,
      input: z.object({ trigger_id: uuid("delete: which one") }),
      run: async (ctx, a, { triggers }) => {
        const id = a.trigger_id.toLowerCase();
        await triggers.remove(ctx, id);
        return { action: "delete", trigger_id: id };
      },
    }),
    check: action({
      input: z.object({
        entity_pattern: subject.optional(),
        condition_type: choice(triggerConditions, "when it fires; check: on_access by default").optional(),
        dry_run: flag("check: only look; otherwise what is shown has fired").optional(),
      }),
      run: async (ctx, a, { triggers }) => {
        const dryRun = a.dry_run ?? false;
        const fired = await triggers.check(ctx, {
          condition: a.condition_type ?? "on_access",
          subject: a.entity_pattern?.trim() ?? "",
          dryRun,
        });
        return { action: "check", ...(dryRun ? { dry_run: true } : {}), triggered: fired.map(shownReminder), count: fired.length };
      },
    }),
  },
});
