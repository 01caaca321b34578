-- New: the 13 tables of MemCube with their row security. No data.

create table brain_cubes (
  cube_id uuid primary key default gen_random_uuid(),
  name text not null unique check (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
  owner text not null,
  project_id uuid references brain_projects(id) on delete restrict,
  config jsonb not null check (jsonb_typeof(config) = 'object'),
  revision integer not null default 0 check (revision >= 0),
  head_hash text,
  generation bigint not null default 0 check (generation >= 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table brain_cube_sources (
  cube_id uuid not null references brain_cubes(cube_id) on delete cascade,
  uri text not null check (uri <> ''),
  resolved text,
  content_hash text not null,
  signature_key text,
  pulled_at timestamptz not null default now(),
  project_id uuid references brain_projects(id) on delete restrict,
  primary key (cube_id, uri)
);

create table brain_cube_tombstones (
  cube_id uuid not null references brain_cubes(cube_id) on delete cascade,
  slot text not null,
  item_id uuid not null,
  deleted_at timestamptz not null default now(),
  project_id uuid references brain_projects(id) on delete restrict,
  primary key (cube_id, slot, item_id)
);

create table brain_item_tiers (
  cube_id uuid not null references brain_cubes(cube_id) on delete cascade,
  item_id uuid not null,
  tier text not null check (tier in ('WorkingMemory','LongTermMemory','UserMemory','RawFileMemory','OuterMemory','ToolSchemaMemory','ToolTrajectoryMemory','SkillMemory','PreferenceMemory','Context')),
  pinned boolean not null default false,
  entered_at timestamptz not null default now(),
  last_used_at timestamptz,
  uses integer not null default 0 check (uses >= 0),
  project_id uuid references brain_projects(id) on delete restrict,
  primary key (cube_id, item_id)
);

create index idx_item_tiers_item on brain_item_tiers (item_id);
create index idx_item_tiers_tier on brain_item_tiers (cube_id, tier);

create table brain_item_sources (
  item_id uuid not null,
  ord integer not null check (ord >= 0),
  type text,
  role text,
  chat_time timestamptz,
  message_id text,
  doc_path text,
  url text,
  content text,
  content_sha256 text,
  extra jsonb not null default '{}',
  project_id uuid references brain_projects(id) on delete restrict,
  primary key (item_id, ord)
);

create table brain_item_versions (
  item_id uuid not null,
  version integer not null check (version >= 1),
  memory text not null,
  metadata jsonb not null default '{}',
  update_type text not null default 'unrelated' check (update_type in ('conflict','duplicate','extract','unrelated','feedback')),
  replaced_by uuid,
  at timestamptz not null default now(),
  actor text,
  project_id uuid references brain_projects(id) on delete restrict,
  primary key (item_id, version, at)
);

create table brain_cube_flat (
  cube_id uuid not null references brain_cubes(cube_id) on delete cascade,
  id uuid not null default gen_random_uuid(),
  memory text not null check (memory <> ''),
  metadata jsonb not null default '{}',
  hash text not null,
  version integer not null default 1 check (version >= 1),
  trust text not null default 'trusted' check (trust in ('trusted','quarantined')),
  lexical text,
  search_vector tsvector generated always as (to_tsvector('simple', coalesce(lexical, memory))) stored,
  lexical_length integer not null generated always as (brain_word_count(to_tsvector('simple', coalesce(lexical, memory)))) stored,
  embedding vector(384),
  embedding_model text,
  project_id uuid references brain_projects(id) on delete restrict,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (cube_id, id),
  constraint brain_cube_flat_vector_has_a_model check ((embedding is null) = (embedding_model is null))
);

create index idx_cube_flat_search on brain_cube_flat using gin (search_vector) with (fastupdate = off);

create table brain_cube_kv (
  id uuid primary key default gen_random_uuid(),
  cube_id uuid not null references brain_cubes(cube_id) on delete cascade,
  parent_id uuid references brain_cube_kv(id) on delete cascade,
  key text not null unique,
  model_fp text not null,
  tokenizer_fp text not null,
  adapter_fp text not null default 'none',
  tokens integer not null check (tokens > 0),
  base_offset integer not null default 0 check (base_offset >= 0),
  dtype text not null check (dtype in ('float32','float16')),
  geometry jsonb not null,
  bytes bigint not null check (bytes >= 0),
  file_sha256 text,
  records jsonb not null default '{}',
  state text not null default 'ready' check (state in ('ready','stale','cold','quarantined')),
  pinned boolean not null default false,
  uses integer not null default 0 check (uses >= 0),
  last_used_at timestamptz,
  check_result jsonb,
  project_id uuid references brain_projects(id) on delete restrict,
  created_at timestamptz not null default now(),
  constraint brain_cube_kv_cold_has_no_file check (state = 'cold' or file_sha256 is not null)
);

create table brain_cube_prompts (
  id uuid primary key default gen_random_uuid(),
  cube_id uuid not null references brain_cubes(cube_id) on delete cascade,
  backend text not null check (backend in ('vllm_kv_cache','llamacpp_slot')),
  messages jsonb not null check (jsonb_typeof(messages) = 'array'),
  prefix_sha256 text not null,
  server jsonb not null default '{}',
  salt_ref text,
  state text not null default 'cold' check (state in ('warm','stale','cold','ineffective')),
  last_warm_at timestamptz,
  last_probe jsonb,
  project_id uuid references brain_projects(id) on delete restrict,
  created_at timestamptz not null default now(),
  unique (cube_id, backend, prefix_sha256)
);

create table brain_cube_adapters (
  id uuid primary key default gen_random_uuid(),
  cube_id uuid not null references brain_cubes(cube_id) on delete cascade,
  name text not null check (name <> ''),
  base jsonb not null,
  config jsonb not null,
  modules jsonb not null,
  weight double precision not null default 1,
  file_sha256 text not null,
  provenance jsonb not null default '{}',
  state text not null default 'imported' check (state in ('imported','validated','unproven','proven','tainted')),
  enabled boolean not null default false,
  project_id uuid references brain_projects(id) on delete restrict,
  created_at timestamptz not null default now(),
  unique (cube_id, name),
  constraint brain_cube_adapters_tainted_is_off check (not (enabled and state in ('imported','tainted')))
);

create table brain_preferences (
  id uuid primary key default gen_random_uuid(),
  cube_id uuid not null references brain_cubes(cube_id) on delete cascade,
  subject text not null,
  kind text not null check (kind in ('explicit','implicit')),
  statement text not null check (char_length(statement) between 1 and 2000),
  topic text,
  attribute text,
  value text,
  polarity text not null default 'prefer' check (polarity in ('prefer','avoid','must','must_not')),
  scope_level text not null default 'global' check (scope_level in ('global','project','path','language')),
  scope_key text,
  context_summary text,
  reasoning text,
  confidence double precision not null check (confidence between 0 and 1),
  supports integer not null default 0 check (supports >= 0),
  contras integer not null default 0 check (contras >= 0),
  status text not null check (status in ('active','contested','superseded','archived','deleted')),
  valid_from timestamptz not null default now(),
  valid_to timestamptz,
  version integer not null default 1 check (version >= 1),
  superseded_by uuid references brain_preferences(id) on delete set null,
  hash text not null,
  observation_id uuid references brain_observations(id) on delete set null,
  embedding vector(384),
  embedding_model text,
  project_id uuid references brain_projects(id) on delete restrict,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint brain_preferences_interval check (valid_to is null or valid_from <= valid_to),
  constraint brain_preferences_scope_has_a_key check ((scope_level = 'global') = (scope_key is null)),
  constraint brain_preferences_vector_has_a_model check ((embedding is null) = (embedding_model is null))
);

create index idx_preferences_subject on brain_preferences (subject, topic) where status = 'active';
create index idx_preferences_observation on brain_preferences (observation_id);

create table brain_preference_sources (
  id uuid primary key default gen_random_uuid(),
  pref_id uuid not null references brain_preferences(id) on delete cascade,
  dialog_id text,
  session_id uuid references brain_sessions(id) on delete set null,
  message_ids text[] not null default '{}',
  role text not null,
  excerpt text not null,
  excerpt_sha256 text not null,
  at timestamptz not null default now(),
  stance text not null check (stance in ('supports','contradicts')),
  project_id uuid references brain_projects(id) on delete restrict
);

create index idx_preference_sources_pref on brain_preference_sources (pref_id);

create table brain_preference_history (
  pref_id uuid not null references brain_preferences(id) on delete cascade,
  version integer not null check (version >= 1),
  statement text not null,
  value text,
  status text not null,
  update_type text not null,
  reason text,
  at timestamptz not null default now(),
  actor text,
  cause_pref_id uuid,
  project_id uuid references brain_projects(id) on delete restrict,
  primary key (pref_id, version, at)
);

do $$
declare t text;
begin
  foreach t in array array['brain_cubes','brain_cube_sources','brain_cube_tombstones','brain_item_tiers','brain_item_sources','brain_item_versions','brain_cube_flat',
    'brain_cube_kv','brain_cube_prompts','brain_cube_adapters','brain_preferences','brain_preference_sources','brain_preference_history']
  loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy tenant_isolation on %I using
      ((select brain_scope_open()) or project_id is null or project_id = (select brain_scope_project()))', t);
    execute format('create policy principal_reads on %I as restrictive for select
      using (project_id is null or brain_principal_can(project_id, ''reader''))', t);
    execute format('create policy principal_inserts on %I as restrictive for insert
      with check (project_id is null or brain_principal_can(project_id, ''writer''))', t);
    execute format('create policy principal_updates on %I as restrictive for update
      using (project_id is null or brain_principal_can(project_id, ''writer''))', t);
    execute format('create policy principal_deletes on %I as restrictive for delete
      using (project_id is null or brain_principal_can(project_id, ''writer''))', t);
  end loop;
end $$;
