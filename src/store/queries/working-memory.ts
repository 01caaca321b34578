/** Working memory: the notes of exactly one session, or of exactly one client that has none. What has expired is not there. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { query, timestamp, uuid } from "../codecs.ts";
import { inScope } from "./predicates.ts";

/** Whose notes: a session's where one is open, else the client's own. Never "whoever has no session": that board belonged to everybody. */
export interface Owner {
  readonly sessionId: string | null;
  readonly clientKey: string;
}

const isOwn = ({ sessionId, clientKey }: Owner): SQL =>
  sessionId === null ? sql`w.session_id is null and w.client_key = ${clientKey}::text` : sql`w.session_id = ${sessionId}::uuid`;

const hasTag = (tag: string | undefined): SQL => (tag === undefined ? sql`true` : sql`w.tag = ${tag}::text`);

/** Live notes of an owner, counted up to `most`. */
export const noteCount = query(
  z.object({ count: z.int() }),
  (q: Owner & { most: number }) => sql`
  select count(*)::int as count from (
    select from brain_wm as w where ${isOwn(q)} and w.expires_at > now() limit ${q.most}::int
  ) as n`,
);

/** What has expired of an owner's goes with the next write. */
export const deleteExpired = (owner: Owner) => sql`delete from brain_wm as w where ${isOwn(owner)} and w.expires_at <= now()`;

export const insertNote = query(
  z.object({ id: uuid, expiresAt: timestamp }),
  (q: Owner & { projectId: string | null; content: string; tag: string | undefined; ttlSeconds: number }) => sql`
  insert into brain_wm (session_id, client_key, project_id, content, tag, ttl_seconds, expires_at)
  values (${q.sessionId}::uuid, ${q.clientKey}::text, ${q.projectId}::uuid, ${q.content}::text, ${q.tag ?? null}::text, ${q.ttlSeconds}::int,
          now() + make_interval(secs => ${q.ttlSeconds}::int))
  returning id, expires_at as "expiresAt"`,
);

const Note = z.object({ id: uuid, content: z.string(), tag: z.string().nullable(), createdAt: timestamp, expiresAt: timestamp });
export type WorkingNote = z.output<typeof Note>;

interface Selection extends Owner {
  readonly tag: string | undefined;
  readonly scope: Scope;
}

const live = (q: Selection): SQL => sql`${isOwn(q)} and w.expires_at > now() and ${hasTag(q.tag)} and ${inScope("w", q.scope)}`;

/** Newest first. Plan: idx_wm_session. */
export const liveNotes = query(
  Note,
  (q: Selection & { limit: number; offset: number }) => sql`
  select w.id, w.content, w.tag, w.created_at as "createdAt", w.expires_at as "expiresAt"
  from brain_wm as w
  where ${live(q)}
  order by w.created_at desc, w.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

export const liveNoteCount = query(
  z.object({ count: z.int() }),
  (q: Selection) => sql`select count(*)::int as count from brain_wm as w where ${live(q)}`,
);

/** Whatever the project; expired ones go too and do not count. */
export const deleteNotes = query(
  z.object({ count: z.int() }),
  (q: Owner & { tag: string | undefined }) => sql`
  with gone as (
    delete from brain_wm as w where ${isOwn(q)} and ${hasTag(q.tag)} returning w.expires_at > now() as live
  )
  select count(*) filter (where live)::int as count from gone`,
);
