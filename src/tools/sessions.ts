import { z } from "zod";
import { cleanName } from "../domain/names.ts";
import { firstChars, isBlank } from "../kernel/text.ts";
import { type EndResult, outcomes, type Started, type StartResult } from "../services/sessions.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { allowSecret, choice, clamped, listOf, offset, text, uuid } from "./fields.ts";
import { ANSWER_TOKENS, fitRows, fitText, readOn, tokensLeft } from "./fit.ts";
import { shownReminder } from "./shown-reminder.ts";

/** Longest session name, goal and summary, code points. */
const NAME_CHARS = 200;
const GOAL_CHARS = 1_000;
const MOST_GOALS = 50;
const SUMMARY_CHARS = 50_000;
/** Sessions listed at once. */
const PAGE = 20;
const MOST_LISTED = 50;
/** Of an answer, what its goals may take: fifty of them at their longest are five answers. */
const GOALS_TOKENS = ANSWER_TOKENS / 4;
/** Characters of reminders that come whole, and what each keeps where there are more; ten of 2,000 would be two answers. */
const REMINDERS_CHARS = 4_000;
const REMINDER_CHARS = 250;

export default defineTool({
  name: "cuba_jornada",
  group: "sessions",
  profile: "lean",
  title: "Working sessions",
  describe:
    "Working session with goals and outcome. start hands over what the last session left; project binds all that follows to that project. end with a summary reports what was written.",
  hints: { readOnly: false, destructive: false, openWorld: false },
  actions: {
    start: action({
      input: z.object({
        name: text(0, NAME_CHARS, "start: what this session is about").default("unnamed"),
        goals: listOf(text(1, GOAL_CHARS, "one goal"), 0, MOST_GOALS, "start: goals, one text each").default([]),
        project: text(0, NAME_CHARS, "start: project by name, created on first use").optional(),
        ...allowSecret,
      }),
      secretGate: ["name", "goals", "project"],
      run: async (ctx, { name, goals, project }, { sessions }) => {
        const wanted = project === undefined || isBlank(project) ? undefined : cleanName(project, "project");
        return started(await sessions.start(ctx, { name: isBlank(name) ? "unnamed" : name, goals, project: wanted }));
      },
    }),
    end: action({
      input: z.object({
        outcome: choice(outcomes, "end: how it went").default("success"),
        summary: text(0, SUMMARY_CHARS, "end: what the next session should know").default(""),
        session_id: uuid("end: an open session of this client that is not the current one").optional(),
        ...allowSecret,
      }),
      secretGate: ["summary"],
      run: async (ctx, { outcome, summary, session_id }, { sessions }) =>
        ended(await sessions.end(ctx, { outcome, summary, sessionId: session_id?.toLowerCase() })),
    }),
    list: action({
      input: z.object({
        limit: clamped(1, MOST_LISTED, "list: most rows; a long summary comes whole with 1").optional(),
        offset: offset.optional(),
      }),
      run: async (ctx, args, { sessions }) => {
        const start = args.offset ?? 0;
        const { rows, total } = await sessions.list(ctx, { limit: args.limit ?? PAGE, offset: start });
        const shown = rows.map((row) => ({
          id: row.id,
          name: row.name,
          outcome: row.outcome,
          summary: row.summary,
          project_name: row.projectName,
          started_at: row.startedAt,
          ended_at: row.endedAt,
        }));
        const page = await fitRows({ rows: shown, total, offset: start, long: "summary", whole: args.limit === 1 });
        return {
          action: "list",
          sessions: page.rows.map(({ content_chars, content_truncated, ...row }) =>
            content_truncated === undefined ? row : { ...row, summary_chars: content_chars, summary_truncated: true },
          ),
          count: page.rows.length,
          ...readOn(page),
        };
      },
    }),
    current: action({
      input: z.object({}),
      run: async (ctx, _args, { sessions }) => {
        const session = await sessions.current(ctx);
        if (session === undefined) return { action: "current", session: null, compaction_hint: false, last_snapshot: null };
        return {
          action: "current",
          session: {
            id: session.id,
            name: session.name,
            ...(await shownGoals(session.goals)),
            started_at: session.startedAt,
            obs_count_in_session: session.observations,
          },
          compaction_hint: session.compactionHint,
          last_snapshot: session.snapshot === undefined ? null : { id: session.snapshot.id, created_at: session.snapshot.createdAt },
        };
      },
    }),
  },
});

/** Goals as far as they go; the caller has them, so there is no way to read on. */
async function shownGoals(goals: readonly unknown[]): Promise<Answer> {
  const rows = goals.map((goal) => ({ goal }));
  const page = await fitRows({ rows, total: goals.length, offset: 0, budget: GOALS_TOKENS, long: "goal" });
  return { goals: page.rows.map(({ goal }) => goal), ...(page.truncated ? { goals_truncated: true, goals_total: goals.length } : {}) };
}

/** Reminders, every one: what was delivered counts as told. Long messages are cut where they are many. */
function shownReminders(fired: Started["reminders"]): Answer[] {
  const isMuch = fired.reduce((sum, { message }) => sum + message.length, 0) > REMINDERS_CHARS;
  return fired.map((reminder) => {
    const shown = shownReminder(reminder);
    const message = isMuch ? firstChars(shown.message, REMINDER_CHARS) : shown.message;
    return message === shown.message
      ? shown
      : { ...shown, message, message_truncated: true, next: "cuba_centinela action=list shows it whole" };
  });
}

/** What the last session left, cut to `budget` tokens. */
async function shownPrevious({ summary, ...previous }: NonNullable<Started["previous"]>, rest: Answer): Promise<Answer> {
  const text = summary === null ? { summary } : await fitText("summary", summary, rest);
  return "summary_truncated" in text
    ? { ...previous, ...text, next: "cuba_jornada action=list limit=1, offset counted from the newest, shows a summary whole" }
    : { ...previous, ...text };
}

async function started(result: StartResult): Promise<Answer> {
  if (result.kind === "unbound")
    return {
      action: "started",
      bound: false,
      session: null,
      warning:
        "This client declared no identity, so a session could not be found again and none was opened. Send the header Mcp-Client-Id (one value for each workspace), then start again.",
    };
  const { previous, notices } = result;
  const session = {
    id: result.id,
    session_name: result.name,
    ...(await shownGoals(result.goals)),
    started_at: result.startedAt,
    project_id: result.project?.id ?? null,
    project_name: result.project?.name ?? null,
  };
  const reminders = shownReminders(result.reminders);
  const told = { session, reminders };
  const budget = await tokensLeft(told, 2);
  const news = await fitRows({
    rows: notices.map((n) => ({ id: n.id, from: n.from, summary: n.summary, manifest_hash: n.manifestHash, at: n.at })),
    total: notices.length,
    offset: 0,
    budget,
    long: "summary",
  });
  return {
    action: "started",
    session,
    replaced_previous: result.replacedPrevious,
    ...(previous === undefined ? {} : { previous_session: await shownPrevious(previous, { ...told, news: news.rows }) }),
    ...(reminders.length === 0 ? {} : { triggered_reminders: reminders }),
    ...(notices.length === 0
      ? {}
      : {
          peer_notices: news.rows,
          ...(news.truncated ? { peer_notices_total: notices.length } : {}),
          peer_notices_note: "other machines have news; a notice closes itself when the bundle it announces is imported",
        }),
    ...(result.pendingReview === 0
      ? {}
      : {
          observations_pending_review: result.pendingReview,
          observations_pending_review_note: "withheld from search until reviewed: cuba_eco action=pending, then action=promote",
        }),
  };
}

/** A switch inside a session ends with it: without a word, what is written next would lie where nobody looks for it. */
const moved = (to: { readonly name: string | null } | undefined): Answer =>
  to === undefined
    ? {}
    : {
        project_now: to.name,
        note: `the session's project ended with it: what is written from now on lies in ${to.name === null ? "no project" : `'${to.name}'`}. cuba_proyecto action=switch goes back`,
      };

function ended(result: EndResult): Answer {
  switch (result.kind) {
    case "none":
      return { action: "ended", updated: false, reason: "this client has no open session" };
    case "already-closed":
      return { action: "ended", updated: false, reason: "the session had been closed elsewhere; this client has none now" };
    case "ended":
      return { action: "ended", outcome: result.outcome, updated: true, session_diff: result.diff, ...moved(result.movesTo) };
  }
}
