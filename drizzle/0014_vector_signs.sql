-- New: the signs of every vector in a narrow table, filled from the vectors that are there, where a model has at least 64. No text or vector changes.

-- A vector of 384 numbers lies outside of its row, and reading 10,000 of them costs three times what comparing them does. The signs of a vector minus
-- the mean of all (uncentred signs lose a third of the nearest rows) are 48 bytes; the rows nearest by them are then compared exactly (decision 0130).
--   center  which model made the vector, and around which mean its signs were taken
--   kind    1 observation, 4 episode (the numbers of brain_postings), 5 a piece of a long observation
-- Only what search may serve is here, as in brain_postings.
create table brain_vector_centers (
  id integer primary key generated always as identity,
  label text not null unique,
  -- An array and not a vector: a vector column would have to have the width of the running model.
  mean real[] not null,
  -- Vectors of the model when the mean was taken.
  fitted_rows bigint not null
);

create table brain_vector_signs (
  center integer not null,
  kind smallint not null check (kind in (1, 4, 5)),
  project_key uuid not null,
  row_id uuid not null,
  -- Quoted, the type has no length of its own.
  signs "bit" not null,
  primary key (center, kind, project_key, row_id) include (signs)
);

alter table brain_vector_signs enable row level security;
alter table brain_vector_signs force row level security;
create policy tenant_isolation on brain_vector_signs using ((select brain_scope_open())
  or project_key = '00000000-0000-0000-0000-000000000000' or project_key = (select brain_scope_project()));
create policy principal_reads on brain_vector_signs as restrictive for select using ((select brain_principal_open())
  or project_key = '00000000-0000-0000-0000-000000000000' or brain_principal_can(project_key, 'reader'));

-- Held shared by whoever stores a vector, alone by whoever takes a new mean: else a vector stored meanwhile would have no signs, or those of the old mean.
create function brain_center_lock() returns bigint language sql immutable parallel safe as $$ select 7217340051::bigint $$;

create function brain_drop_signs(of_kind smallint, of_project uuid, of_id uuid) returns void language sql as $$
  delete from brain_vector_signs as s using brain_vector_centers as c
  where s.center = c.id and s.kind = of_kind and s.project_key = brain_project_key(of_project) and s.row_id = of_id
$$;

-- A trigger may not name a vector column: its width could not be changed then. A vector is written together with its model's label, so that column speaks
-- for both.

-- Nothing for a model that has no mean yet; brain_fit_vectors brings what was left out.
create function brain_put_signs(of_kind smallint, of_project uuid, of_id uuid, of_vector vector, of_label text) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(brain_center_lock());
  insert into brain_vector_signs (center, kind, project_key, row_id, signs)
  select c.id, of_kind, brain_project_key(of_project), of_id, binary_quantize(of_vector - c.mean::vector)
  from brain_vector_centers as c
  where c.label = of_label and of_vector is not null and vector_dims(of_vector) = cardinality(c.mean)
  on conflict (center, kind, project_key, row_id) do update set signs = excluded.signs;
end $$;

create function brain_sign_observation() returns trigger language plpgsql as $$
declare
  was_served boolean := tg_op <> 'INSERT' and old.trust = 'trusted' and old.observation_type <> 'superseded';
  is_served boolean := tg_op <> 'DELETE' and new.trust = 'trusted' and new.observation_type <> 'superseded';
begin
  if was_served then
    perform brain_drop_signs(1::smallint, old.project_id, old.id);
  end if;
  if is_served then
    perform brain_put_signs(1::smallint, new.project_id, new.id, new.embedding, new.embedding_model);
  end if;
  -- Its pieces are served as it is; with the row itself they go by their own trigger.
  if tg_op = 'UPDATE' and was_served <> is_served then
    perform case when is_served then brain_put_signs(5::smallint, c.project_id, c.id, c.embedding, c.embedding_model)
                 else brain_drop_signs(5::smallint, c.project_id, c.id) end
    from brain_observation_chunks as c where c.observation_id = new.id and c.embedding is not null;
  end if;
  return null;
end $$;
create trigger brain_observations_signs_insert after insert on brain_observations for each row
  when (new.embedding_model is not null) execute function brain_sign_observation();
create trigger brain_observations_signs_update
  after update of content, embedding_model, trust, observation_type, project_id on brain_observations for each row
  when (old.embedding_model is not null or new.embedding_model is not null)
  execute function brain_sign_observation();
create trigger brain_observations_signs_delete after delete on brain_observations for each row
  when (old.embedding_model is not null) execute function brain_sign_observation();

create function brain_sign_chunk() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    perform brain_drop_signs(5::smallint, old.project_id, old.id);
  end if;
  if tg_op <> 'DELETE' then
    perform brain_put_signs(5::smallint, new.project_id, new.id, new.embedding, new.embedding_model)
    from brain_observations as o where o.id = new.observation_id and o.trust = 'trusted' and o.observation_type <> 'superseded';
  end if;
  return null;
end $$;
create trigger brain_observation_chunks_signs_insert after insert on brain_observation_chunks for each row
  when (new.embedding_model is not null) execute function brain_sign_chunk();
create trigger brain_observation_chunks_signs_update
  after update of embedding_model, project_id on brain_observation_chunks for each row
  when (old.embedding_model is not null or new.embedding_model is not null)
  execute function brain_sign_chunk();
create trigger brain_observation_chunks_signs_delete after delete on brain_observation_chunks for each row
  when (old.embedding_model is not null) execute function brain_sign_chunk();

create function brain_sign_episode() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    perform brain_drop_signs(4::smallint, old.project_id, old.id);
  end if;
  if tg_op <> 'DELETE' and new.trust = 'trusted' then
    perform brain_put_signs(4::smallint, new.project_id, new.id, new.embedding, new.embedding_model);
  end if;
  return null;
end $$;
create trigger brain_episodes_signs_insert after insert on brain_episodes for each row
  when (new.embedding_model is not null) execute function brain_sign_episode();
create trigger brain_episodes_signs_update after update of content, embedding_model, trust, project_id on brain_episodes for each row
  when (old.embedding_model is not null or new.embedding_model is not null)
  execute function brain_sign_episode();
create trigger brain_episodes_signs_delete after delete on brain_episodes for each row
  when (old.embedding_model is not null) execute function brain_sign_episode();

-- Every vector of a model that search may serve, with the key under which its signs belong.
create function brain_served_vectors(of_label text) returns table (kind smallint, project_key uuid, id uuid, embedding vector)
language sql stable as $$
  select 1::smallint, brain_project_key(o.project_id), o.id, o.embedding from brain_observations as o
  where o.embedding_model = of_label and o.trust = 'trusted' and o.observation_type <> 'superseded'
  union all
  select 5, brain_project_key(c.project_id), c.id, c.embedding
  from brain_observation_chunks as c join brain_observations as o on o.id = c.observation_id
  where c.embedding_model = of_label and o.trust = 'trusted' and o.observation_type <> 'superseded'
  union all
  select 4, brain_project_key(e.project_id), e.id, e.embedding from brain_episodes as e
  where e.embedding_model = of_label and e.trust = 'trusted'
$$;

-- Takes the mean of a sample of a model's vectors and signs all of them anew. Models without a vector are forgotten. Sees what its caller sees:
-- to be called without a scope. Answers how many vectors have signs.
create function brain_fit_vectors(of_label text, sample integer) returns bigint language plpgsql as $$
declare
  of_mean real[];
  of_center integer;
  signed bigint;
begin
  perform pg_advisory_xact_lock(brain_center_lock());
  select avg(v.embedding)::real[] into of_mean
  from (select s.embedding from brain_served_vectors(of_label) as s limit sample) as v;
  delete from brain_vector_signs as s using brain_vector_centers as c where s.center = c.id and c.label = of_label;
  if of_mean is null then
    signed := 0;
  else
    insert into brain_vector_centers (label, mean, fitted_rows) values (of_label, of_mean, 0)
    on conflict (label) do update set mean = excluded.mean
    returning id into of_center;
    insert into brain_vector_signs (center, kind, project_key, row_id, signs)
    select of_center, v.kind, v.project_key, v.id, binary_quantize(v.embedding - of_mean::vector) from brain_served_vectors(of_label) as v;
    get diagnostics signed = row_count;
    update brain_vector_centers set fitted_rows = signed where id = of_center;
  end if;
  delete from brain_vector_centers as c where not exists (select from brain_vector_signs as s where s.center = c.id);
  return signed;
end $$;

do $$ begin
  perform brain_fit_vectors(m.label, 2000)
  from (
    select v.label from (
      select embedding_model as label from brain_observations union all select embedding_model from brain_observation_chunks
      union all select embedding_model from brain_episodes
    ) as v where v.label is not null group by v.label having count(*) >= 64
  ) as m;
end $$;
