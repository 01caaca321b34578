-- New: where bundles were exported, which ids were merged into which, and artifact texts that a newer clock replaced. No data.

create table brain_sync_exports (
  directory text primary key check (directory <> ''),
  manifest_hash text not null,
  exported_at timestamptz not null default now()
);

create table brain_sync_id_aliases (
  table_name text not null check (table_name in ('brain_projects','brain_entities','brain_procedures','brain_relations')),
  old_id uuid not null,
  new_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (table_name, old_id),
  constraint brain_sync_id_aliases_differ check (old_id <> new_id)
);

create index idx_sync_id_aliases_new on brain_sync_id_aliases (table_name, new_id);

create table brain_artifact_versions (
  artifact_id uuid not null references brain_artifacts(id) on delete cascade,
  version bigint not null check (version >= 1),
  content text not null,
  content_hash text not null check (content_hash ~ '^[0-9a-f]{64}$'),
  origin_node text,
  crdt_actor text,
  crdt_counter bigint not null check (crdt_counter >= 1),
  replaced_at timestamptz not null default now(),
  primary key (artifact_id, crdt_counter, content_hash)
);

alter table brain_artifact_versions enable row level security;
alter table brain_artifact_versions force row level security;
create policy tenant_isolation on brain_artifact_versions using (exists (select from brain_artifacts a where a.id = artifact_id));
