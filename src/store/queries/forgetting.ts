/**
 * Where a name may stand, and erasing it. Every table with text of people is in one of these lists, goes with the entity, or cannot hold such text;
 * forgetting.test.ts reads the catalogue and knows no fourth kind.
 */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { DOT_ABOVE, DOTTED_I } from "../../domain/mentions.ts";
import { int8, json, query, textArray, uuid, uuidArray } from "../codecs.ts";

/** What is being forgotten. */
export interface Forgotten {
  readonly entityId: string;
  /** Of the entity; rows of other projects are never touched. */
  readonly projectId: string | null;
  /** Its observations. */
  readonly observationIds: readonly string[];
  /** Its name and its aliases as `inSmallLetters` may answer them, for columns that hold exactly a name. */
  readonly names: readonly string[];
  /** Names looked for in texts in small letters, as patterns of LIKE. */
  readonly patterns: readonly string[];
}

interface Holder {
  /** What a sample shows of the row. */
  readonly key: SQL;
  /** Everything in the row that could name somebody. */
  readonly text: SQL;
  readonly scope: (q: Forgotten) => SQL;
  /** Rows that belong to what is forgotten whatever their text says. */
  readonly also?: (q: Forgotten) => SQL;
  /** Rows that are none of this list's business. */
  readonly except?: (q: Forgotten) => SQL;
}

const never = sql`false`;
const own = (q: Forgotten) => sql`t.project_id is not distinct from ${q.projectId}::uuid`;
const inAnyProject = () => sql`true`;
/** A text as names are compared with it (`domain/mentions.ts`): a file name of a Mac has its accents apart, a Turkish capital I has a dot. */
const inSmallLetters = (text: SQL): SQL =>
  sql`lower(replace(replace(normalize(${text}, nfc), ${DOTTED_I}::text, 'I'), ${DOT_ABOVE}::text, ''))`;
const named = (column: SQL) => (q: Forgotten) => sql`${inSmallLetters(column)} = any(${textArray(q.names)})`;
const mayName = (text: SQL, q: Forgotten) => sql`${inSmallLetters(text)} like any(${textArray(q.patterns)})`;
const about = (column: SQL) => (q: Forgotten) => sql`${column} = any(${uuidArray(q.observationIds)})`;
/** A note from one client to another: addressed, so it belongs to no project. */
const isNote = sql`(t.project_id is null and t.condition_type = 'on_session_start')`;
const words = (...columns: SQL[]) => sql`concat_ws(E'\n', ${sql.join(columns, sql`, `)})`;
const list = (column: SQL) => sql`array_to_string(${column}, E'\n')`;
const ofObservation = (column: SQL) => (q: Forgotten) =>
  sql`exists (select from brain_observations as o where o.id = ${column} and o.project_id is not distinct from ${q.projectId}::uuid)`;
const id = sql`t.id::text`;

/** Rows that go when they name what is forgotten; dependents before what they depend on. */
export const holders = {
  brain_judgments: {
    key: id,
    text: sql`t.reason`,
    scope: ofObservation(sql`t.observation_a`),
    except: (q) => sql`${about(sql`t.observation_a`)(q)} or ${about(sql`t.observation_b`)(q)}`,
  },
  brain_sync_conflicts: {
    key: id,
    text: words(sql`t.local_content`, sql`t.incoming_content`),
    scope: ofObservation(sql`t.observation_id`),
    except: about(sql`t.observation_id`),
  },
  brain_facts: {
    key: sql`t.fact_id::text`,
    text: words(sql`t.subject`, sql`t.object`, sql`t.supersede_reason`),
    scope: own,
    also: (q) => sql`(t.observation_id is null and ${named(sql`t.subject`)(q)})`,
    // What an observation of somebody else says now stays with it, what it said before goes like its history; what hangs from the entity goes with it.
    except: (
      q,
    ) => sql`t.subject_entity_id is not distinct from ${q.entityId}::uuid or t.observation_id = any(${uuidArray(q.observationIds)})
      or exists (select from brain_observations as o where o.id = t.observation_id and o.content = t.object)`,
  },
  brain_errors: {
    key: id,
    text: words(sql`t.error_type`, sql`t.error_message`, sql`t.solution`, sql`t.context::text`, sql`t.project`),
    scope: own,
  },
  brain_wm: { key: id, text: words(sql`t.content`, sql`t.tag`), scope: own },
  brain_compaction_snapshots: {
    key: id,
    text: words(
      sql`t.summary_md`,
      sql`t.key_observations::text`,
      sql`t.decisions::text`,
      sql`t.unresolved_errors::text`,
      sql`t.pending_embeddings::text`,
      sql`t.active_goals::text`,
    ),
    scope: own,
    // Its texts are copies of observations, which may not repeat the name.
    also: (q) => sql`exists (select from jsonb_array_elements(t.key_observations || t.decisions || t.pending_embeddings) as k
      where k ->> 'id' = any(${textArray(q.observationIds)}))`,
  },
  brain_sessions: { key: id, text: words(sql`t.session_name`, sql`t.goals::text`, sql`t.summary`), scope: own },
  brain_triggers: {
    key: id,
    text: words(sql`t.entity_pattern`, sql`t.message`),
    scope: (q) => sql`(${own(q)} or ${isNote})`,
    also: named(sql`t.entity_pattern`),
    // Addressed to a client that is called like the entity, and says nothing about it.
    except: (q) => sql`${isNote} and ${named(sql`t.entity_pattern`)(q)} and not ${mayName(sql`t.message`, q)}`,
  },
  brain_verify_log: {
    key: id,
    text: words(sql`t.claim`, sql`t.entity_name`),
    scope: own,
    also: (q) => sql`(${named(sql`t.entity_name`)(q)} or t.evidence_ids && ${uuidArray(q.observationIds)})`,
  },
  brain_procedures: {
    key: id,
    text: words(sql`t.name`, sql`t.trigger_context`, sql`t.steps::text`, sql`t.preconditions`, sql`t.verification`),
    scope: own,
  },
  brain_artifacts: {
    key: id,
    text: words(
      sql`t.path`,
      sql`t.content`,
      sql`(select string_agg(v.content, E'\n') from brain_artifact_versions as v where v.artifact_id = t.id)`,
    ),
    scope: own,
  },
  brain_handler_failures: { key: id, text: sql`t.error`, scope: inAnyProject },
  brain_peer_notices: { key: id, text: sql`t.summary`, scope: inAnyProject },
  brain_item_sources: {
    key: sql`t.item_id::text`,
    text: words(sql`t.content`, sql`t.doc_path`, sql`t.url`, sql`t.extra::text`),
    scope: own,
    also: about(sql`t.item_id`),
  },
  brain_item_versions: {
    key: sql`t.item_id::text`,
    text: words(sql`t.memory`, sql`t.metadata::text`, sql`t.actor`),
    scope: own,
    also: about(sql`t.item_id`),
  },
  brain_cube_flat: { key: id, text: words(sql`t.memory`, sql`t.metadata::text`), scope: own },
  brain_cube_prompts: { key: id, text: sql`t.messages::text`, scope: own },
  brain_preference_sources: { key: id, text: sql`t.excerpt`, scope: own },
  brain_preference_history: {
    key: sql`t.pref_id::text`,
    text: words(sql`t.statement`, sql`t.value`, sql`t.reason`, sql`t.actor`),
    scope: own,
  },
  brain_preferences: {
    key: id,
    text: words(
      sql`t.subject`,
      sql`t.statement`,
      sql`t.topic`,
      sql`t.attribute`,
      sql`t.value`,
      sql`t.scope_key`,
      sql`t.context_summary`,
      sql`t.reasoning`,
    ),
    scope: own,
    also: (q) => sql`(${about(sql`t.observation_id`)(q)} or ${named(sql`t.subject`)(q)})`,
  },
} satisfies Record<string, Holder>;
export type HolderTable = keyof typeof holders;

const table = (name: string): SQL => sql.raw(name);

const Found = z.object({ row: z.string(), key: z.string(), text: z.string().nullable(), belongs: z.boolean() });

/** Tables whose rows stay and may speak of what is forgotten. */
export const others = ["brain_observations", "brain_episodes", "brain_entities"] as const;
export type OtherTable = (typeof others)[number];

/**
 * Rows of a table by their places in its file: pages `from` to below `to`, or rows found before. A place holds another row, if any, once its row was
 * changed; whoever goes by places asks {@link changedSince} what came since.
 */
export type Places = { readonly from: number; readonly to: number } | { readonly rows: readonly string[] };
const at = (alias: string, places: Places): SQL => {
  const place = sql.raw(`${alias}.ctid`);
  if ("rows" in places) return sql`${place} = any(${textArray(places.rows)}::tid[])`;
  const page = (number: number) => sql`${`(${number},0)`}::text::tid`;
  return sql`${place} >= ${page(places.from)} and ${place} < ${page(places.to)}`;
};

/** The pages of tables now, and the oldest transaction that goes on: what a later look has not seen was written by it or a younger one. */
export const extent = query(
  z.object({ table: z.string(), pages: int8, horizon: z.string() }),
  (q: { tables: readonly string[] }) => sql`
  select n.name as table, ceil(pg_relation_size(n.name::regclass) / current_setting('block_size')::float8)::bigint as pages,
    pg_snapshot_xmin(pg_current_snapshot())::xid::text as horizon
  from unnest(${textArray(q.tables)}) as n(name)
  order by n.name`,
);

/** Places of rows that were written since. Plan: the whole table, but of each row its header alone. */
export const changedSince = query(
  z.object({ row: z.string() }),
  (q: { table: HolderTable | OtherTable; horizon: string }) => sql`
  select t.ctid::text as row from ${table(q.table)} as t where age(t.xmin) <= (select age(${q.horizon}::text::xid))`,
);

/** Rows at these places that may name what is forgotten. `lock` keeps them as they are until the transaction ends. */
export const mayMention = query(Found, (q: { of: HolderTable; what: Forgotten; places: Places; lock: boolean }) => {
  const holder: Holder = holders[q.of];
  const belongs = holder.also?.(q.what) ?? never;
  return sql`
  select t.ctid::text as row, ${holder.key} as key, ${holder.text} as text, coalesce(${belongs}, false) as belongs
  from ${table(q.of)} as t
  where ${at("t", q.places)} and ${holder.scope(q.what)} and not coalesce(${holder.except?.(q.what) ?? never}, false)
    and (${mayName(holder.text, q.what)} or ${belongs})
  order by 2, t.ctid
  ${q.lock ? sql`for update of t` : sql``}`;
});

/** Deletes rows that were found in this transaction. */
export const eraseRows = (q: { of: HolderTable; rows: readonly string[] }) =>
  sql`delete from ${table(q.of)} as t where t.ctid = any(${textArray(q.rows)}::tid[])`;

/** What goes with the entity, by table. */
export const cascadeCounts = query(z.object({ table: z.string(), count: int8 }), (q: { what: Forgotten }) => {
  const { entityId, observationIds } = q.what;
  const rows = uuidArray(observationIds);
  return sql`
  select 'brain_entities' as table, count(*) as count from brain_entities where id = ${entityId}::uuid
  union all select 'brain_entity_aliases', count(*) from brain_entity_aliases where entity_id = ${entityId}::uuid
  union all select 'brain_observations', count(*) from brain_observations where entity_id = ${entityId}::uuid
  union all select 'brain_observation_chunks', count(*) from brain_observation_chunks where observation_id = any(${rows})
  union all select 'brain_episodes', count(*) from brain_episodes where entity_id = ${entityId}::uuid
  union all select 'brain_relations', count(*) from brain_relations where ${entityId}::uuid in (from_entity, to_entity)
  union all select 'brain_facts', count(*) from brain_facts where subject_entity_id = ${entityId}::uuid or observation_id = any(${rows})
  union all select 'brain_judgments', count(*) from brain_judgments where observation_a = any(${rows}) or observation_b = any(${rows})
  union all select 'brain_sync_conflicts', count(*) from brain_sync_conflicts where observation_id = any(${rows})
  union all select 'brain_node_metrics', count(*) from brain_node_metrics where node_id = ${entityId}::uuid
  order by 1`;
});

export const aliasesOf = query(
  z.object({ name: z.string() }),
  (q: { entityId: string }) =>
    sql`select alias_text as name from brain_entity_aliases where entity_id = ${q.entityId}::uuid order by alias_text, alias_id`,
);

export const observationIdsOf = query(
  z.object({ id: uuid }),
  (q: { entityId: string }) => sql`select id from brain_observations where entity_id = ${q.entityId}::uuid order by id`,
);

/** Nobody writes under the entity while it goes. */
export const lockEntity = query(
  z.object({ id: uuid }),
  (q: { entityId: string }) => sql`select id from brain_entities where id = ${q.entityId}::uuid for update`,
);

export const eraseEntity = (q: { entityId: string }) => sql`delete from brain_entities where id = ${q.entityId}::uuid`;

/** Old texts of other entities' observations that may name what is forgotten. */
export const versionsThatMayMention = query(
  z.object({ row: z.string(), id: uuid, versions: z.array(z.unknown()) }),
  (q: { what: Forgotten; places: Places }) => sql`
  select o.ctid::text as row, o.id, o.previous_versions as versions
  from brain_observations as o
  where ${at("o", q.places)} and o.entity_id <> ${q.what.entityId}::uuid and o.project_id is not distinct from ${q.what.projectId}::uuid
    and jsonb_array_length(o.previous_versions) > 0 and ${mayName(sql`o.previous_versions::text`, q.what)}
  order by o.id`,
);

/** Takes these entries out of a history, and nothing that came since they were read; no clock moves. */
export const dropVersions = (q: { id: string; dropped: readonly unknown[] }) => sql`
  update brain_observations as o
  set previous_versions = coalesce((
    select jsonb_agg(v.entry order by v.at) from jsonb_array_elements(o.previous_versions) with ordinality as v(entry, at)
    where not exists (select from jsonb_array_elements(${json(q.dropped)}) as d(entry) where d.entry = v.entry)), '[]')
  where o.id = ${q.id}::uuid`;

/** Texts of others that may name what is forgotten: they are somebody's memories, so a person decides. */
export const othersThatMayMention = query(
  z.object({ row: z.string(), id: uuid, text: z.string() }),
  (q: { of: OtherTable; what: Forgotten; places: Places }) => {
    const { owner, text } = spoken[q.of];
    return sql`
  select t.ctid::text as row, t.id, ${text} as text from ${table(q.of)} as t
  where ${at("t", q.places)} and ${owner} <> ${q.what.entityId}::uuid and ${own(q.what)} and ${mayName(text, q.what)}
  order by t.id`;
  },
);

const spoken: Readonly<Record<OtherTable, { readonly owner: SQL; readonly text: SQL }>> = {
  brain_observations: { owner: sql`t.entity_id`, text: words(sql`t.content`, sql`t.verification`, list(sql`t.tags`)) },
  brain_episodes: { owner: sql`t.entity_id`, text: words(sql`t.content`, list(sql`t.actors`), list(sql`t.artifacts`)) },
  brain_entities: {
    owner: sql`t.id`,
    text: words(sql`t.name`, sql`(select string_agg(a.alias_text, E'\n') from brain_entity_aliases as a where a.entity_id = t.id)`),
  },
};
