/**
 * What an agent should start with (`cli-daemon.md` §3.7). Exactly one project's rows, or those of no project: memories of another project in a session
 * that knows nothing of it mislead. Trusted and live rows alone.
 */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { int8, query, textArray, timestamp, uuid } from "../codecs.ts";
import { codeTypes } from "./codegraph.ts";
import { isVouchedFor } from "./entities.ts";
import { fixed, isServed, isTrusted, ofScope } from "./predicates.ts";

const ERRORS = 4;
const DECISIONS = 4;
const ENTITIES = 5;
/** Ranked by their record afterwards, so more are read than shown. */
const PROCEDURES = 200;

interface OfScope {
  readonly scope: Scope;
}

export const lastSession = query(
  z.object({ name: z.string().nullable(), outcome: z.string().nullable(), summary: z.string(), endedAt: timestamp }),
  (q: OfScope) => sql`
  select s.session_name as name, s.outcome, s.summary, s.ended_at as "endedAt"
  from brain_sessions as s
  where s.ended_at is not null and s.summary ~ '\\S' and ${ofScope("s", q.scope)}
  order by s.ended_at desc, s.id
  limit 1`,
);

/** Without those that tests made. */
export const openErrors = query(
  z.object({ type: z.string(), message: z.string() }),
  (q: OfScope) => sql`
  select x.error_type as type, x.error_message as message
  from brain_errors as x
  where not x.resolved and ${isTrusted("x")} and ${ofScope("x", q.scope)}
    and x.error_type not ilike '%test%' and x.error_message not ilike '%test error%' and x.error_message not ilike '%smoke test%'
  order by x.created_at desc, x.id
  limit ${fixed(ERRORS)}`,
);

export const topDecisions = query(
  z.object({ entity: z.string(), content: z.string() }),
  (q: OfScope) => sql`
  select e.name as entity, o.content
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  where o.observation_type = 'decision' and ${isServed("o")} and ${ofScope("o", q.scope)}
  order by o.importance desc, o.created_at desc, o.id
  limit ${fixed(DECISIONS)}`,
);

const KnownProcedure = z.object({
  name: z.string(),
  trigger: z.string(),
  successes: z.int(),
  failures: z.int(),
  successesSinceEdit: z.int(),
  failuresSinceEdit: z.int(),
  lastOutcome: z.enum(["success", "failure"]).nullable(),
});
export type KnownProcedure = z.output<typeof KnownProcedure>;

export const knownProcedures = query(
  KnownProcedure,
  (q: OfScope) => sql`
  select p.name, p.trigger_context as trigger, p.success_count as successes, p.failure_count as failures,
    p.success_since_edit as "successesSinceEdit", p.failure_since_edit as "failuresSinceEdit", p.last_outcome as "lastOutcome"
  from brain_procedures as p
  where ${ofScope("p", q.scope)}
  order by p.success_count desc, p.name, p.id
  limit ${fixed(PROCEDURES)}`,
);

/** Entities whose name holds the project's name as it is: its `%` and `_` are no wildcards. Paths of source code hold it too often to say something. */
export const namesakes = query(
  z.object({ name: z.string(), entityType: z.string() }),
  (q: OfScope & { readonly projectName: string; readonly except: string }) => sql`
  select e.name, e.entity_type as "entityType"
  from brain_entities as e
  where strpos(lower(e.name), lower(${q.projectName}::text)) > 0 and e.name <> ${q.except}::text and e.entity_type <> all(${textArray(codeTypes)})
    and ${ofScope("e", q.scope)} and ${isVouchedFor("e")}
  order by e.importance desc, e.name, e.id
  limit ${fixed(ENTITIES)}`,
);

/** Names shown where there is nothing else to show. */
export const NAMED_ENTITIES = 5;

/** How much is remembered at all, and about what most; code is not what somebody remembered. */
export const otherMemories = query(
  z.object({ memories: int8, entities: int8, names: z.array(z.string()) }),
  (q: OfScope) => sql`
  with known as (
    select o.entity_id, count(*) as rows from brain_observations as o
    where ${isServed("o")} and o.evidence <> 'observed' and ${ofScope("o", q.scope)} group by o.entity_id
  )
  select coalesce(sum(k.rows), 0)::bigint as memories, count(*) as entities,
    array(select e.name from known as n join brain_entities as e on e.id = n.entity_id order by n.rows desc, e.name, e.id limit ${fixed(NAMED_ENTITIES)}) as names
  from known as k`,
);

export const nameOfProject = query(
  z.object({ id: uuid, name: z.string() }),
  (q: { id: string }) => sql`select p.id, p.name from brain_projects as p where p.id = ${q.id}::uuid`,
);
