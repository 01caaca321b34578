/** What a session knows, frozen before its client compacts the context, and given back afterwards (`tools-cognition.md` §7). */
import type { CallContext, Scope } from "../kernel/context.ts";
import { causeChain, notFound } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { firstChars } from "../kernel/text.ts";
import type { Database, Query, Tx } from "../store/port.ts";
import {
  insertSnapshot,
  type KeyDecision,
  type KeyObservation,
  keyDecisions,
  keyObservations,
  type OpenError,
  openErrors,
  type PendingText,
  pendingTexts,
  type Snapshot,
  type SnapshotLists,
  sessionFacts,
  snapshotById,
  snapshotOfClient,
  snapshotOfProject,
  snapshotOfSession,
  statesNow,
  typeCounts,
} from "../store/queries/compaction.ts";
import type { Identity } from "./identity/identity.ts";

export type { SnapshotLists } from "../store/queries/compaction.ts";

const MOST_OBSERVATIONS = 50;
const MOST_OTHERS = 20;
/** Observations in the summary, and characters of each. */
const SUMMARY_LINES = 12;
const SUMMARY_CHARS = 160;

export interface Frozen extends SnapshotLists {
  readonly id: string;
  readonly sessionId: string;
}

/** How a snapshot was found. */
export type MatchedBy = "snapshot_id" | "session" | "client" | "project";

export interface Restored {
  readonly matchedBy: MatchedBy;
  readonly sessionId: string | null;
  readonly id: string;
  readonly createdAt: string;
  readonly summary: string;
  readonly observations: readonly (KeyObservation & { readonly superseded: boolean })[];
  readonly decisions: readonly (KeyDecision & { readonly superseded: boolean })[];
  readonly errors: readonly (OpenError & { readonly resolved: boolean })[];
  readonly pending: readonly PendingText[];
  readonly goals: readonly unknown[];
  readonly total: number;
  readonly incomplete: readonly string[];
  /** Observations left out, decisions among them, because they were deleted or withheld since. */
  readonly gone: number;
}

export interface Compaction {
  /** @returns undefined where the client has no open session. */
  snapshot(ctx: CallContext): Promise<Frozen | undefined>;
  /** @returns undefined where there is none. @throws MemoryError `not_found` for an id that is not in scope. */
  restore(ctx: CallContext, snapshotId: string | undefined): Promise<Restored | undefined>;
}

export interface CompactionParts {
  readonly db: Database;
  readonly identity: Pick<Identity, "sessionKey">;
}

const line = ({ type, entity, content }: KeyObservation) =>
  `- [${type}] ${entity}: ${firstChars(content.replace(/\s+/gu, " ").trim(), SUMMARY_CHARS)}`;

const summaryOf = (
  name: string | null,
  counts: readonly { readonly type: string; readonly count: number }[],
  observations: readonly KeyObservation[],
): string => {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const kinds = counts.map(({ type, count }) => `${count} ${type}`).join(", ");
  const said = total === 0 ? "No observations yet." : `${total} observations: ${kinds}`;
  return [`# Session ${name ?? "unnamed"}`, "", said, "", ...observations.slice(0, SUMMARY_LINES).map(line)].join("\n").trimEnd();
};

export function createCompaction({ db, identity }: CompactionParts): Compaction {
  return {
    async snapshot(ctx) {
      const sessionId = ctx.session?.id;
      if (sessionId === undefined) return undefined;
      const { scope } = ctx;
      return await db.write(ctx, async (tx) => {
        const session = await tx.first(sessionFacts({ sessionId }));
        if (session === undefined) return undefined;
        const incomplete: string[] = [];
        /** A list that cannot be read is named, never stored as if it were empty. */
        const list = async <T>(name: string, ask: Query<T>): Promise<T[]> => {
          try {
            return await tx.savepoint((inner) => inner.all(ask));
          } catch (cause) {
            if (ctx.signal.aborted) throw cause;
            ctx.log.warn("a list of a snapshot could not be read", { list: name, cause: causeChain(cause) });
            incomplete.push(name);
            return [];
          }
        };
        const of = { sessionId, scope };
        const observations = await list("key_observations", keyObservations({ ...of, limit: MOST_OBSERVATIONS }));
        const decisions = await list("decisions", keyDecisions({ ...of, limit: MOST_OTHERS }));
        const errors = await list("unresolved_errors", openErrors({ projectId: session.projectId, limit: MOST_OTHERS }));
        const pending = await list("pending_embeddings", pendingTexts({ ...of, limit: MOST_OTHERS }));
        const counts = await list("summary_md", typeCounts(of));
        const lists: SnapshotLists = {
          summary: summaryOf(session.name, counts, observations),
          observations,
          decisions,
          errors,
          pending,
          goals: session.goals,
          total: counts.reduce((sum, { count }) => sum + count, 0),
          incomplete,
        };
        const id = newId();
        await tx.first(insertSnapshot({ ...lists, id, sessionId, projectId: session.projectId }));
        return { ...lists, id, sessionId };
      });
    },

    restore: (ctx, snapshotId) =>
      db.read(ctx, async (tx) => {
        const found = await find(tx, ctx, snapshotId, identity);
        return found === undefined ? undefined : await compareWithNow(tx, found.snapshot, found.matchedBy);
      }),
  };
}

interface Found {
  readonly snapshot: Snapshot;
  readonly matchedBy: MatchedBy;
}

/** By id; else of the open session; without one of the client's last session, then of the project. */
async function find(tx: Tx, ctx: CallContext, id: string | undefined, identity: Pick<Identity, "sessionKey">): Promise<Found | undefined> {
  const { scope, session } = ctx;
  const found = (snapshot: Snapshot | undefined, matchedBy: MatchedBy) => (snapshot === undefined ? undefined : { snapshot, matchedBy });
  if (id !== undefined) {
    const snapshot = await tx.first(snapshotById({ id, scope }));
    if (snapshot === undefined)
      throw notFound("snapshot", id, { where: "(within current project scope)", next: "Leave snapshot_id out for the newest one." });
    return found(snapshot, "snapshot_id");
  }
  if (session !== undefined) return found(await tx.first(snapshotOfSession({ sessionId: session.id, scope })), "session");
  const mine = ctx.bound ? await tx.first(snapshotOfClient({ clientKey: identity.sessionKey(ctx.client), scope })) : undefined;
  if (mine !== undefined) return found(mine, "client");
  return hasProject(scope) ? found(await tx.first(snapshotOfProject({ scope })), "project") : undefined;
}

const hasProject = (scope: Scope) => scope.kind === "project";

/** A snapshot is a copy: what was deleted or withheld since is left out, what was solved or superseded since is marked. */
async function compareWithNow(tx: Tx, snapshot: Snapshot, matchedBy: MatchedBy): Promise<Restored> {
  const { observations, decisions, errors, pending, summary, ...rest } = snapshot;
  const ids = [...new Set([...observations, ...decisions, ...pending].map((each) => each.id))];
  const states = await tx.all(statesNow({ observations: ids, errors: errors.map((each) => each.id) }));
  const done = new Map(states.map((state) => [state.id, state.done]));
  const isThere = (each: { readonly id: string }) => done.has(each.id);
  const lost = new Set(observations.filter((each) => !isThere(each)).map(line));
  return {
    ...rest,
    matchedBy,
    summary: summary
      .split("\n")
      .filter((each) => !lost.has(each))
      .join("\n"),
    observations: observations.filter(isThere).map((each) => ({ ...each, superseded: done.get(each.id) === true })),
    decisions: decisions.filter(isThere).map((each) => ({ ...each, superseded: done.get(each.id) === true })),
    errors: errors.filter(isThere).map((each) => ({ ...each, resolved: done.get(each.id) === true })),
    pending: pending.filter(isThere),
    gone: ids.filter((id) => !done.has(id)).length,
  };
}
