/** Feedback on single rows: their weight, whether they are believed, and what waits for somebody to decide. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Trust } from "../../domain/trust.ts";
import type { Scope } from "../../kernel/context.ts";
import { int8, query, timestamp, uuid } from "../codecs.ts";
import { inScope } from "./predicates.ts";

export type WeighedKind = "observation" | "entity";
const weighed: Readonly<Record<WeighedKind, SQL>> = { observation: sql`brain_observations`, entity: sql`brain_entities` };

/** Weight of a row before the feedback, locked until it is written back. */
export const weightOf = query(
  z.object({ importance: z.number(), accessCount: z.int() }),
  (q: { kind: WeighedKind; id: string; scope: Scope }) => sql`
  select r.importance, r.access_count as "accessCount"
  from ${weighed[q.kind]} as r
  where r.id = ${q.id}::uuid and ${inScope("r", q.scope)}
  for no key update`,
);

/** @param used the feedback counts as a use: it restarts the idle clock of an observation. Blame does not. */
export const saveWeight = (q: { kind: WeighedKind; id: string; importance: number; used: boolean }) => {
  const use =
    q.kind === "observation" ? sql`, access_count = r.access_count + 1, last_accessed = now()` : sql`, access_count = r.access_count + 1`;
  return sql`
  update ${weighed[q.kind]} as r set importance = ${q.importance}::float8${q.used ? use : sql``} where r.id = ${q.id}::uuid`;
};

/** The text of an observation that is to be corrected, locked; and what came in its place, where it is retired. */
export const textToCorrect = query(
  z.object({ content: z.string(), isRetired: z.boolean(), successor: uuid.nullable() }),
  (q: { id: string; scope: Scope }) => sql`
  select o.content, o.observation_type = 'superseded' as "isRetired", o.superseded_by as successor
  from brain_observations as o
  where o.id = ${q.id}::uuid and ${inScope("o", q.scope)}
  for no key update`,
);

export const trustedKinds = ["observation", "episode", "error"] as const;
export type TrustedKind = (typeof trustedKinds)[number];

interface Judged {
  readonly table: SQL;
  /** Everything that a reader would see. */
  readonly text: SQL;
}
const judged: Readonly<Record<TrustedKind, Judged>> = {
  observation: { table: sql`brain_observations`, text: sql`r.content` },
  episode: {
    table: sql`brain_episodes`,
    text: sql`concat_ws(E'\n', r.content, array_to_string(r.actors, E'\n'), array_to_string(r.artifacts, E'\n'))`,
  },
  error: { table: sql`brain_errors`, text: sql`concat_ws(E'\n', r.error_type, r.error_message, r.solution, jsonb_pretty(r.context))` },
};

export const textOf = query(
  z.object({ text: z.string() }),
  (q: { kind: TrustedKind; id: string; scope: Scope }) => sql`
  select ${judged[q.kind].text} as text from ${judged[q.kind].table} as r where r.id = ${q.id}::uuid and ${inScope("r", q.scope)} for no key update`,
);

export const saveTrust = (q: { kind: TrustedKind; id: string; trust: Trust; scope: Scope }) => sql`
  update ${judged[q.kind].table} as r set trust = ${q.trust}::text where r.id = ${q.id}::uuid and ${inScope("r", q.scope)}`;

interface Waiting {
  readonly scope: Scope;
  readonly limit: number;
  readonly offset: number;
}

/** Rows of one kind that wait, newest first. */
const waiting = (alias: string, q: Waiting): SQL => sql`
  where ${sql.raw(alias)}.trust = 'quarantined' and ${inScope(alias, q.scope)}
  order by ${sql.raw(alias)}.created_at desc, ${sql.raw(alias)}.id
  limit ${q.limit}::int offset ${q.offset}::int`;

export const waitingObservations = query(
  z.object({ id: uuid, entity: z.string(), content: z.string(), source: z.string(), createdAt: timestamp }),
  (q: Waiting) => sql`
  select o.id, e.name as entity, o.content, o.source, o.created_at as "createdAt"
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  ${waiting("o", q)}`,
);

export const waitingEpisodes = query(
  z.object({ id: uuid, entity: z.string(), content: z.string(), createdAt: timestamp }),
  (q: Waiting) => sql`
  select p.id, e.name as entity, p.content, p.created_at as "createdAt"
  from brain_episodes as p join brain_entities as e on e.id = p.entity_id
  ${waiting("p", q)}`,
);

export const waitingErrors = query(
  z.object({ id: uuid, errorType: z.string(), message: z.string(), project: z.string(), createdAt: timestamp }),
  (q: Waiting) => sql`
  select r.id, r.error_type as "errorType", r.error_message as message, r.project, r.created_at as "createdAt"
  from brain_errors as r
  ${waiting("r", q)}`,
);

export const waitingCounts = query(
  z.object({ observations: int8, episodes: int8, errors: int8 }),
  (q: { scope: Scope }) => sql`
  select (select count(*) from brain_observations as o where o.trust = 'quarantined' and ${inScope("o", q.scope)}) as observations,
         (select count(*) from brain_episodes as p where p.trust = 'quarantined' and ${inScope("p", q.scope)}) as episodes,
         (select count(*) from brain_errors as r where r.trust = 'quarantined' and ${inScope("r", q.scope)}) as errors`,
);
