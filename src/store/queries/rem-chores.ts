/** Statements of the smaller phases of a consolidation cycle: words, chunks, statistics, name pairs, what has run out. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { query, textArray, uuid, uuidArray } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { inSpan, type Walkable, type Window } from "./windows.ts";

/** Tables that search reads prepared words of. */
export const wordTables = ["observations", "entities", "episodes", "errors"] as const satisfies readonly Walkable[];
export type WordTable = (typeof wordTables)[number];

/** The texts that words are made of, in the order in which they are joined; the same ones as where the rows are written. */
const sources: Readonly<Record<WordTable, { table: SQL; parts: SQL }>> = {
  observations: { table: sql`brain_observations`, parts: sql`array[t.content]` },
  entities: { table: sql`brain_entities`, parts: sql`array[t.name, t.entity_type]` },
  episodes: { table: sql`brain_episodes`, parts: sql`array[t.content]` },
  errors: {
    table: sql`brain_errors`,
    parts: sql`array[t.error_type, t.error_message, t.solution, t.context->>'attempted', t.context->>'action']`,
  },
};
const joined = (table: WordTable): SQL => sql`array_to_string(${sources[table].parts}, ' ')`;

/** Rows of one window whose words were never prepared (they came by an import, or their text changed behind our back). */
export const unprepared = query(
  z.object({ id: uuid, text: z.string() }),
  (q: Window & { table: WordTable; limit: number }) => sql`
  select t.id, ${joined(q.table)} as text from ${sources[q.table].table} as t
  where ${inSpan("t", q)} and t.lexical is null
  order by t.id
  limit ${q.limit}::int`,
);

/** Stores prepared words where the row still has the text that they were made of and no other words. */
export const saveWords = (q: {
  table: WordTable;
  rows: readonly { readonly id: string; readonly text: string; readonly lexical: string }[];
}) => sql`
  update ${sources[q.table].table} as t
  set lexical = n.lexical
  from unnest(${uuidArray(q.rows.map((row) => row.id))}, ${textArray(q.rows.map((row) => row.text))}, ${textArray(q.rows.map((row) => row.lexical))})
    as n(id, text, lexical)
  where t.id = n.id and t.lexical is null and ${joined(q.table)} = n.text`;

/** Long live observations of one window that have no chunks. */
export const longTexts = query(
  z.object({ id: uuid, chars: z.number() }),
  (q: Window & { thresholdChars: number }) => sql`
  select o.id, char_length(o.content) as chars
  from brain_observations as o
  where ${inSpan("o", q)} and o.observation_type <> 'superseded' and char_length(o.content) > ${q.thresholdChars}::int
    and not exists (select from brain_observation_chunks as c where c.observation_id = o.id)
  order by o.id`,
);

/** Live observations by id, with their text. */
export const textsOf = query(
  z.object({ id: uuid, content: z.string() }),
  (q: { ids: readonly string[] }) => sql`
  select o.id, o.content from brain_observations as o
  where o.id = any(${uuidArray(q.ids)}) and o.observation_type <> 'superseded'
  order by o.id`,
);

/** Tables whose statistics the planner should not do without, where they were never taken or are outdated. */
export const staleStatistics = query(
  z.object({ name: z.string() }),
  (q: { tables: readonly string[]; leastRows: number; share: number }) => sql`
  select s.relname::text as name
  from pg_stat_user_tables as s
  where s.schemaname = 'public' and s.relname = any(${textArray(q.tables)}) and s.n_live_tup > 0
    and ((s.last_analyze is null and s.last_autoanalyze is null)
      or s.n_mod_since_analyze > greatest(${q.leastRows}::bigint, ${q.share}::float8 * s.n_live_tup))
  order by s.relname`,
);

export const takeStatistics = query(z.object({ done: z.unknown() }), () => sql`select brain_analyze() as done`);

/** Entities of one window that something but withheld text speaks of: what `dedupe` can show. */
export const namesIn = query(
  z.object({ id: uuid, name: z.string() }),
  (q: Window) => sql`select e.id, e.name from brain_entities as e where ${inSpan("e", q)} and ${isVouchedFor("e")} order by e.id`,
);

/** Working notes whose time is over. */
export const purgeNotes = (limit: number) => sql`
  delete from brain_wm where id in (select id from brain_wm where expires_at <= now() order by expires_at, id limit ${limit}::int)`;

/** Predictions that nobody has resolved in so many days. */
export const purgePredictions = (q: { days: number; limit: number }) => sql`
  delete from brain_verify_log where id in (
    select id from brain_verify_log where outcome = 'pending' and created_at < now() - make_interval(days => ${q.days}::int)
    order by created_at, id limit ${q.limit}::int)`;
