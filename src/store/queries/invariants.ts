/**
 * What must hold in every database (`data-model.md` §15): each statement counts the rows that break its rule. Tests run them after each
 * scenario, `doctor --deep` on a person's data. Run them as the owner: row security would hide breaks.
 */
import type { Connection } from "../connection.ts";

export interface Invariant {
  readonly id: string;
  /** The rule in words. */
  readonly says: string;
  /** Imported bundles can break it: report, don't fail. */
  readonly soft: boolean;
  readonly statement: string;
}

const rule = (id: string, says: string, count: string, soft = false): Invariant => ({ id, says, soft, statement: `select ${count}` });

export const invariants: readonly Invariant[] = [
  rule(
    "I01",
    "an entity name is unique in its project",
    `count(*) as broken from (select 1 from brain_entities group by name, project_id having count(*) > 1) q`,
  ),
  rule(
    "I02",
    "a vector has a model, and no model stands without one",
    `count(*) as broken from brain_observations where (embedding is null) <> (embedding_model is null)`,
  ),
  rule(
    "I03",
    "evidence has its proof",
    `count(*) as broken
     from brain_observations
     where evidence <> 'asserted' and verification is null or (evidence = 'verified') <> (verified_at is not null)`,
  ),
  rule(
    "I04",
    "chunks have their parent's project",
    `count(*) as broken
     from brain_observation_chunks c
     join brain_observations o on o.id = c.observation_id
     where c.project_id is distinct from o.project_id`,
  ),
  rule(
    "I05",
    "chunks hold text of the current content",
    `count(*) as broken
     from brain_observation_chunks c
     join brain_observations o on o.id = c.observation_id
     where c.created_at < o.updated_at and position(left(c.content, 40) in o.content) = 0`,
  ),
  rule(
    "I06",
    "chunks are numbered from 0 without a gap",
    `count(*) as broken
     from (select observation_id from brain_observation_chunks
     group by observation_id
     having min(chunk_index) <> 0 or max(chunk_index) <> count(*) - 1) q`,
  ),
  rule(
    "I07",
    "a history has at most 20 entries",
    `count(*) as broken from brain_observations where jsonb_array_length(previous_versions) > 20`,
  ),
  rule(
    "I08",
    "no decay anchor lies in the future",
    `count(*) as broken
     from brain_observations
     where observation_type not in ('decision','lesson') and importance > 0 and last_decayed_at > now() + interval '1 minute'`,
  ),
  rule(
    "I09",
    "facts: the interval is ordered, current means open",
    `count(*) as broken from brain_facts where valid_to < valid_from or is_current <> (valid_to is null)`,
  ),
  rule(
    "I10",
    "the audit chain does not fork",
    `count(*) as broken from (select prev_hash from brain_audit_log group by prev_hash having count(*) > 1) q`,
  ),
  rule(
    "I11",
    "the audit chain has no gap",
    `count(*) as broken
     from (select id, prev_hash, lag(current_hash) over (order by id) as expected
     from brain_audit_log) q
     where prev_hash is distinct from expected`,
  ),
  rule(
    "I12",
    "a tombstoned observation is gone",
    `count(*) as broken
     from brain_tombstones t
     where t.table_name = 'brain_observations' and exists (select from brain_observations o
     where o.id = t.row_id)`,
  ),
  rule("I13", "there is one node identity", `abs((select count(*) from brain_node_identity) - 1) as broken`),
  rule("I14", "no relation leads to itself", `count(*) as broken from brain_relations where from_entity = to_entity`),
  rule(
    "I15",
    "the capped tables stay capped",
    `greatest((select count(*) from brain_handler_failures) - 1000, 0) + greatest((select count(*) from brain_rem_cycles) - 500, 0) as broken`,
  ),
  rule(
    "I16",
    "every scoped table has forced row security",
    `count(*) as broken
     from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and exists (select from pg_attribute a
     where a.attrelid = c.oid and a.attname = 'project_id' and not a.attisdropped) and
       c.relname not in ('brain_grants','brain_sync_state','brain_project_identities')
       and not (c.relrowsecurity and c.relforcerowsecurity)`,
  ),
  rule(
    "I17",
    "tombstone triggers match the list of tables",
    `count(*) as broken
     from (select replace(t.tgname, '_tombstone', '') as tbl
     from pg_trigger t
     where not t.tgisinternal and t.tgname like '%\\_tombstone') a
     full join (values ('brain_entities'),('brain_observations'),('brain_episodes'),('brain_errors'),('brain_relations'),('brain_projects'),('brain_procedures'),('brain_facts'),('brain_artifacts')) b(tbl) using (tbl)
     where a.tbl is null or b.tbl is null`,
  ),
  rule(
    "I18",
    "all vectors have one width",
    `count(*) as broken
     from (select format_type(a.atttypid, a.atttypmod) as ty
     from pg_attribute a
     join pg_class c on c.oid = a.attrelid
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and format_type(a.atttypid, a.atttypmod) ~ '^(half)?vec'
     group by 1 offset 1) q`,
  ),
  rule("I19", "trust counts are at least 1", `count(*) as broken from brain_source_trust where alpha < 1 or beta < 1`),
  rule(
    "I20",
    "a spent trigger is inactive",
    `count(*) as broken from brain_triggers where active and max_fires <> -1 and fire_count >= max_fires`,
  ),
  rule(
    "I21",
    "an edge stays in one project",
    `count(*) as broken
     from brain_relations r
     join brain_entities a on a.id = r.from_entity
     join brain_entities b on b.id = r.to_entity
     where a.project_id is not null and b.project_id is not null and a.project_id <> b.project_id`,
    true,
  ),
  rule(
    "I22",
    "an observation has the project of its entity",
    `count(*) as broken
     from brain_observations o
     join brain_entities e on e.id = o.entity_id
     where e.project_id is not null and o.project_id is distinct from e.project_id`,
    true,
  ),
  rule(
    "I23",
    "cuba_app cannot rewrite the audit log or grant",
    `(has_table_privilege('cuba_app','brain_audit_log','UPDATE') or has_table_privilege('cuba_app','brain_audit_log','DELETE') or has_table_privilege('cuba_app','brain_grants','INSERT'))::int as broken`,
  ),
  rule(
    "I24",
    "cuba_app has no special attributes",
    `count(*) as broken
     from pg_roles
     where rolname = 'cuba_app' and (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb)`,
  ),
  rule("I25", "an outcome means an ended session", `count(*) as broken from brain_sessions where outcome is not null and ended_at is null`),
  rule("I26", "there are no views", `count(*) as broken from pg_views where schemaname = 'public'`),
  rule(
    "I27",
    "a superseder is of the same entity",
    `count(*) as broken
     from brain_observations c
     join brain_observations p on p.id = c.superseded_by
     where c.entity_id <> p.entity_id`,
  ),
  rule(
    "I28",
    "a client has one open session",
    `count(*) as broken
     from (select client_key from brain_sessions
     where ended_at is null and client_key is not null
     group by 1
     having count(*) > 1) q`,
  ),
  rule(
    "I29",
    "no current fact mirrors a retired or quarantined row",
    `count(*) as broken
     from brain_facts f
     join brain_observations o on o.id = f.observation_id
     where f.valid_to is null and (o.observation_type = 'superseded' or o.trust = 'quarantined')`,
  ),
];

export interface BrokenInvariant {
  readonly id: string;
  readonly says: string;
  readonly soft: boolean;
  readonly rows: number;
}

/** The invariants that do not hold, with the number of rows each. */
export async function brokenInvariants(connection: Connection): Promise<BrokenInvariant[]> {
  const broken: BrokenInvariant[] = [];
  for (const { id, says, soft, statement } of invariants) {
    const { rows } = await connection.query(statement);
    const count = Number(rows[0]?.broken);
    if (count !== 0) broken.push({ id, says, soft, rows: count });
  }
  return broken;
}
