/** Working sessions: goals in, outcome out, and what the last one left for the next. */
import { type CallContext, everywhere, type Scope } from "../kernel/context.ts";
import { causeChain, conflict } from "../kernel/errors.ts";
import type { Database, RowOf } from "../store/port.ts";
import { upsertProject } from "../store/queries/projects.ts";
import type { FiredReminder } from "../store/queries/reminders.ts";
import {
  abandonOldSessions,
  abandonOpenSessions,
  currentSession,
  endSession,
  insertSession,
  openNotices,
  pendingReview,
  previousSession,
  sessionCount,
  sessionDiff,
  sessionList,
} from "../store/queries/sessions.ts";
import { type Identity, SESSION_ADOPTION_HOURS } from "./identity/identity.ts";
import type { ClientRegistry } from "./identity/registry.ts";
import type { Reminders } from "./reminders.ts";

export const outcomes = ["success", "partial", "failed", "abandoned"] as const;
export type Outcome = (typeof outcomes)[number];

/** A session this old, seconds, or with this many observations, is worth a snapshot before the client compacts. */
const COMPACTION_AGE_SECONDS = 2 * 3_600;
const COMPACTION_OBSERVATIONS = 100;

export interface Started {
  readonly kind: "started";
  readonly id: string;
  readonly name: string;
  readonly goals: readonly string[];
  readonly startedAt: string;
  readonly project: { readonly id: string; readonly name: string } | undefined;
  readonly replacedPrevious: boolean;
  readonly previous: { readonly name: string | null; readonly summary: string | null; readonly outcome: string | null } | undefined;
  readonly reminders: readonly FiredReminder[];
  readonly notices: readonly { id: string; from: string | null; summary: string; manifestHash: string | null; at: string }[];
  readonly pendingReview: number;
}

export type StartResult = Started | { readonly kind: "unbound" };

export type EndResult =
  | { readonly kind: "none" }
  | { readonly kind: "already-closed" }
  | {
      readonly kind: "ended";
      readonly outcome: Outcome;
      readonly diff: Readonly<Record<string, number>>;
      /** Where the client works from now on; undefined where its project has not changed. */
      readonly movesTo?: { readonly name: string | null };
    };

export interface Current {
  readonly id: string;
  readonly name: string | null;
  readonly goals: readonly unknown[];
  readonly startedAt: string;
  readonly observations: number;
  readonly compactionHint: boolean;
  readonly snapshot: { readonly id: string; readonly createdAt: string } | undefined;
}

export interface Sessions {
  start(ctx: CallContext, session: { name: string; goals: readonly string[]; project: string | undefined }): Promise<StartResult>;
  end(ctx: CallContext, end: { outcome: Outcome; summary: string; sessionId: string | undefined }): Promise<EndResult>;
  current(ctx: CallContext): Promise<Current | undefined>;
  list(ctx: CallContext, page: { limit: number; offset: number }): Promise<{ rows: readonly SessionListRow[]; total: number }>;
}

type SessionListRow = RowOf<typeof sessionList>;

export interface SessionsParts {
  readonly db: Database;
  readonly registry: ClientRegistry;
  readonly identity: Identity;
  readonly reminders: Reminders;
}

export function createSessions({ db, registry, identity, reminders }: SessionsParts): Sessions {
  /** Session rows are control plane: written under scope `everything`, whatever project is active. */
  const control = (ctx: CallContext): CallContext => ({ ...ctx, scope: everywhere });

  /** Something a start tells besides; its failure leaves it out and never fails the start. */
  const extra = async <T>(ctx: CallContext, what: string, absent: T, ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask();
    } catch (cause) {
      ctx.log.warn("a part of a session's start is left out", { part: what, cause: causeChain(cause) });
      return absent;
    }
  };

  const diffOf = async (ctx: CallContext, sessionId: string) => {
    const rows = await db.read(control(ctx), (tx) => tx.all(sessionDiff({ sessionId })));
    return Object.fromEntries(rows.filter((row) => row.count > 0).map((row) => [row.kind, row.count]));
  };

  return {
    async start(ctx, { name, goals, project: wanted }) {
      if (!ctx.bound) return { kind: "unbound" };
      const state = registry.of(ctx.client);
      const clientKey = identity.sessionKey(ctx.client);
      const active = identity.active(ctx.client, ctx.bound);
      // The project of the session that is being replaced is not inherited: a new session starts from the connection's own.
      const inherited = active?.source === "session" ? (state.switched ?? state.fallback) : active;
      const open = () =>
        db.write(control(ctx), async (tx) => {
          const named = wanted === undefined ? undefined : await tx.first(upsertProject({ name: wanted }));
          const project = named ?? inherited;
          await tx.run(abandonOldSessions(SESSION_ADOPTION_HOURS));
          const replaced = await tx.run(abandonOpenSessions(clientKey));
          const row = await tx.first(insertSession({ name, goals: JSON.stringify(goals), projectId: project?.id ?? null, clientKey }));
          if (row === undefined) throw new Error("an insert returned no row");
          return { ...row, replaced: replaced > 0, project: project === undefined ? undefined : { id: project.id, name: project.name } };
        });
      // One open session a client: a start that loses the race against another of the same client runs once more.
      const row = await open().catch((error: unknown) => {
        if (error instanceof Error && "code" in error && error.code === "conflict") return open();
        throw error;
      });
      state.session = { id: row.id, startedAt: row.startedAt, project: row.project };
      state.adopted = true;
      const scope: Scope = row.project === undefined ? { kind: "none" } : { kind: "project", id: row.project.id };
      const [previous, fired, notices, pending] = await Promise.all([
        extra(ctx, "previous session", undefined, () =>
          db.read(control(ctx), (tx) => tx.first(previousSession({ projectId: row.project?.id ?? null, except: row.id }))),
        ),
        extra(ctx, "reminders", [], () => reminders.onSessionStart(ctx, name, ctx.client)),
        extra(ctx, "notices", [], () => db.read(control(ctx), (tx) => tx.all(openNotices({})))),
        extra(ctx, "pending review", 0, () =>
          db.read({ ...ctx, scope }, async (tx) => (await tx.first(pendingReview({ scope })))?.count ?? 0),
        ),
      ]);
      return {
        kind: "started",
        id: row.id,
        name,
        goals,
        startedAt: row.startedAt,
        project: row.project,
        replacedPrevious: row.replaced,
        previous,
        reminders: fired,
        notices,
        pendingReview: pending,
      };
    },

    async end(ctx, { outcome, summary, sessionId }) {
      const state = ctx.bound ? registry.of(ctx.client) : undefined;
      const id = sessionId ?? state?.session?.id;
      const before = identity.active(ctx.client, ctx.bound);
      if (id === undefined) return { kind: "none" };
      const closed = await db.write(control(ctx), async (tx) => {
        const count = await tx.run(endSession({ id, outcome, summary, clientKey: identity.sessionKey(ctx.client) }));
        return count > 0;
      });
      if (state?.session?.id === id) state.session = undefined;
      if (!closed && sessionId !== undefined)
        throw conflict(
          `Session ${sessionId} is not an open session of this client, so nothing was closed. cuba_jornada action=list shows the newest.`,
        );
      if (!closed) return { kind: "already-closed" };
      const after = identity.active(ctx.client, ctx.bound);
      const movesTo = before?.id === after?.id ? {} : { movesTo: { name: after?.name ?? null } };
      return { kind: "ended", outcome, diff: await diffOf(ctx, id), ...movesTo };
    },

    async current(ctx) {
      const id = ctx.session?.id;
      const row = id === undefined ? undefined : await db.read(control(ctx), (tx) => tx.first(currentSession({ sessionId: id })));
      if (row === undefined) return undefined;
      return {
        id: row.id,
        name: row.name,
        goals: row.goals,
        startedAt: row.startedAt,
        observations: row.observations,
        compactionHint: row.ageSeconds > COMPACTION_AGE_SECONDS || row.observations >= COMPACTION_OBSERVATIONS,
        snapshot: row.snapshotId === null || row.snapshotAt === null ? undefined : { id: row.snapshotId, createdAt: row.snapshotAt },
      };
    },

    list: (ctx, page) =>
      db.read(ctx, async (tx) => ({
        rows: await tx.all(sessionList({ scope: ctx.scope, ...page })),
        total: (await tx.first(sessionCount({ scope: ctx.scope })))?.count ?? 0,
      })),
  };
}
