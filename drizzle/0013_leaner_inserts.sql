-- Changes: what an insert pays for and nobody uses goes (four indexes), and what it computed several times it computes once. No row changes.

-- Trigrams and tags under GIN: under row security an operator that is not leakproof (%, @>, ilike) may not use an index (decision 0080), and nothing
-- asks for texts or tags as the owner. The trigrams of one text were 120 records of the log and a fifth of an insert.
drop index idx_obs_trgm;
drop index idx_obs_tags;
drop index idx_episodes_trgm;
drop index idx_entity_alias_trgm;

-- The same marks as before. `offset 0` keeps the planner from writing the folding of the text three times, once a mark.
create or replace function brain_text_marks(content text, out words_mark bigint, out head_mark bigint, out tail_mark bigint)
language sql immutable strict parallel safe as $$
  select hashtextextended(translate(folded, 'anthelosu', ''), 0), hashtextextended(left(folded, 12), 0), hashtextextended(right(folded, 12), 0)
  from (select regexp_replace(lower(normalize(content, nfkc)), '[^[:alnum:]]+', '', 'g') as folded offset 0) as f
$$;

-- The owner and our own timers stamp * and need no grant. Asked first, and without the change of identity and search path that
-- brain_principal_open costs, which every table of every statement paid.
create function brain_principal_everybody() returns boolean
language sql stable parallel safe as $$ select coalesce(current_setting('app.current_principal', true), '') = '*' $$;

do $$
declare p record;
begin
  for p in
    select tablename, policyname, qual, with_check from pg_policies
    where schemaname = 'public' and (qual like '%brain_principal_open()%' or with_check like '%brain_principal_open()%')
    order by tablename, policyname
  loop
    if p.qual is not null then
      execute format('alter policy %I on %I using ((select brain_principal_everybody()) or %s)', p.policyname, p.tablename, p.qual);
    end if;
    if p.with_check is not null then
      execute format('alter policy %I on %I with check ((select brain_principal_everybody()) or %s)', p.policyname, p.tablename, p.with_check);
    end if;
  end loop;
end $$;

-- The totals are counted in the trigger's own statement: as a function of its own they were planned for each insert before PostgreSQL 18.
create or replace function brain_index_new_observations() returns trigger language plpgsql as $$
begin
  with fresh as (
    select n.id, brain_project_key(n.project_id) as key, n.search_vector as own, e.search_vector as name,
           n.lexical_length + coalesce(e.lexical_length, 0) as words
    from new_rows as n left join brain_entities as e on e.id = n.entity_id
    where n.trust = 'trusted' and n.observation_type <> 'superseded'
  ), counted as (
    insert into brain_posting_totals as t (kind, project_key, slot, row_count, word_count, changes)
    select 1, f.key, pg_backend_pid() % 64, count(*), sum(f.words), 1 from fresh as f where f.words > 0 group by f.key
    on conflict (kind, project_key, slot) do update
    set row_count = t.row_count + excluded.row_count, word_count = t.word_count + excluded.word_count, changes = t.changes + 1
  )
  insert into brain_postings (term, kind, project_key, row_id, tf, length)
  select w.term, 1, f.key, f.id, w.tf, f.words
  from fresh as f cross join lateral brain_words_of(f.own, f.name) as w
  where f.words > 0;
  return null;
end $$;
