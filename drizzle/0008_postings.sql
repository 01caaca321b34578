-- New: the inverted index of BM25 (which row has which word how often), filled from the rows that are there. No text changes, no clock moves.

-- A table and not the GIN index over search_vector: under row security an operator that is not leakproof (@@, %, @>) may not use an index, so
-- full text read the whole table; equality on a word is leakproof (decision 0080). The four GIN indexes that could never be used go.
--   kind         1 observation, 2 entity, 3 error, 4 episode
--   project_key  the row's project; the zero uuid for rows of no project, so that one index range holds each
--   tf           how often the row has the word; for observations and episodes the entity's name counts as part of the text
--   length       words of the row, repetitions included
-- Only what search may serve is here: trusted rows, and of observations those that are not superseded.
create table brain_postings (
  term text collate "C" not null,
  kind smallint not null check (kind between 1 and 4),
  project_key uuid not null,
  row_id uuid not null,
  tf smallint not null check (tf > 0),
  length integer not null check (length > 0),
  primary key (term, kind, project_key, row_id) include (tf, length)
);

-- Rows and words of each kind and project: N and the mean length of BM25 without counting. Several slots, so that connections that write at the
-- same time do not wait for one row; the sum over the slots is the value. changes rises with every change: who remembers something sees it is old.
create table brain_posting_totals (
  kind smallint not null check (kind between 1 and 4),
  project_key uuid not null,
  slot smallint not null,
  row_count bigint not null,
  word_count bigint not null,
  changes bigint not null,
  primary key (kind, project_key, slot)
);

create function brain_project_key(project_id uuid) returns uuid
language sql immutable parallel safe as $$ select coalesce(project_id, '00000000-0000-0000-0000-000000000000'::uuid) $$;

do $$
declare t text;
begin
  foreach t in array array['brain_postings', 'brain_posting_totals'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy tenant_isolation on %I using ((select brain_scope_open())
      or project_key = ''00000000-0000-0000-0000-000000000000'' or project_key = (select brain_scope_project()))', t);
    execute format('create policy principal_reads on %I as restrictive for select using ((select brain_principal_open())
      or project_key = ''00000000-0000-0000-0000-000000000000'' or brain_principal_can(project_key, ''reader''))', t);
  end loop;
end $$;

-- The words of one row: its own and, where it hangs from an entity, those of the entity's name.
create function brain_words_of(own tsvector, name tsvector) returns table (term text, tf smallint)
language sql immutable parallel safe as $$
  select w.lexeme, least(sum(cardinality(w.positions)), 32767)::smallint
  from (select * from unnest(own) union all select * from unnest(coalesce(name, ''::tsvector))) as w
  group by w.lexeme
$$;

create function brain_count_postings(of_kind smallint, key uuid, more_rows bigint, more_words bigint) returns void
language sql as $$
  insert into brain_posting_totals as t (kind, project_key, slot, row_count, word_count, changes)
  values (of_kind, key, pg_backend_pid() % 64, more_rows, more_words, 1)
  on conflict (kind, project_key, slot) do update
  set row_count = t.row_count + excluded.row_count, word_count = t.word_count + excluded.word_count, changes = t.changes + 1
$$;

create function brain_put_postings(of_kind smallint, project_id uuid, id uuid, own tsvector, name tsvector) returns void
language plpgsql as $$
declare
  words integer := brain_word_count(own) + coalesce(brain_word_count(name), 0);
begin
  if words = 0 then
    return;
  end if;
  insert into brain_postings (term, kind, project_key, row_id, tf, length)
  select w.term, of_kind, brain_project_key(project_id), id, w.tf, words from brain_words_of(own, name) as w;
  perform brain_count_postings(of_kind, brain_project_key(project_id), 1, words);
end $$;

-- Does nothing for a row that is not indexed, so it can be called twice.
create function brain_drop_postings(of_kind smallint, project_id uuid, id uuid, own tsvector, name tsvector) returns void
language plpgsql as $$
declare
  words integer;
begin
  with gone as (
    delete from brain_postings as p using brain_words_of(own, name) as w
    where p.term = w.term and p.kind = of_kind and p.project_key = brain_project_key(project_id) and p.row_id = id
    returning p.length)
  select max(length) into words from gone;
  if words is not null then
    perform brain_count_postings(of_kind, brain_project_key(project_id), -1, -words);
  end if;
end $$;

create function brain_name_words(id uuid) returns tsvector
language sql stable as $$ select e.search_vector from brain_entities as e where e.id = $1 $$;

-- Inserts are indexed by statement: a bundle of thousands of rows is one insert here too.
create function brain_index_new_observations() returns trigger language plpgsql as $$
begin
  with fresh as (
    select n.id, brain_project_key(n.project_id) as key, n.search_vector as own, e.search_vector as name,
           n.lexical_length + coalesce(e.lexical_length, 0) as words
    from new_rows as n left join brain_entities as e on e.id = n.entity_id
    where n.trust = 'trusted' and n.observation_type <> 'superseded'
  ), counted as (
    select brain_count_postings(1::smallint, t.key, t.row_count, t.word_count)
    from (select key, count(*) as row_count, sum(words) as word_count from fresh where words > 0 group by key) as t
  )
  insert into brain_postings (term, kind, project_key, row_id, tf, length)
  select w.term, 1, f.key, f.id, w.tf, f.words
  from fresh as f cross join lateral brain_words_of(f.own, f.name) as w
  where (select count(*) from counted) >= 0;
  return null;
end $$;
create trigger brain_observations_postings_insert after insert on brain_observations
  referencing new table as new_rows for each statement execute function brain_index_new_observations();

create function brain_index_observation() returns trigger language plpgsql as $$
begin
  if old.trust = 'trusted' and old.observation_type <> 'superseded' then
    perform brain_drop_postings(1::smallint, old.project_id, old.id, old.search_vector, brain_name_words(old.entity_id));
  end if;
  if tg_op = 'UPDATE' and new.trust = 'trusted' and new.observation_type <> 'superseded' then
    perform brain_put_postings(1::smallint, new.project_id, new.id, new.search_vector, brain_name_words(new.entity_id));
  end if;
  return null;
end $$;
create trigger brain_observations_postings_update
  after update of content, lexical, trust, observation_type, project_id, entity_id on brain_observations for each row
  when ((old.trust, old.observation_type = 'superseded', old.project_id, old.entity_id, old.search_vector)
    is distinct from (new.trust, new.observation_type = 'superseded', new.project_id, new.entity_id, new.search_vector))
  execute function brain_index_observation();
create trigger brain_observations_postings_delete after delete on brain_observations
  for each row execute function brain_index_observation();

create function brain_index_episode() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.trust = 'trusted' then
    perform brain_drop_postings(4::smallint, old.project_id, old.id, old.search_vector, brain_name_words(old.entity_id));
  end if;
  if tg_op <> 'DELETE' and new.trust = 'trusted' then
    perform brain_put_postings(4::smallint, new.project_id, new.id, new.search_vector, brain_name_words(new.entity_id));
  end if;
  return null;
end $$;
create trigger brain_episodes_postings_insert after insert or delete on brain_episodes for each row execute function brain_index_episode();
create trigger brain_episodes_postings_update
  after update of content, lexical, trust, project_id, entity_id on brain_episodes for each row
  when ((old.trust, old.project_id, old.entity_id, old.search_vector) is distinct from (new.trust, new.project_id, new.entity_id, new.search_vector))
  execute function brain_index_episode();

create function brain_index_error() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.trust = 'trusted' then
    perform brain_drop_postings(3::smallint, old.project_id, old.id, old.search_vector, null);
  end if;
  if tg_op <> 'DELETE' and new.trust = 'trusted' then
    perform brain_put_postings(3::smallint, new.project_id, new.id, new.search_vector, null);
  end if;
  return null;
end $$;
create trigger brain_errors_postings_insert after insert or delete on brain_errors for each row execute function brain_index_error();
create trigger brain_errors_postings_update
  after update of error_type, error_message, solution, lexical, trust, project_id on brain_errors for each row
  when ((old.trust, old.project_id, old.search_vector) is distinct from (new.trust, new.project_id, new.search_vector))
  execute function brain_index_error();

-- An entity's name is part of the text of what hangs from it, so a rename indexes those rows again. Before a deletion they are taken out while
-- the name is still known: their own triggers run after the entity is gone, and then find nothing.
create function brain_index_entity() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform brain_put_postings(2::smallint, new.project_id, new.id, new.search_vector, null);
    return null;
  end if;
  perform brain_drop_postings(2::smallint, old.project_id, old.id, old.search_vector, null);
  if tg_op = 'DELETE' or old.search_vector is distinct from new.search_vector then
    perform brain_drop_postings(1::smallint, o.project_id, o.id, o.search_vector, old.search_vector)
    from brain_observations as o where o.entity_id = old.id and o.trust = 'trusted' and o.observation_type <> 'superseded';
    perform brain_drop_postings(4::smallint, x.project_id, x.id, x.search_vector, old.search_vector)
    from brain_episodes as x where x.entity_id = old.id and x.trust = 'trusted';
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  perform brain_put_postings(2::smallint, new.project_id, new.id, new.search_vector, null);
  if old.search_vector is distinct from new.search_vector then
    perform brain_put_postings(1::smallint, o.project_id, o.id, o.search_vector, new.search_vector)
    from brain_observations as o where o.entity_id = new.id and o.trust = 'trusted' and o.observation_type <> 'superseded';
    perform brain_put_postings(4::smallint, x.project_id, x.id, x.search_vector, new.search_vector)
    from brain_episodes as x where x.entity_id = new.id and x.trust = 'trusted';
  end if;
  return null;
end $$;
create trigger brain_entities_postings_insert after insert on brain_entities for each row execute function brain_index_entity();
create trigger brain_entities_postings_update
  after update of name, entity_type, lexical, project_id on brain_entities for each row
  when ((old.project_id, old.search_vector) is distinct from (new.project_id, new.search_vector))
  execute function brain_index_entity();
create trigger brain_entities_postings_delete before delete on brain_entities for each row execute function brain_index_entity();

do $$ begin
  perform brain_put_postings(2::smallint, project_id, id, search_vector, null) from brain_entities;
  perform brain_put_postings(1::smallint, project_id, id, search_vector, brain_name_words(entity_id)) from brain_observations
  where trust = 'trusted' and observation_type <> 'superseded';
  perform brain_put_postings(3::smallint, project_id, id, search_vector, null) from brain_errors where trust = 'trusted';
  perform brain_put_postings(4::smallint, project_id, id, search_vector, brain_name_words(entity_id)) from brain_episodes where trust = 'trusted';
end $$;

drop index idx_obs_active_search;
drop index idx_entities_search;
drop index idx_errors_search;
drop index idx_episodes_search;
