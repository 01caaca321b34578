-- New: which rows a `codegraph build` that still runs has written. No row changes; while one runs nobody else sees those rows.

-- A source tree is written in slices, so that nobody waits for it, and all of it shows at once: by one row here. A build that was killed leaves its row
-- open, its rows unseen and the graph of before whole; the next build of the project takes them away.
create table brain_code_builds (
  id uuid primary key,
  -- as in brain_postings: the zero uuid for code of no project
  project_key uuid not null,
  is_open boolean not null default true,
  started_at timestamptz not null default now()
);
-- kind: 1 relation, 2 observation, 3 entity: the order in which they can be taken away.
create table brain_code_pending (
  row_id uuid primary key,
  build_id uuid not null references brain_code_builds(id) on delete cascade,
  kind smallint not null check (kind between 1 and 3)
);
create index idx_code_pending_build on brain_code_pending (build_id, kind);

-- Whether any build is open, and which, is asked once a statement; only then is a row looked up, by one probe of an index. app.code_build: who builds sees
-- what it writes.
do $$
declare t record;
begin
  for t in select * from (values ('brain_entities', 'id'), ('brain_observations', 'id'), ('brain_relations', 'id'),
    ('brain_facts', 'observation_id'), ('brain_postings', 'row_id')) as v(name, key)
  loop
    execute format('create policy code_build_is_whole on %1$I as restrictive for select using (
      (select coalesce(current_setting(''app.code_build'', true), '''') <> '''' or not exists (select from brain_code_builds where is_open))
      or not exists (select from brain_code_pending as p where p.row_id = %1$I.%2$I
        and p.build_id = any (array(select b.id from brain_code_builds as b where b.is_open))))',
      t.name, t.key);
  end loop;
end $$;

-- Somebody else writes what a build has written and not shown: the name is theirs from then on, the edge as well.
create function brain_claim_pending_entity() returns trigger language plpgsql set app.code_build = 'claim' as $$
begin
  if exists (select from brain_code_builds where is_open) then
    delete from brain_code_pending as p using brain_entities as e
    where p.row_id = e.id and e.name = new.name and e.project_id is not distinct from new.project_id;
  end if;
  return new;
end $$;
create trigger brain_entities_claim before insert on brain_entities for each row
  when (coalesce(current_setting('app.code_build', true), '') = '') execute function brain_claim_pending_entity();

create function brain_claim_pending_relation() returns trigger language plpgsql set app.code_build = 'clear' as $$
begin
  if exists (select from brain_code_builds where is_open) then
    with unseen as (
      delete from brain_code_pending as p using brain_relations as r
      where p.row_id = r.id and r.from_entity = new.from_entity and r.to_entity = new.to_entity and r.relation_type = new.relation_type
      returning p.row_id
    )
    delete from brain_relations as r using unseen as u where r.id = u.row_id;
  end if;
  return new;
end $$;
create trigger brain_relations_claim before insert on brain_relations for each row
  when (coalesce(current_setting('app.code_build', true), '') = '') execute function brain_claim_pending_relation();

-- As before, and what nobody ever saw leaves no tombstone.
create or replace function brain_record_tombstone() returns trigger language plpgsql as $$
declare
  key_column text := coalesce(tg_argv[0], 'id');
  key_value text := to_jsonb(old) ->> key_column;
begin
  if current_setting('app.code_build', true) = 'clear' then
    return old;
  end if;
  if key_value is null then
    raise exception 'tombstone trigger on %: no key column %', tg_table_name, key_column;
  end if;
  insert into brain_tombstones (table_name, row_id) values (tg_table_name, key_value::uuid)
  on conflict (table_name, row_id) do update set deleted_at = now();
  return old;
end $$;
