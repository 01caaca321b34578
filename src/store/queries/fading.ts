/** Rows whose importance fades with time, and storing what is left of it (`data-model.md` §9.2). The formulas are in `domain/strength/decay.ts`. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { IMPORTANCE_FLOOR, undecayingTypes } from "../../domain/strength/decay.ts";
import { projectOf, type Scope } from "../../kernel/context.ts";
import { float8, floatArray, query, textArray, uuid, uuidArray } from "../codecs.ts";
import { inScope } from "./predicates.ts";
import { inSpan, type Window } from "./windows.ts";

export const fadingObservation = z.object({
  id: uuid,
  importance: float8,
  observationType: z.string(),
  accessCount: z.number(),
  /** Days since the later of last access and last decay. */
  idleDays: float8,
});

export interface FadingQuery extends Window {
  readonly scope: Scope;
  /** Rows used or faded within so many days rest. */
  readonly restDays: number;
  /** While a session is open, entities that got an observation within so many hours are left alone; undefined: nothing is spared. */
  readonly spareHours: number | undefined;
  readonly limit: number;
}

/**
 * Observations of one window that are due, locked until the transaction ends: what somebody may read, of a type that fades. An anchor in the future
 * comes from a clock that was wrong; such a row is due with no idle time.
 */
export const fadingObservations = query(
  fadingObservation,
  (q: FadingQuery) => sql`
  select o.id, o.importance, o.observation_type as "observationType", o.access_count as "accessCount",
         extract(epoch from now() - greatest(o.last_accessed, o.last_decayed_at))::float8 / 86400 as "idleDays"
  from brain_observations as o
  where ${inSpan("o", q)} and ${inScope("o", q.scope)} and o.trust = 'trusted' and o.observation_type <> all(${textArray(undecayingTypes)})
    and o.last_accessed < now() - make_interval(days => ${q.restDays}::int)
    and (o.last_decayed_at < now() - make_interval(days => ${q.restDays}::int) or o.last_decayed_at > now() + interval '1 minute')
    and (o.importance > ${IMPORTANCE_FLOOR}::float8 or o.last_decayed_at > now())
    and ${
      q.spareHours === undefined
        ? sql`true`
        : sql`not (
      exists (select from brain_sessions as s where s.ended_at is null)
      and exists (select from brain_observations as r
                  where r.entity_id = o.entity_id and r.created_at > now() - make_interval(hours => ${q.spareHours}::int)))`
    }
  order by o.id
  limit ${q.limit}::int
  for update of o`,
);

/** Stores the importances of rows that were read for it in this transaction, and when. */
export const saveFaded = (rows: readonly { readonly id: string; readonly importance: number }[]) => sql`
  update brain_observations as o
  set importance = n.importance, last_decayed_at = now()
  from unnest(${uuidArray(rows.map((row) => row.id))}, ${floatArray(rows.map((row) => row.importance))}) as n(id, importance)
  where o.id = n.id`;

/** Episodes of one window that are older than `restHours`, locked until the transaction ends. */
export const agingEpisodes = query(
  z.object({ id: uuid, importance: float8, initialImportance: float8, ageDays: float8 }),
  (q: Window & { scope: Scope; restHours: number }) => sql`
  select e.id, e.importance, e.initial_importance as "initialImportance", extract(epoch from now() - e.created_at)::float8 / 86400 as "ageDays"
  from brain_episodes as e
  where ${inSpan("e", q)} and ${inScope("e", q.scope)} and e.created_at < now() - make_interval(hours => ${q.restHours}::int)
  order by e.id
  for update of e`,
);

export const saveAged = (rows: readonly { readonly id: string; readonly importance: number }[]) => sql`
  update brain_episodes as e
  set importance = n.importance
  from unnest(${uuidArray(rows.map((row) => row.id))}, ${floatArray(rows.map((row) => row.importance))}) as n(id, importance)
  where e.id = n.id`;

const EVERYWHERE = "decay_ran_at";
const keyOf = (scope: Scope) => (scope.kind === "project" ? `${EVERYWHERE}:${projectOf(scope)}` : EVERYWHERE);

/** Days since observations of this scope last faded as a whole; no row where they never did. */
export const daysSinceDecay = query(
  z.object({ days: float8 }),
  (q: { scope: Scope }) => sql`
  select (extract(epoch from now()) - max(c.value))::float8 / 86400 as days
  from brain_calibration as c
  where c.key = any(${textArray([EVERYWHERE, keyOf(q.scope)])})
  having count(*) > 0`,
);

/** Every row that was due has faded now. */
export const noteDecay = (q: { scope: Scope }) => sql`
  insert into brain_calibration (key, value) values (${keyOf(q.scope)}::text, extract(epoch from now())::float8)
  on conflict (key) do update set value = excluded.value, updated_at = now()`;
