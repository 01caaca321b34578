/** Prospective memory: reminders that fire on a condition. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { query, textArray, uuid } from "../codecs.ts";

const Fired = z.object({
  triggerId: uuid,
  entityPattern: z.string(),
  message: z.string(),
  fromAgent: z.string().nullable(),
  fireCount: z.int(),
  deactivated: z.boolean(),
});
export type FiredReminder = z.output<typeof Fired>;

/** Names closer than this are taken for the one a reminder was set on (`tools-cognition.md` §13). */
const SAME_SUBJECT_SIMILARITY = 0.5;

const projectOfScope = (scope: Scope) => (scope.kind === "project" ? scope.id : null);

/** One conditional update fires and returns: a note for one reader is never delivered twice. */
const fire = (due: ReturnType<typeof sql>) => sql`
  update brain_triggers as t
  set fire_count = t.fire_count + 1,
      active = not (t.max_fires > 0 and t.fire_count + 1 >= t.max_fires)
  from (${due}) as due
  where t.id = due.id
  returning t.id as "triggerId", t.entity_pattern as "entityPattern", t.message, t.from_agent as "fromAgent",
            t.fire_count as "fireCount", not t.active as deactivated`;

/** Fires what waits for a subject by name or near name: `on_access` with an entity's name, `on_error_match` with an error's type. */
export const fireForSubject = query(Fired, (q: { condition: "on_access" | "on_error_match"; subject: string; scope: Scope }) =>
  fire(sql`
  select id from brain_triggers
  where active and condition_type = ${q.condition}::text and (expires_at is null or expires_at > now())
    and (entity_pattern = ${q.subject}::text or similarity(entity_pattern, ${q.subject}::text) > ${SAME_SUBJECT_SIMILARITY}::float8)
    and (${projectOfScope(q.scope)}::uuid is null or project_id is null or project_id = ${projectOfScope(q.scope)}::uuid)
  order by created_at, id
  limit 10
  for update skip locked`),
);

/** Fires notes addressed exactly to one of these names: a session's name, or what a client is called. */
export const fireForAddress = query(Fired, (q: { addresses: readonly string[] }) =>
  fire(sql`
  select id from brain_triggers
  where active and condition_type = 'on_session_start' and (expires_at is null or expires_at > now())
    and entity_pattern = any(${textArray(q.addresses)})
  order by created_at, id
  limit 10
  for update skip locked`),
);
