-- New: the project that a client switched to, or whose root it posted, so that a restart of the daemon does not lose it. No row changes.

-- Control plane, like sessions: client_key is <machine>/<bind key> as there, so two machines on one database share nothing. A client that leaves takes its
-- rows along; those of one that was killed are a day old at most. Merging projects moves them, deleting one deletes them.
create table brain_client_projects (
  client_key text not null,
  source text not null check (source in ('switch', 'root')),
  project_id uuid not null references brain_projects(id) on delete cascade,
  last_seen_at timestamptz not null default now(),
  primary key (client_key, source)
);
create index idx_client_projects_project on brain_client_projects (project_id);

alter table brain_client_projects enable row level security;
alter table brain_client_projects force row level security;
-- Whoever works in project A may switch to B: only reading is scoped.
create policy client_read on brain_client_projects for select
  using ((select brain_scope_open()) or project_id = (select brain_scope_project()));
create policy client_insert on brain_client_projects for insert with check (true);
create policy client_update on brain_client_projects for update using (true) with check (true);
create policy client_delete on brain_client_projects for delete using (true);
