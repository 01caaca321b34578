/** Reminders and notes as their owners see them: create, list, delete, and what would fire. Firing is in reminders.ts. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { projectOf, type Scope } from "../../kernel/context.ts";
import { query, textArray, timestamp, uuid } from "../codecs.ts";

export const insertTrigger = query(
  z.object({ id: uuid }),
  (q: {
    pattern: string;
    condition: string;
    message: string;
    maxFires: number;
    expiresAt: string | undefined;
    fromAgent: string | null;
    projectId: string | null;
  }) => sql`
  insert into brain_triggers (entity_pattern, condition_type, message, max_fires, expires_at, from_agent, project_id)
  values (${q.pattern}::text, ${q.condition}::text, ${q.message}::text, ${q.maxFires}::int, ${q.expiresAt ?? null}::timestamptz,
          ${q.fromAgent}::text, ${q.projectId}::uuid)
  returning id`,
);

/** Who looks at the table: reminders of the project and of no project, and of the notes those from or to this client. */
export interface Viewer {
  readonly scope: Scope;
  /** Label of the client; notes carry it as their sender. */
  readonly sender: string;
  /** Names under which a note reaches this client. */
  readonly addresses: readonly string[];
}

const isMine = ({ scope, sender, addresses }: Viewer): SQL => sql`case
  when t.condition_type = 'on_session_start' then t.from_agent = ${sender}::text or t.entity_pattern = any(${textArray(addresses)})
  else ${projectOf(scope)}::uuid is null or t.project_id is null or t.project_id = ${projectOf(scope)}::uuid end`;

const isDue = sql`t.active and (t.expires_at is null or t.expires_at > now())`;

export const triggerList = query(
  z.object({
    id: uuid,
    pattern: z.string(),
    condition: z.string(),
    message: z.string(),
    active: z.boolean(),
    fromAgent: z.string().nullable(),
    fireCount: z.int(),
    maxFires: z.int(),
    createdAt: timestamp,
    expiresAt: timestamp.nullable(),
  }),
  (q: Viewer & { limit: number; offset: number }) => sql`
  select t.id, t.entity_pattern as pattern, t.condition_type as condition, t.message, t.active, t.from_agent as "fromAgent",
         t.fire_count as "fireCount", t.max_fires as "maxFires", t.created_at as "createdAt", t.expires_at as "expiresAt"
  from brain_triggers as t
  where ${isDue} and ${isMine(q)}
  order by t.created_at desc, t.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

export const triggerCount = query(
  z.object({ count: z.int() }),
  (q: Viewer) => sql`select count(*)::int as count from brain_triggers as t where ${isDue} and ${isMine(q)}`,
);

/** Spent and expired ones too. */
export const deleteTrigger = (q: Viewer & { id: string }) => sql`
  delete from brain_triggers as t where t.id = ${q.id}::uuid and ${isMine(q)}`;
