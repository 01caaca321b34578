/** Snapshots of a session: what it knows, read for one, stored, and read again with what became of it since. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { projectOf, type Scope } from "../../kernel/context.ts";
import { json, query, textArray, timestamp, uuid, uuidArray } from "../codecs.ts";
import { pieceOf, pieceSource } from "./pieces.ts";
import { inScope, isServed } from "./predicates.ts";

/** Snapshots kept of a session. */
const KEPT = 20;
const ERROR_CHARS = 160;
const PREVIEW_CHARS = 80;

export interface OfSession {
  readonly sessionId: string;
  readonly scope: Scope;
  readonly limit: number;
}

const written = (q: Omit<OfSession, "limit">): SQL =>
  sql`o.session_id = ${q.sessionId}::uuid and ${isServed("o")} and ${inScope("o", q.scope)}`;

export const sessionFacts = query(
  z.object({ name: z.string().nullable(), goals: z.array(z.unknown()), projectId: uuid.nullable() }),
  (q: { sessionId: string }) => sql`
  select s.session_name as name, s.goals, s.project_id as "projectId" from brain_sessions as s where s.id = ${q.sessionId}::uuid`,
);

export const typeCounts = query(
  z.object({ type: z.string(), count: z.int() }),
  (q: Omit<OfSession, "limit">) => sql`
  select o.observation_type as type, count(*)::int as count
  from brain_observations as o
  where ${written(q)}
  group by o.observation_type
  order by count desc, type`,
);

const KeyObservation = z.object({ id: uuid, entity: z.string(), type: z.string(), content: z.string().transform(pieceOf) });
export type KeyObservation = z.output<typeof KeyObservation>;

/** Newest first. */
export const keyObservations = query(
  KeyObservation,
  (q: OfSession) => sql`
  select o.id, e.name as entity, o.observation_type as type, ${pieceSource} as content
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  where ${written(q)}
  order by o.created_at desc, o.id
  limit ${q.limit}::int`,
);

const KeyDecision = z.object({ id: uuid, entity: z.string(), content: z.string().transform(pieceOf) });
export type KeyDecision = z.output<typeof KeyDecision>;

export const keyDecisions = query(
  KeyDecision,
  (q: OfSession) => sql`
  select o.id, e.name as entity, ${pieceSource} as content
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  where ${written(q)} and o.observation_type = 'decision'
  order by o.created_at desc, o.id
  limit ${q.limit}::int`,
);

const OpenError = z.object({ id: uuid, error_type: z.string(), message: z.string() });
export type OpenError = z.output<typeof OpenError>;

/** Errors of exactly this project, newest first. */
export const openErrors = query(
  OpenError,
  (q: { projectId: string | null; limit: number }) => sql`
  select e.id, e.error_type, left(e.error_message, ${ERROR_CHARS}::int) as message
  from brain_errors as e
  where not e.resolved and e.trust = 'trusted' and e.project_id is not distinct from ${q.projectId}::uuid
  order by e.created_at desc, e.id
  limit ${q.limit}::int`,
);

const PendingText = z.object({ id: uuid, content_preview: z.string() });
export type PendingText = z.output<typeof PendingText>;

export const pendingTexts = query(
  PendingText,
  (q: OfSession) => sql`
  select o.id, left(o.content, ${PREVIEW_CHARS}::int) as content_preview
  from brain_observations as o
  where ${written(q)} and o.embedding is null
  order by o.created_at desc, o.id
  limit ${q.limit}::int`,
);

export interface SnapshotLists {
  readonly summary: string;
  readonly observations: readonly KeyObservation[];
  readonly decisions: readonly KeyDecision[];
  readonly errors: readonly OpenError[];
  readonly pending: readonly PendingText[];
  readonly goals: readonly unknown[];
  /** All of the session's observations; the list holds the newest. */
  readonly total: number;
  /** Lists that could not be read. */
  readonly incomplete: readonly string[];
}

/** Stores a snapshot; all but the newest {@link KEPT} of its session go. */
export const insertSnapshot = query(
  z.object({ id: uuid, createdAt: timestamp }),
  (q: SnapshotLists & { id: string; sessionId: string; projectId: string | null }) => sql`
  with old as (
    delete from brain_compaction_snapshots where id in (
      select c.id from brain_compaction_snapshots as c
      where c.session_id = ${q.sessionId}::uuid order by c.created_at desc, c.id offset ${KEPT - 1}::int)
  )
  insert into brain_compaction_snapshots (id, session_id, project_id, summary_md, key_observations, decisions, unresolved_errors,
    pending_embeddings, active_goals, obs_count, obs_total, incomplete)
  values (${q.id}::uuid, ${q.sessionId}::uuid, ${q.projectId}::uuid, ${q.summary}::text, ${json(q.observations)}, ${json(q.decisions)}, ${json(q.errors)},
    ${json(q.pending)}, ${json(q.goals)}, ${q.observations.length}::int, ${Math.max(q.total, q.observations.length)}::int, ${textArray(q.incomplete)})
  returning id, created_at as "createdAt"`,
);

const Snapshot = z.object({
  id: uuid,
  sessionId: uuid.nullable(),
  summary: z.string(),
  observations: z.array(KeyObservation),
  decisions: z.array(KeyDecision),
  errors: z.array(OpenError),
  pending: z.array(PendingText),
  goals: z.array(z.unknown()),
  total: z.int(),
  incomplete: z.array(z.string()),
  createdAt: timestamp,
});
export type Snapshot = z.output<typeof Snapshot>;

const newest = (condition: SQL, scope: Scope) => sql`
  select c.id, c.session_id as "sessionId", c.summary_md as summary, c.key_observations as observations, c.decisions, c.unresolved_errors as errors,
         c.pending_embeddings as pending, c.active_goals as goals, c.obs_total as total, c.incomplete, c.created_at as "createdAt"
  from brain_compaction_snapshots as c
  where ${condition} and ${inScope("c", scope)}
  order by c.created_at desc, c.id
  limit 1`;

export const snapshotById = query(Snapshot, (q: { id: string; scope: Scope }) => newest(sql`c.id = ${q.id}::uuid`, q.scope));
export const snapshotOfSession = query(Snapshot, (q: { sessionId: string; scope: Scope }) =>
  newest(sql`c.session_id = ${q.sessionId}::uuid`, q.scope),
);
/** The newest of any session that this client opened. */
export const snapshotOfClient = query(Snapshot, (q: { clientKey: string; scope: Scope }) =>
  newest(sql`c.session_id in (select s.id from brain_sessions as s where s.client_key = ${q.clientKey}::text)`, q.scope),
);
/** The newest of a project. */
export const snapshotOfProject = query(Snapshot, (q: { scope: Scope }) => newest(sql`c.project_id = ${projectOf(q.scope)}::uuid`, q.scope));

/** What became of rows since: an error that is solved, an observation that was superseded. Rows that are not named are gone or withheld. */
export const statesNow = query(
  z.object({ id: uuid, done: z.boolean() }),
  (q: { observations: readonly string[]; errors: readonly string[] }) => sql`
  select o.id, o.observation_type = 'superseded' as done from brain_observations as o
  where o.id = any(${uuidArray(q.observations)}) and o.trust = 'trusted'
  union all
  select e.id, e.resolved from brain_errors as e
  where e.id = any(${uuidArray(q.errors)}) and e.trust = 'trusted'`,
);
