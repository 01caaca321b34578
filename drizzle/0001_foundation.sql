-- New: the extensions vector and pg_trgm, the roles cuba_admin and cuba_app, and the word count that generated columns use. No data.

create extension if not exists vector;
create extension if not exists pg_trgm;

-- Roles belong to the server, not to the database. A managed server may refuse to make or alter them: the product then runs
-- without the second wall and says so (doctor), so each refusal is a warning here.
do $$ begin
  if not exists (select from pg_roles where rolname = 'cuba_admin') then create role cuba_admin nologin; end if;
  if not exists (select from pg_roles where rolname = 'cuba_app') then create role cuba_app login; end if;
exception when insufficient_privilege then
  raise warning 'the roles cuba_admin and cuba_app were not created: %', sqlerrm;
end $$;
do $$ begin
  if exists (select from pg_roles where rolname = 'cuba_app' and (rolsuper or rolbypassrls or rolcreatedb or rolcreaterole or rolreplication)) then
    alter role cuba_app nosuperuser nobypassrls nocreatedb nocreaterole noreplication;
  end if;
exception when insufficient_privilege then
  raise warning 'the role cuba_app keeps rights that it should not have: %', sqlerrm;
end $$;

-- The document length of BM25: occurrences, not distinct lexemes.
create function brain_word_count(v tsvector) returns integer
language sql immutable strict parallel safe as $$
  select coalesce(sum(cardinality(positions)), 0)::int from unnest(v) as t(lexeme, positions, weights)
$$;
