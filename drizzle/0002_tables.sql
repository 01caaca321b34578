-- New: the 33 tables of the memory itself, with five source_trust rows and the one row that identifies this node. No other data.

-- Projects and sessions

create table brain_projects (
  id uuid primary key default gen_random_uuid(),
  name text not null unique check (name <> ''),
  created_at timestamptz not null default now(),
  last_active_at timestamptz not null default now()
);

create table brain_project_identities (
  identity text primary key check (identity ~ '^(git|remote|path):.'),
  project_id uuid not null references brain_projects(id) on delete cascade,
  created_at timestamptz not null default now()
);

create index idx_project_identities_project on brain_project_identities (project_id);

create table brain_sessions (
  id uuid primary key default gen_random_uuid(),
  session_name text,
  goals jsonb not null default '[]' check (jsonb_typeof(goals) = 'array'),
  summary text,
  outcome text check (outcome is null or outcome in ('success','partial','failed','abandoned')),
  project_id uuid references brain_projects(id) on delete restrict,
  client_key text,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  constraint brain_sessions_interval check (ended_at is null or ended_at >= started_at),
  constraint brain_sessions_outcome_means_ended check (outcome is null or ended_at is not null)
);

create index idx_sessions_started on brain_sessions (started_at desc);
create index idx_sessions_open on brain_sessions (started_at desc) where ended_at is null;
create index idx_sessions_project on brain_sessions (project_id) where project_id is not null;
create unique index uq_sessions_open_client on brain_sessions (client_key) where ended_at is null and client_key is not null;

-- Graph core

create table brain_entities (
  id uuid primary key default gen_random_uuid(),
  name text not null check (name <> ''),
  name_key text not null default '',
  entity_type text not null default 'concept' check (entity_type ~ '^[a-z][a-z0-9_]{0,49}$'),
  importance double precision not null default 0.5 check (importance between 0 and 1),
  access_count integer not null default 0 check (access_count >= 0),
  bcm_theta double precision not null default 10 check (bcm_theta >= 10),
  last_boosted_at timestamptz not null default now(),
  project_id uuid references brain_projects(id) on delete restrict,
  relations_scanned_at timestamptz,
  relation_scan_attempts integer not null default 0 check (relation_scan_attempts >= 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  lexical text,
  search_vector tsvector generated always as (to_tsvector('simple', coalesce(lexical, name || ' ' || entity_type))) stored,
  lexical_length integer not null generated always as (brain_word_count(to_tsvector('simple', coalesce(lexical, name || ' ' || entity_type)))) stored,
  constraint uq_brain_entities_name_project unique nulls not distinct (name, project_id)
);

create index idx_entities_search on brain_entities using gin (search_vector) with (fastupdate = off);
create index idx_entities_trgm on brain_entities using gin (name gin_trgm_ops) with (fastupdate = off);
create index idx_entities_type on brain_entities (entity_type);
create index idx_entities_project on brain_entities (project_id) where project_id is not null;
create index idx_entities_created on brain_entities (created_at desc);
create index idx_entities_name_key on brain_entities (name_key, project_id) where name_key <> '';
create index idx_entities_unscanned on brain_entities (relation_scan_attempts, created_at) where relations_scanned_at is null;

create table brain_entity_aliases (
  alias_id uuid primary key default gen_random_uuid(),
  entity_id uuid not null references brain_entities(id) on delete cascade,
  alias_text text not null check (alias_text <> ''),
  created_at timestamptz not null default now(),
  unique (entity_id, alias_text)
);

create index idx_entity_alias_text on brain_entity_aliases (alias_text);
create index idx_entity_alias_trgm on brain_entity_aliases using gin (alias_text gin_trgm_ops) with (fastupdate = off);

create table brain_observations (
  id uuid primary key default gen_random_uuid(),
  entity_id uuid not null references brain_entities(id) on delete cascade,
  content text not null check (content <> ''),
  observation_type text not null default 'fact' check (observation_type in ('fact','decision','lesson','preference','error','solution','context','tool_usage','superseded')),
  superseded_from text check (superseded_from is null or superseded_from in ('fact','decision','lesson','preference','error','solution','context','tool_usage')),
  superseded_at timestamptz,
  superseded_by uuid references brain_observations(id) on delete set null,
  importance double precision not null default 0.5 check (importance between 0 and 1),
  access_count integer not null default 0 check (access_count >= 0),
  last_accessed timestamptz not null default now(),
  last_decayed_at timestamptz not null default now(),
  source text not null default 'agent' check (source in ('agent','error_detection','user','consolidation','inference')),
  trust text not null default 'trusted' check (trust in ('trusted','quarantined')),
  evidence text not null default 'asserted' check (evidence in ('asserted','observed','verified')),
  verification text,
  verified_at timestamptz,
  tags text[] not null default '{}',
  version integer not null default 1 check (version >= 1),
  previous_versions jsonb not null default '[]' check (jsonb_typeof(previous_versions) = 'array'),
  origin_node text default nullif(current_setting('cuba.node_name', true), ''),
  session_id uuid references brain_sessions(id) on delete set null,
  project_id uuid references brain_projects(id) on delete restrict,
  embedding vector(384),
  embedding_model text,
  extracted_at timestamptz,
  extraction_attempts integer not null default 0 check (extraction_attempts >= 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  lexical text,
  search_vector tsvector generated always as (to_tsvector('simple', coalesce(lexical, content))) stored,
  lexical_length integer not null generated always as (brain_word_count(to_tsvector('simple', coalesce(lexical, content)))) stored,
  constraint brain_observations_evidence_needs_a_check check (evidence = 'asserted' or verification is not null),
  constraint brain_observations_verified_is_stamped check ((evidence = 'verified') = (verified_at is not null)),
  constraint brain_observations_vector_has_a_model check ((embedding is null) = (embedding_model is null)),
  constraint brain_observations_superseded_marks check (observation_type = 'superseded' or (superseded_from is null and superseded_at is null and superseded_by is null)),
  constraint brain_observations_not_self_superseded check (superseded_by is distinct from id)
);

create index idx_obs_entity on brain_observations (entity_id, created_at desc);
create index idx_obs_active_search on brain_observations using gin (search_vector) with (fastupdate = off) where observation_type <> 'superseded';
create index idx_obs_trgm on brain_observations using gin (content gin_trgm_ops) with (fastupdate = off);
create index idx_obs_tags on brain_observations using gin (tags) with (fastupdate = off);
create index idx_obs_type on brain_observations (observation_type);
create index idx_obs_importance on brain_observations (importance desc) where observation_type <> 'superseded';
create index idx_obs_created on brain_observations (created_at desc);
create index idx_obs_last_accessed on brain_observations (last_accessed) where observation_type <> 'superseded';
create index idx_obs_session on brain_observations (session_id) where session_id is not null;
create index idx_obs_project on brain_observations (project_id) where project_id is not null;
create index idx_obs_quarantined on brain_observations (created_at desc) where trust = 'quarantined';
create index idx_obs_evidence on brain_observations (evidence, verified_at desc) where evidence <> 'asserted';
create index idx_obs_unextracted on brain_observations (extraction_attempts, created_at) where extracted_at is null and trust = 'trusted';
create index idx_obs_unembedded on brain_observations (created_at) where embedding is null and observation_type <> 'superseded';
create index idx_obs_unprepared on brain_observations (created_at) where lexical is null;

create table brain_observation_chunks (
  id uuid primary key default gen_random_uuid(),
  observation_id uuid not null references brain_observations(id) on delete cascade,
  chunk_index integer not null check (chunk_index >= 0),
  content text not null check (content <> ''),
  embedding vector(384),
  embedding_model text,
  project_id uuid references brain_projects(id) on delete restrict,
  created_at timestamptz not null default now(),
  unique (observation_id, chunk_index),
  constraint brain_observation_chunks_vector_has_a_model check ((embedding is null) = (embedding_model is null))
);

create index idx_obs_chunks_unembedded on brain_observation_chunks (created_at) where embedding is null;

create table brain_relations (
  id uuid primary key default gen_random_uuid(),
  from_entity uuid not null references brain_entities(id) on delete cascade,
  to_entity uuid not null references brain_entities(id) on delete cascade,
  relation_type text not null check (relation_type ~ '^[a-z][a-z0-9_]{0,49}$'),
  strength double precision not null default 1 check (strength between 0 and 1),
  bidirectional boolean not null default false,
  provenance text not null default 'extracted' check (provenance in ('extracted','inferred','predicted')),
  project_id uuid references brain_projects(id) on delete restrict,
  last_traversed timestamptz not null default now(),
  created_at timestamptz not null default now(),
  constraint uq_brain_relations_edge unique (from_entity, to_entity, relation_type),
  constraint brain_relations_no_self_loop check (from_entity <> to_entity)
);

create index idx_relations_to on brain_relations (to_entity);
create index idx_relations_project on brain_relations (project_id) where project_id is not null;

-- Other memories

create table brain_episodes (
  id uuid primary key default gen_random_uuid(),
  entity_id uuid not null references brain_entities(id) on delete cascade,
  content text not null check (content <> ''),
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  actors text[] not null default '{}',
  artifacts text[] not null default '{}',
  importance double precision not null default 0.5 check (importance between 0 and 1),
  initial_importance double precision not null default 0.5 check (initial_importance between 0 and 1),
  trust text not null default 'trusted' check (trust in ('trusted','quarantined')),
  session_id uuid references brain_sessions(id) on delete set null,
  project_id uuid references brain_projects(id) on delete restrict,
  embedding vector(384),
  embedding_model text,
  created_at timestamptz not null default now(),
  lexical text,
  search_vector tsvector generated always as (to_tsvector('simple', coalesce(lexical, content))) stored,
  constraint brain_episodes_interval check (ended_at is null or ended_at >= started_at),
  constraint brain_episodes_vector_has_a_model check ((embedding is null) = (embedding_model is null))
);

create index idx_episodes_entity on brain_episodes (entity_id);
create index idx_episodes_search on brain_episodes using gin (search_vector) with (fastupdate = off);
create index idx_episodes_trgm on brain_episodes using gin (content gin_trgm_ops) with (fastupdate = off);
create index idx_episodes_started on brain_episodes (started_at desc);
create index idx_episodes_created on brain_episodes (created_at desc);
create index idx_episodes_session on brain_episodes (session_id) where session_id is not null;
create index idx_episodes_project on brain_episodes (project_id) where project_id is not null;
create index idx_episodes_quarantined on brain_episodes (created_at desc) where trust = 'quarantined';
create index idx_episodes_unembedded on brain_episodes (created_at) where embedding is null;

create table brain_errors (
  id uuid primary key default gen_random_uuid(),
  error_type text not null,
  error_message text not null check (error_message <> ''),
  context jsonb not null default '{}',
  project text not null default 'default',
  project_id uuid references brain_projects(id) on delete restrict,
  solution text,
  resolved boolean not null default false,
  resolved_at timestamptz,
  synapse_weight double precision not null default 1 check (synapse_weight between 0 and 5),
  trust text not null default 'trusted' check (trust in ('trusted','quarantined')),
  created_at timestamptz not null default now(),
  lexical text,
  search_vector tsvector generated always as (to_tsvector('simple', coalesce(lexical, error_type || ' ' || error_message || ' ' || coalesce(solution, '')))) stored,
  lexical_length integer not null generated always as (brain_word_count(to_tsvector('simple', coalesce(lexical, error_type || ' ' || error_message || ' ' || coalesce(solution, ''))))) stored,
  constraint brain_errors_resolved_at_means_resolved check (resolved or resolved_at is null)
);

create index idx_errors_search on brain_errors using gin (search_vector) with (fastupdate = off);
create index idx_errors_trgm on brain_errors using gin (error_message gin_trgm_ops) with (fastupdate = off);
create index idx_errors_label on brain_errors (project);
create index idx_errors_open on brain_errors (created_at desc) where not resolved;
create index idx_errors_created on brain_errors (created_at desc);
create index idx_errors_project on brain_errors (project_id) where project_id is not null;
create index idx_errors_quarantined on brain_errors (created_at desc) where trust = 'quarantined';

create table brain_facts (
  fact_id uuid primary key default gen_random_uuid(),
  subject_entity_id uuid references brain_entities(id) on delete cascade,
  observation_id uuid references brain_observations(id) on delete cascade,
  project_id uuid references brain_projects(id) on delete restrict,
  subject text not null,
  predicate text not null,
  object text not null,
  layer text check (layer is null or layer in ('episodic','semantic','working','project')),
  confidence double precision not null default 1 check (confidence between 0 and 1),
  valid_from timestamptz not null default now(),
  valid_to timestamptz,
  observed_at timestamptz not null default now(),
  is_current boolean not null generated always as (valid_to is null) stored,
  superseded_by uuid references brain_facts(fact_id) on delete set null,
  supersede_reason text,
  created_at timestamptz not null default now(),
  closed_at timestamptz,
  constraint ck_facts_closed_is_stamped check ((valid_to is null) = (closed_at is null)),
  constraint ck_facts_valid_interval check (valid_to is null or valid_from <= valid_to),
  constraint ck_facts_superseded_is_closed check (superseded_by is null or valid_to is not null),
  constraint ck_facts_not_self_superseded check (superseded_by is distinct from fact_id)
);

create index idx_facts_current on brain_facts (subject, predicate) where valid_to is null;
create index idx_facts_validity on brain_facts (valid_from, valid_to);
create index idx_facts_entity on brain_facts (subject_entity_id);
create index idx_facts_observation on brain_facts (observation_id);
create index idx_facts_project on brain_facts (project_id) where project_id is not null;
create index idx_facts_created on brain_facts (created_at desc);

create table brain_procedures (
  id uuid primary key default gen_random_uuid(),
  name text not null check (name <> ''),
  trigger_context text not null default '',
  steps jsonb not null default '[]' check (jsonb_typeof(steps) = 'array'),
  preconditions text not null default '',
  verification text not null default '',
  success_count integer not null default 0 check (success_count >= 0),
  failure_count integer not null default 0 check (failure_count >= 0),
  success_since_edit integer not null default 0 check (success_since_edit >= 0),
  failure_since_edit integer not null default 0 check (failure_since_edit >= 0),
  last_outcome text check (last_outcome is null or last_outcome in ('success','failure')),
  last_used_at timestamptz,
  project_id uuid references brain_projects(id) on delete restrict,
  embedding vector(384),
  embedding_model text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint uq_procedure_name_project unique nulls not distinct (name, project_id),
  constraint brain_procedures_since_edit_is_a_part check (success_since_edit <= success_count and failure_since_edit <= failure_count),
  constraint brain_procedures_vector_has_a_model check ((embedding is null) = (embedding_model is null))
);

create index idx_procedures_used on brain_procedures (last_used_at desc nulls last);
create index idx_procedures_project on brain_procedures (project_id) where project_id is not null;

create table brain_artifacts (
  id uuid primary key default gen_random_uuid(),
  project_id uuid references brain_projects(id) on delete restrict,
  path text not null check (octet_length(path) between 1 and 512),
  content text not null default '' check (octet_length(content) <= 2097152),
  content_hash text not null check (content_hash ~ '^[0-9a-f]{64}$'),
  version bigint not null default 1 check (version >= 1),
  locked_by text,
  lock_until timestamptz,
  origin_node text,
  crdt_actor text,
  crdt_counter bigint not null default 1 check (crdt_counter >= 1),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint uq_brain_artifacts_project_path unique nulls not distinct (project_id, path),
  constraint brain_artifacts_lease_is_whole check ((locked_by is null) = (lock_until is null))
);

create index idx_artifacts_path on brain_artifacts (path text_pattern_ops);
create index idx_artifacts_updated on brain_artifacts (updated_at desc);

-- Working state, prediction log

create table brain_compaction_snapshots (
  id uuid primary key default gen_random_uuid(),
  session_id uuid references brain_sessions(id) on delete cascade,
  project_id uuid references brain_projects(id) on delete restrict,
  summary_md text not null,
  key_observations jsonb not null default '[]',
  decisions jsonb not null default '[]',
  unresolved_errors jsonb not null default '[]',
  pending_embeddings jsonb not null default '[]',
  active_goals jsonb not null default '[]',
  obs_count integer not null default 0 check (obs_count >= 0),
  obs_total integer not null default 0,
  incomplete text[] not null default '{}',
  created_at timestamptz not null default now(),
  constraint brain_snapshots_part_of_total check (obs_count <= obs_total)
);

create index idx_snapshots_session on brain_compaction_snapshots (session_id, created_at desc);
create index idx_snapshots_project on brain_compaction_snapshots (project_id) where project_id is not null;

create table brain_wm (
  id uuid primary key default gen_random_uuid(),
  session_id uuid references brain_sessions(id) on delete cascade,
  client_key text,
  project_id uuid references brain_projects(id) on delete restrict,
  content text not null check (octet_length(content) between 1 and 65536),
  tag text,
  ttl_seconds integer not null default 3600 check (ttl_seconds > 0),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint brain_wm_expires_after_creation check (expires_at > created_at)
);

create index idx_wm_session on brain_wm (session_id, client_key, created_at desc);
create index idx_wm_expires on brain_wm (expires_at);
create index idx_wm_project on brain_wm (project_id) where project_id is not null;

create table brain_triggers (
  id uuid primary key default gen_random_uuid(),
  entity_pattern text not null check (entity_pattern <> ''),
  condition_type text not null check (condition_type in ('on_access','on_session_start','on_error_match')),
  message text not null check (message <> ''),
  from_agent text,
  active boolean not null default true,
  fire_count integer not null default 0 check (fire_count >= 0),
  max_fires integer not null default 1 check (max_fires = -1 or max_fires between 1 and 10000),
  project_id uuid references brain_projects(id) on delete restrict,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  constraint brain_triggers_spent_is_inactive check (not active or max_fires = -1 or fire_count < max_fires)
);

create index idx_triggers_active on brain_triggers (condition_type) where active;
create index idx_triggers_pattern on brain_triggers using gin (entity_pattern gin_trgm_ops) with (fastupdate = off);

create table brain_verify_log (
  id uuid primary key default gen_random_uuid(),
  claim text not null,
  entity_name text,
  confidence double precision not null check (confidence between 0 and 1),
  grounding_level text not null check (grounding_level in ('verified','partial','weak','unknown','contradicted')),
  outcome text not null default 'pending' check (outcome in ('pending','correct','incorrect','unknown')),
  evidence_ids uuid[] not null default '{}',
  project_id uuid references brain_projects(id) on delete restrict,
  created_at timestamptz not null default now(),
  resolved_at timestamptz,
  constraint brain_verify_log_resolved_is_stamped check ((outcome = 'pending') = (resolved_at is null))
);

create index idx_verify_log_entity on brain_verify_log (entity_name);
create index idx_verify_log_level on brain_verify_log (grounding_level, outcome);
create index idx_verify_log_created on brain_verify_log (created_at desc);

-- Judgement, calibration, graph metrics

create table brain_judgments (
  id uuid primary key default gen_random_uuid(),
  observation_a uuid not null references brain_observations(id) on delete cascade,
  observation_b uuid not null references brain_observations(id) on delete cascade,
  verdict text not null check (verdict in ('contradicts','supersedes','complementary','unrelated')),
  confidence double precision not null check (confidence between 0 and 1),
  reason text,
  judge_backend text not null,
  judge_model text,
  judged_at timestamptz not null default now(),
  unique (observation_a, observation_b),
  constraint brain_judgments_ordered check (observation_a < observation_b)
);

create index idx_judgments_b on brain_judgments (observation_b);
create index idx_judgments_verdict on brain_judgments (verdict) where verdict in ('contradicts','supersedes');

create table brain_source_trust (
  source text primary key,
  alpha double precision not null default 1 check (alpha >= 1),
  beta double precision not null default 1 check (beta >= 1),
  updated_at timestamptz not null default now()
);

insert into brain_source_trust (source) values ('agent'),('error_detection'),('user'),('consolidation'),('inference');

create table brain_calibration (
  key text primary key,
  value double precision not null,
  metadata jsonb not null default '{}',
  updated_at timestamptz not null default now()
);

create table brain_communities (
  community_id uuid primary key default gen_random_uuid(),
  community_name text not null,
  algorithm_version text not null,
  modularity_score double precision,
  detected_at timestamptz not null default now()
);

create table brain_node_metrics (
  node_id uuid primary key references brain_entities(id) on delete cascade,
  pagerank_score double precision not null default 0,
  betweenness_centrality double precision not null default 0,
  energy_score double precision not null default 0 check (energy_score <= 1),
  community_id uuid references brain_communities(community_id) on delete set null,
  last_calculated timestamptz not null default now()
);

create index idx_node_metrics_community on brain_node_metrics (community_id);
create index idx_node_pagerank on brain_node_metrics (pagerank_score desc);
create index idx_node_energy on brain_node_metrics (energy_score desc);

-- Sync

create table brain_node_identity (
  node_id uuid primary key default gen_random_uuid(),
  label text,
  created_at timestamptz not null default now(),
  only_one boolean not null default true unique check (only_one)
);

insert into brain_node_identity (label) values (nullif(current_setting('cuba.node_name', true), ''));

create table brain_tombstones (
  table_name text not null check (table_name in ('brain_entities','brain_observations','brain_episodes', 'brain_errors','brain_relations','brain_projects','brain_procedures','brain_facts','brain_artifacts')),
  row_id uuid not null,
  deleted_at timestamptz not null default now(),
  origin_node text default nullif(current_setting('cuba.node_name', true), ''),
  primary key (table_name, row_id)
);

create index idx_tombstones_deleted on brain_tombstones (deleted_at desc);

create table brain_sync_state (
  manifest_hash text primary key,
  project_id uuid references brain_projects(id) on delete set null,
  node_id uuid,
  rows_inserted integer not null default 0,
  source_path text,
  imported_at timestamptz not null default now()
);

create index idx_sync_state_imported on brain_sync_state (imported_at desc);

create table brain_sync_peers (
  name text primary key,
  url text not null,
  last_manifest_hash text,
  last_synced_at timestamptz,
  last_rows_inserted integer,
  last_error text,
  created_at timestamptz not null default now()
);

create table brain_sync_conflicts (
  id uuid primary key default gen_random_uuid(),
  observation_id uuid not null references brain_observations(id) on delete cascade,
  local_content text not null,
  incoming_content text not null,
  incoming_origin_node text,
  manifest_hash text,
  detected_at timestamptz not null default now(),
  resolved_at timestamptz,
  resolution text check (resolution is null or resolution in ('ours','theirs','both')),
  constraint brain_sync_conflicts_closed_says_how check ((resolved_at is null) = (resolution is null))
);

create unique index uq_sync_conflicts_open on brain_sync_conflicts (observation_id) where resolved_at is null;
create index idx_sync_conflicts_recent on brain_sync_conflicts (detected_at desc);

create table brain_peer_notices (
  id uuid primary key default gen_random_uuid(),
  node_id uuid,
  node_name text,
  summary text not null check (char_length(summary) between 1 and 2000),
  manifest_hash text,
  created_at timestamptz not null default now(),
  resolved_at timestamptz
);

create index idx_peer_notices_pending on brain_peer_notices (created_at desc) where resolved_at is null;
create index idx_peer_notices_hash on brain_peer_notices (manifest_hash) where resolved_at is null;

-- Audit, failures, REM cycles, principals

create table brain_audit_log (
  id bigint generated always as identity primary key,
  prev_hash bytea check (prev_hash is null or octet_length(prev_hash) = 32),
  action text not null check (action <> ''),
  payload jsonb not null default '{}',
  payload_canonical text not null default '{}',
  hash_alg text not null check (hash_alg in ('sha256','hmac-sha256')),
  current_hash bytea not null check (octet_length(current_hash) = 32),
  created_at timestamptz not null default now(),
  constraint uq_audit_chain_is_linear unique nulls not distinct (prev_hash),
  constraint brain_audit_log_canonical_matches check (payload = payload_canonical::jsonb)
);

create index idx_audit_action on brain_audit_log (action);
create index idx_audit_created on brain_audit_log (created_at desc);

create table brain_handler_failures (
  id uuid primary key default gen_random_uuid(),
  tool text not null,
  client text,
  error text not null,
  elapsed_ms integer not null check (elapsed_ms >= 0),
  created_at timestamptz not null default now()
);

create index idx_handler_failures_recent on brain_handler_failures (created_at desc);

create table brain_rem_cycles (
  id uuid primary key default gen_random_uuid(),
  started_at timestamptz not null,
  finished_at timestamptz not null,
  duration_ms bigint not null check (duration_ms >= 0),
  decayed_count bigint not null default 0,
  autolink_edges bigint not null default 0,
  embeddings_backfilled bigint not null default 0,
  entities_scanned bigint not null default 0,
  facts_extracted bigint not null default 0,
  communities bigint not null default 0,
  duplicate_candidates bigint not null default 0,
  relation_scan_failed bigint not null default 0,
  extraction_failed bigint not null default 0,
  llm_calls bigint not null default 0 check (llm_calls >= 0),
  phases jsonb not null default '{}' check (jsonb_typeof(phases) = 'object'),
  error text,
  created_at timestamptz not null default now(),
  constraint brain_rem_cycles_interval check (finished_at >= started_at)
);

create index idx_rem_cycles_recent on brain_rem_cycles (finished_at desc);

create table brain_principals (
  id uuid primary key default gen_random_uuid(),
  name text not null unique check (name not in ('', '*')),
  kind text not null default 'human' check (kind in ('human','agent','service')),
  token_hash bytea unique check (octet_length(token_hash) = 32),
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);

create table brain_grants (
  id uuid primary key default gen_random_uuid(),
  principal_id uuid not null references brain_principals(id) on delete cascade,
  project_id uuid references brain_projects(id) on delete cascade,
  role text not null check (role in ('reader','writer','admin')),
  granted_by text,
  granted_at timestamptz not null default now(),
  constraint uq_brain_grants unique nulls not distinct (principal_id, project_id, role)
);
