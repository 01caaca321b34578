/** Working sessions: control plane, one open session a client. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { query, timestamp, uuid } from "../codecs.ts";
import { inScope } from "./predicates.ts";

const Open = z.object({ id: uuid, startedAt: timestamp, projectId: uuid.nullable(), projectName: z.string().nullable() });

/** The newest session of a client that is still open and young enough to be taken up again. */
export const openSessionOf = query(
  Open,
  (q: { clientKey: string; maxAgeHours: number }) => sql`
  select s.id, s.started_at as "startedAt", s.project_id as "projectId", p.name as "projectName"
  from brain_sessions as s
  left join brain_projects as p on p.id = s.project_id
  where s.client_key = ${q.clientKey}::text and s.ended_at is null
    and s.started_at > now() - make_interval(hours => ${q.maxAgeHours}::int)
  order by s.started_at desc, s.id
  limit 1`,
);

// A clock that is set back would end a session before it began, which the table refuses: it could neither be ended nor replaced until the clock has caught up.
/** Closes sessions that were left open longer than `maxAgeHours`. */
export const abandonOldSessions = (maxAgeHours: number) => sql`
  update brain_sessions
  set ended_at = greatest(now(), started_at), outcome = 'abandoned', summary = coalesce(nullif(summary, ''), 'left open and closed after a day')
  where ended_at is null and started_at <= now() - make_interval(hours => ${maxAgeHours}::int)`;

/** Closes the open sessions of a client because a new one starts; answers how many there were. */
export const abandonOpenSessions = (clientKey: string) => sql`
  update brain_sessions
  set ended_at = greatest(now(), started_at), outcome = 'abandoned', summary = coalesce(nullif(summary, ''), 'replaced by a new session')
  where client_key = ${clientKey}::text and ended_at is null`;

export const insertSession = query(
  z.object({ id: uuid, startedAt: timestamp }),
  (q: { name: string; goals: string; projectId: string | null; clientKey: string | null }) => sql`
  insert into brain_sessions (session_name, goals, project_id, client_key)
  values (${q.name}::text, ${q.goals}::text::jsonb, ${q.projectId}::uuid, ${q.clientKey}::text)
  returning id, started_at as "startedAt"`,
);

/** Closes one session of this client if it is open; answers how many rows that was. Its working memory goes with it. */
export const endSession = (q: { id: string; outcome: string; summary: string; clientKey: string }) => sql`
  with ended as (
    update brain_sessions
    set ended_at = greatest(now(), started_at), outcome = ${q.outcome}::text, summary = ${q.summary}::text
    where id = ${q.id}::uuid and ended_at is null and client_key = ${q.clientKey}::text
    returning id
  ), forgotten as (
    delete from brain_wm where session_id in (select id from ended)
  )
  select id from ended`;

export const bindSessionProject = (id: string, projectId: string) => sql`
  update brain_sessions set project_id = ${projectId}::uuid where id = ${id}::uuid`;

/** The last ended session of a project worth handing on: one with a summary first. `except` were abandoned a moment ago. */
export const previousSession = query(
  z.object({ name: z.string().nullable(), summary: z.string().nullable(), outcome: z.string().nullable() }),
  (q: { projectId: string | null; except: string }) => sql`
  select s.session_name as name, s.summary, s.outcome
  from brain_sessions as s
  where s.ended_at is not null and s.project_id is not distinct from ${q.projectId}::uuid
    and s.id <> ${q.except}::uuid and s.summary is distinct from 'replaced by a new session'
  order by (coalesce(s.summary, '') <> '') desc, s.ended_at desc, s.id
  limit 1`,
);

export const sessionDiff = query(
  z.object({ kind: z.string(), count: z.int() }),
  (q: { sessionId: string }) => sql`
  select observation_type as kind, count(*)::int as count
  from brain_observations where session_id = ${q.sessionId}::uuid group by observation_type
  union all
  select 'episodes', count(*)::int from brain_episodes where session_id = ${q.sessionId}::uuid
  order by kind`,
);

export const currentSession = query(
  z.object({
    id: uuid,
    name: z.string().nullable(),
    goals: z.array(z.unknown()),
    startedAt: timestamp,
    ageSeconds: z.number(),
    observations: z.int(),
    snapshotId: uuid.nullable(),
    snapshotAt: timestamp.nullable(),
  }),
  (q: { sessionId: string }) => sql`
  select s.id, s.session_name as name, s.goals, s.started_at as "startedAt",
         extract(epoch from now() - s.started_at)::float8 as "ageSeconds",
         (select count(*) from brain_observations as o where o.session_id = s.id)::int as observations,
         c.id as "snapshotId", c.created_at as "snapshotAt"
  from brain_sessions as s
  left join lateral (
    select id, created_at from brain_compaction_snapshots where session_id = s.id order by created_at desc, id limit 1
  ) as c on true
  where s.id = ${q.sessionId}::uuid`,
);

export const sessionList = query(
  z.object({
    id: uuid,
    name: z.string().nullable(),
    outcome: z.string().nullable(),
    summary: z.string().nullable(),
    projectName: z.string().nullable(),
    startedAt: timestamp,
    endedAt: timestamp.nullable(),
  }),
  (q: { scope: Scope; limit: number; offset: number }) => sql`
  select s.id, s.session_name as name, s.outcome, s.summary, p.name as "projectName",
         s.started_at as "startedAt", s.ended_at as "endedAt"
  from brain_sessions as s
  left join brain_projects as p on p.id = s.project_id
  where ${inScope("s", q.scope)}
  order by s.started_at desc, s.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

export const sessionCount = query(
  z.object({ count: z.int() }),
  (q: { scope: Scope }) => sql`
  select count(*)::int as count from brain_sessions as s where ${inScope("s", q.scope)}`,
);

/** Quarantined observations that wait for a person, in scope. */
export const pendingReview = query(
  z.object({ count: z.int() }),
  (q: { scope: Scope }) => sql`
  select count(*)::int as count from brain_observations as o where o.trust = 'quarantined' and ${inScope("o", q.scope)}`,
);

/** Notices of other machines that nothing has answered yet. */
export const openNotices = query(
  z.object({ id: uuid, from: z.string().nullable(), summary: z.string(), manifestHash: z.string().nullable(), at: timestamp }),
  (_q: object) => sql`
  select n.id, n.node_name as "from", n.summary, n.manifest_hash as "manifestHash", n.created_at as at
  from brain_peer_notices as n
  where n.resolved_at is null
  order by n.created_at desc, n.id
  limit 20`,
);
