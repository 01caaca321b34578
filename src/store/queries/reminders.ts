/** Prospective memory: reminders that fire on a condition. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { projectOf, type Scope } from "../../kernel/context.ts";
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
/** A pattern of at least so many characters whose words stand together in a text is what the text is about; shorter ones are in every text. */
const CONTAINED_CHARS = 4;
const CONTAINED_SIMILARITY = 0.9;

/** One conditional update fires and returns, oldest first: a note for one reader is never delivered twice. */
const fire = (due: ReturnType<typeof sql>) => sql`
  with fired as (
    update brain_triggers as t
    set fire_count = t.fire_count + 1,
        active = not (t.max_fires > 0 and t.fire_count + 1 >= t.max_fires)
    from (${due}) as due
    where t.id = due.id
    returning t.id, t.entity_pattern, t.message, t.from_agent, t.fire_count, not t.active as deactivated, t.created_at
  )
  select f.id as "triggerId", f.entity_pattern as "entityPattern", f.message, f.from_agent as "fromAgent", f.fire_count as "fireCount", f.deactivated
  from fired as f
  order by f.created_at, f.id`;

interface Subject {
  readonly condition: "on_access" | "on_error_match";
  readonly subject: string;
  /** A longer text about the subject: the pattern may stand anywhere in it. */
  readonly text?: string | undefined;
  readonly scope: Scope;
}

const hasSubject = (q: Subject) => {
  const about = (text: string) =>
    sql`t.entity_pattern = ${text}::text or similarity(t.entity_pattern, ${text}::text) > ${SAME_SUBJECT_SIMILARITY}::float8`;
  if (q.text === undefined) return sql`(${about(q.subject)})`;
  return sql`(${about(q.subject)} or ${about(q.text)} or (char_length(t.entity_pattern) >= ${CONTAINED_CHARS}::int
    and strict_word_similarity(t.entity_pattern, ${q.text}::text) >= ${CONTAINED_SIMILARITY}::float8))`;
};

const dueForSubject = (q: Subject) => sql`
  select t.id from brain_triggers as t
  where t.active and t.condition_type = ${q.condition}::text and (t.expires_at is null or t.expires_at > now()) and ${hasSubject(q)}
    and (${projectOf(q.scope)}::uuid is null or t.project_id is null or t.project_id = ${projectOf(q.scope)}::uuid)
  order by t.created_at, t.id
  limit 10`;

const dueForAddress = (addresses: readonly string[]) => sql`
  select t.id from brain_triggers as t
  where t.active and t.condition_type = 'on_session_start' and (t.expires_at is null or t.expires_at > now())
    and t.entity_pattern = any(${textArray(addresses)})
  order by t.created_at, t.id
  limit 10`;

/** What would fire, untouched. */
const look = (due: ReturnType<typeof sql>) => sql`
  select t.id as "triggerId", t.entity_pattern as "entityPattern", t.message, t.from_agent as "fromAgent", t.fire_count as "fireCount",
         not t.active as deactivated
  from (${due}) as due join brain_triggers as t on t.id = due.id
  order by t.created_at, t.id`;

/** Fires what waits for a subject by name or near name: `on_access` with an entity's name, `on_error_match` with an error's type and message. */
export const fireForSubject = query(Fired, (q: Subject) => fire(sql`${dueForSubject(q)} for update skip locked`));
export const lookForSubject = query(Fired, (q: Subject) => look(dueForSubject(q)));

/** Fires notes addressed exactly to one of these names: a session's name, or what a client is called. */
export const fireForAddress = query(Fired, (q: { addresses: readonly string[] }) =>
  fire(sql`${dueForAddress(q.addresses)} for update skip locked`),
);
export const lookForAddress = query(Fired, (q: { addresses: readonly string[] }) => look(dueForAddress(q.addresses)));
