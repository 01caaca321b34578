import { z } from "zod";
import { charCount } from "../kernel/text.ts";
import type { Frozen, MatchedBy, Restored } from "../services/compaction.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { offset, uuid } from "./fields.ts";
import { fitRows, tokensLeft } from "./fit.ts";

/** Tokens that each part may take, in the order of their worth; the observations have what is left, at least a quarter of an answer. */
const MOST_TOKENS = { summary: 2_500, decisions: 2_000, errors: 1_500, goals: 800 };

export default defineTool({
  name: "cuba_pre_compact",
  group: "sessions",
  profile: "agent",
  title: "Survive a compaction",
  describe:
    "snapshot before the context is compacted, restore after: gives back what the session wrote, its decisions, open errors and goals.",
  hints: { readOnly: false, destructive: false, openWorld: false },
  actions: {
    snapshot: action({
      input: z.object({}),
      run: async (ctx, _args, { compaction }) => {
        const frozen = await compaction.snapshot(ctx);
        return frozen === undefined
          ? {
              action: "snapshot",
              session_id: null,
              summary_md: "",
              note: "no open session, so there is nothing to freeze; cuba_jornada action=start opens one",
            }
          : await shownFrozen(frozen);
      },
    }),
    restore: action({
      input: z.object({
        snapshot_id: uuid("restore: another than the newest").optional(),
        offset: offset.optional(),
      }),
      run: async (ctx, a, { compaction }) => {
        const restored = await compaction.restore(ctx, a.snapshot_id?.toLowerCase());
        if (restored !== undefined) return await shownRestored(restored, a.offset ?? 0);
        const session = ctx.session?.id;
        return {
          action: "restore",
          ...(session === undefined ? {} : { session_id: session }),
          snapshot: null,
          note: `no snapshot ${session === undefined ? "of this client or project" : "of this session"} yet; action=snapshot makes one`,
        };
      },
    }),
  },
});

interface Lists {
  readonly summary: string;
  readonly decisions: readonly Answer[];
  readonly errors: readonly Answer[];
  readonly goals: readonly unknown[];
  readonly observations: readonly Answer[];
  readonly pending: readonly Answer[];
}

/** The lists of an answer, cut from their ends where they are too long, and what was left out of each. */
async function shownLists(head: Answer, lists: Lists, id: string, start: number): Promise<{ shown: Answer; cut: Answer }> {
  const leftOut: Record<string, number> = {};
  let shown: Answer = {};
  const place = async (key: string, rows: readonly Answer[], most: number, long: string) => {
    const room = Math.min(most, await tokensLeft({ ...head, ...shown }));
    const page = await fitRows({ rows, total: rows.length, offset: 0, budget: room, long });
    if (page.rows.length < rows.length) leftOut[key] = rows.length - page.rows.length;
    return page.rows;
  };
  const [summary] = await place("summary_md", [{ text: lists.summary }], MOST_TOKENS.summary, "text");
  shown = { summary_md: summary?.text ?? "" };
  if (summary?.content_truncated === true) leftOut.summary_md_characters = charCount(lists.summary) - charCount(String(summary.text));
  shown = { ...shown, decisions: await place("decisions", lists.decisions, MOST_TOKENS.decisions, "content") };
  shown = { ...shown, unresolved_errors: await place("unresolved_errors", lists.errors, MOST_TOKENS.errors, "message") };
  const goals = await place(
    "active_goals",
    lists.goals.map((goal) => ({ goal })),
    MOST_TOKENS.goals,
    "goal",
  );
  shown = { ...shown, active_goals: goals.map(({ goal }) => goal) };
  const observations = lists.observations.slice(start);
  const key = await place("key_observations", observations, Number.POSITIVE_INFINITY, "content");
  shown = { ...shown, key_observations: key };
  shown = { ...shown, pending_embeddings: await place("pending_embeddings", lists.pending, Number.POSITIVE_INFINITY, "content_preview") };
  if (Object.keys(leftOut).length === 0) return { shown, cut: {} };
  const reads = key.length < observations.length ? { next: { action: "restore", snapshot_id: id, offset: start + key.length } } : {};
  return { shown, cut: { truncated: true, total: lists.observations.length, left_out: leftOut, ...reads } };
}

async function shownFrozen(frozen: Frozen): Promise<Answer> {
  const { observations, decisions, errors, pending, goals, summary, incomplete, total } = frozen;
  const chars = charCount(summary);
  const beyond = total - observations.length;
  const discarded = "the conversation itself is not kept; nothing of the graph was deleted";
  const head = {
    action: "snapshot",
    snapshot_id: frozen.id,
    session_id: frozen.sessionId,
    obs_count: observations.length,
    obs_total: total,
    ...(incomplete.length === 0 ? {} : { incomplete }),
    saved: {
      observations: observations.length,
      decisions: decisions.length,
      unresolved_errors: errors.length,
      pending_embeddings: pending.length,
      summary_chars: chars,
    },
    discarded: {
      raw_turns: "not kept: only what was written to memory is",
      observations_beyond_limit:
        beyond > 0 ? `${beyond} older ones are not in this snapshot; they stay in memory` : "none: all of the session's are in it",
      note: "a snapshot is a copy of a slice; the rows themselves stay in the graph",
    },
    transparency: { saved_summary_chars: chars, discarded, note: "restore gives this copy back; cuba_faro finds the rest" },
  };
  const { shown, cut } = await shownLists(head, { summary, observations, decisions, errors, pending, goals }, frozen.id, 0);
  return { ...head, ...shown, ...cut };
}

const how: Readonly<Record<MatchedBy, string>> = {
  snapshot_id: "the one that was asked for",
  session: "the newest of this session",
  client: "the newest of this client's sessions; no session is open",
  project: "the newest of this project, of another client perhaps; no session is open",
};

async function shownRestored(restored: Restored, start: number): Promise<Answer> {
  const { id, sessionId, matchedBy, createdAt, summary, pending, goals, total, incomplete, gone } = restored;
  const lists = {
    summary,
    pending,
    goals,
    observations: restored.observations.map(({ superseded, ...row }) => ({ ...row, ...(superseded ? { superseded_since: true } : {}) })),
    decisions: restored.decisions.map(({ superseded, ...row }) => ({ ...row, ...(superseded ? { superseded_since: true } : {}) })),
    errors: restored.errors.map(({ resolved, ...row }) => ({ ...row, ...(resolved ? { resolved_since: true } : {}) })),
  };
  const facts = {
    id,
    obs_count: restored.observations.length,
    obs_total: total,
    created_at: createdAt,
    ...(incomplete.length === 0 ? {} : { incomplete }),
    ...(gone === 0 ? {} : { gone_since: gone }),
  };
  const head = {
    action: "restore",
    session_id: sessionId,
    matched_by: matchedBy,
    note: `${how[matchedBy]}. These are copies as of created_at; what changed since is marked.`,
  };
  const { shown, cut } = await shownLists({ ...head, snapshot: facts }, lists, id, start);
  return { ...head, snapshot: { ...facts, ...shown }, ...cut };
}
