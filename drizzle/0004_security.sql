-- New: row security on the 17 scoped and delegating tables. No data; what cuba_app may see narrows.

-- The owner of the database and our own timers stamp *; anybody else needs a grant as soon as one enabled principal exists.
create function brain_principal_can(target uuid, needed text default 'reader') returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select coalesce(current_setting('app.current_principal', true), '') = '*'
      or not exists (select from brain_principals where disabled_at is null)
      or exists (
        select from brain_principals p join brain_grants g on g.principal_id = p.id
        where p.name = nullif(current_setting('app.current_principal', true), '')
          and p.disabled_at is null
          and (g.project_id is null or g.project_id = target)
          and brain_role_rank(g.role) >= brain_role_rank(needed))
$$;

-- True where no grant decides anything. Asked once a statement: as a function of the row it cost 45 µs a row in the embedded engine.
create function brain_principal_open() returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select coalesce(current_setting('app.current_principal', true), '') = '*'
      or not exists (select from brain_principals where disabled_at is null)
$$;

do $$
declare t text;
begin
  foreach t in array array['brain_entities','brain_observations','brain_observation_chunks','brain_relations',
    'brain_episodes','brain_errors','brain_facts','brain_procedures','brain_artifacts',
    'brain_compaction_snapshots','brain_wm','brain_triggers','brain_verify_log']
  loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy tenant_isolation on %I using
      ((select brain_scope_open()) or project_id is null or project_id = (select brain_scope_project()))', t);
    execute format('create policy principal_reads on %I as restrictive for select
      using ((select brain_principal_open()) or project_id is null or brain_principal_can(project_id, ''reader''))', t);
    execute format('create policy principal_inserts on %I as restrictive for insert
      with check ((select brain_principal_open()) or project_id is null or brain_principal_can(project_id, ''writer''))', t);
    execute format('create policy principal_updates on %I as restrictive for update
      using ((select brain_principal_open()) or project_id is null or brain_principal_can(project_id, ''writer''))', t);
    execute format('create policy principal_deletes on %I as restrictive for delete
      using ((select brain_principal_open()) or project_id is null or brain_principal_can(project_id, ''writer''))', t);
  end loop;
end $$;

alter table brain_sessions enable row level security;
alter table brain_sessions force row level security;
-- The session is what changes the tenant: writing one for project B while A is stamped must work, so only reading is scoped.
create policy session_read on brain_sessions for select
  using ((select brain_scope_open()) or project_id is null or project_id = (select brain_scope_project()));
create policy session_insert on brain_sessions for insert with check (true);
create policy session_update on brain_sessions for update using (true) with check (true);
create policy session_delete on brain_sessions for delete using (true);
alter table brain_entity_aliases enable row level security;
alter table brain_entity_aliases force row level security;
create policy tenant_isolation on brain_entity_aliases
  using (exists (select from brain_entities e where e.id = entity_id));
alter table brain_sync_conflicts enable row level security;
alter table brain_sync_conflicts force row level security;
create policy tenant_isolation on brain_sync_conflicts
  using (exists (select from brain_observations o where o.id = observation_id));
alter table brain_judgments enable row level security;
alter table brain_judgments force row level security;
create policy tenant_isolation on brain_judgments
  using (exists (select from brain_observations o where o.id = observation_a)
     and exists (select from brain_observations o where o.id = observation_b));

-- Only an owner may ANALYZE; run by cuba_app the bare command is skipped with a warning and the planner stays blind.
create function brain_analyze() returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  analyze brain_observations, brain_entities, brain_relations, brain_observation_chunks, brain_episodes, brain_errors, brain_facts;
end $$;
