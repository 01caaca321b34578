-- New: functions and triggers (semantic clock, stale words, tombstones, caps, audit guard). Rows change only from here on.

-- Absent, empty and * all mean "no project filter": a transaction-local set_config leaves an empty text behind, not NULL.
create function brain_scope_open() returns boolean
language sql stable parallel safe as $$
  select coalesce(current_setting('app.current_project', true), '') in ('', '*')
$$;

-- A malformed scope is NULL and therefore fails closed: only unscoped rows are visible.
create function brain_scope_project() returns uuid
language sql stable parallel safe as $$
  select case when s ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then s::uuid end
  from (select current_setting('app.current_project', true)) as v(s)
$$;

create function brain_role_rank(role_name text) returns int
language sql immutable parallel safe as $$
  select case role_name when 'reader' then 1 when 'writer' then 2 when 'admin' then 3 else 0 end
$$;

-- OR of the lexemes of a prepared query. Only lexemes get in, each quoted, so no text can inject an operator.
create function cuba_or_tsquery(txt text) returns tsquery
language sql immutable strict parallel safe as $$
  select coalesce(
    (select string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')
       from unnest(tsvector_to_array(to_tsvector('simple', txt))) as t(lexeme))::tsquery,
    ''::tsquery)
$$;

-- The only way history is written: appends an array of entries and keeps the newest cap of them, in order.
create function brain_append_version(history jsonb, entry jsonb, cap int default 20) returns jsonb
language sql immutable parallel safe as $$
  with joined as (
    select elem, pos, count(*) over () as total
    from jsonb_array_elements(coalesce(history, '[]'::jsonb) || coalesce(entry, '[]'::jsonb))
         with ordinality as a(elem, pos))
  select coalesce(jsonb_agg(elem order by pos) filter (where pos > total - greatest(cap, 1)), '[]'::jsonb)
  from joined
$$;

-- One semantic clock a row. Decay, access counts and re-embedding never tick; application code cannot set it; an import only moves it forward.
create function brain_observation_clock() returns trigger language plpgsql as $$
declare
  importing boolean := coalesce(current_setting('app.sync_import', true), '') = 'on';
  rewritten boolean := new.content is distinct from old.content;
begin
  if importing then
    new.version := greatest(new.version, old.version + rewritten::int);
  elsif (new.content, new.observation_type, new.trust, new.evidence, new.tags, new.entity_id)
     is not distinct from
     (old.content, old.observation_type, old.trust, old.evidence, old.tags, old.entity_id) then
    new.version := old.version;
    new.updated_at := old.updated_at;
    return new;
  else
    new.version := old.version + 1;
    new.updated_at := now();
  end if;
  if rewritten and not importing then
    new.previous_versions := brain_append_version(
      new.previous_versions,
      jsonb_build_array(jsonb_build_object(
        'content', old.content, 'version', old.version,
        'origin_node', old.origin_node, 'superseded_at', now())));
  end if;
  if rewritten and new.embedding is not distinct from old.embedding then
    new.embedding := null;
    new.embedding_model := null;
  end if;
  if new.observation_type = 'superseded' and old.observation_type <> 'superseded' then
    new.superseded_from := coalesce(new.superseded_from, old.observation_type);
    new.superseded_at := coalesce(new.superseded_at, now());
  elsif new.observation_type <> 'superseded' then
    new.superseded_from := null;
    new.superseded_at := null;
    new.superseded_by := null;
  end if;
  return new;
end $$;

create trigger brain_observations_clock before update on brain_observations
  for each row execute function brain_observation_clock();

-- New text without newly prepared words: the old words would go on matching.
create function brain_drop_stale_words() returns trigger language plpgsql as $$
begin
  new.lexical := null;
  return new;
end $$;

create trigger brain_observations_words before update on brain_observations for each row
  when (new.content is distinct from old.content and new.lexical is not distinct from old.lexical) execute function brain_drop_stale_words();

-- What depends on the text goes with it; then the bell, with identifiers only (a payload above 8000 bytes aborts the write).
create function brain_observation_after() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if new.content is distinct from old.content then
      delete from brain_observation_chunks where observation_id = new.id;
      delete from brain_judgments where new.id in (observation_a, observation_b);
    end if;
    if new.project_id is distinct from old.project_id then
      update brain_observation_chunks set project_id = new.project_id where observation_id = new.id;
      update brain_facts set project_id = new.project_id where observation_id = new.id;
    end if;
    if new.version = old.version then
      return null;
    end if;
  end if;
  if coalesce(current_setting('app.sync_import', true), '') <> 'on' then
    perform pg_notify('brain_sync_clock', tg_table_name || ':' || new.id);
  end if;
  return null;
end $$;

create trigger brain_observations_after after insert or update on brain_observations
  for each row execute function brain_observation_after();

create function brain_fact_close() returns trigger language plpgsql as $$
begin
  new.closed_at := case when new.valid_to is null then null else coalesce(new.closed_at, now()) end;
  return new;
end $$;

create trigger brain_facts_close before insert or update on brain_facts
  for each row execute function brain_fact_close();

-- Identity only, never content: an erasure must not survive in the record of itself.
create function brain_record_tombstone() returns trigger language plpgsql as $$
declare
  key_column text := coalesce(tg_argv[0], 'id');
  key_value text := to_jsonb(old) ->> key_column;
begin
  if key_value is null then
    raise exception 'tombstone trigger on %: no key column %', tg_table_name, key_column;
  end if;
  insert into brain_tombstones (table_name, row_id) values (tg_table_name, key_value::uuid)
  on conflict (table_name, row_id) do update set deleted_at = now();
  return old;
end $$;

create trigger brain_entities_tombstone     after delete on brain_entities     for each row execute function brain_record_tombstone();
create trigger brain_observations_tombstone after delete on brain_observations for each row execute function brain_record_tombstone();
create trigger brain_episodes_tombstone     after delete on brain_episodes     for each row execute function brain_record_tombstone();
create trigger brain_errors_tombstone       after delete on brain_errors       for each row execute function brain_record_tombstone();
create trigger brain_relations_tombstone    after delete on brain_relations    for each row execute function brain_record_tombstone();
create trigger brain_projects_tombstone     after delete on brain_projects     for each row execute function brain_record_tombstone();
create trigger brain_procedures_tombstone   after delete on brain_procedures   for each row execute function brain_record_tombstone();
create trigger brain_facts_tombstone        after delete on brain_facts        for each row execute function brain_record_tombstone('fact_id');
create trigger brain_artifacts_tombstone    after delete on brain_artifacts    for each row execute function brain_record_tombstone();

-- A table written by a failing loop grows fastest when disk is short.
create function brain_keep_newest() returns trigger language plpgsql as $$
declare
  order_column text := tg_argv[0];
  keep int := tg_argv[1]::int;
  extra text := coalesce(tg_argv[2], 'true');
begin
  execute format(
    'delete from %1$I where id in (select id from %1$I where %3$s order by %2$I desc, id desc offset %4$s)',
    tg_table_name, order_column, extra, keep);
  return null;
end $$;

create trigger brain_handler_failures_cap after insert on brain_handler_failures
  for each statement execute function brain_keep_newest('created_at', '1000');

create trigger brain_rem_cycles_cap after insert on brain_rem_cycles
  for each statement execute function brain_keep_newest('finished_at', '500');

create trigger brain_agent_notes_cap after insert on brain_triggers
  for each statement execute function brain_keep_newest('created_at', '200', $$condition_type = 'on_session_start'$$);

create trigger brain_peer_notices_cap after insert on brain_peer_notices
  for each statement execute function brain_keep_newest('created_at', '1000');

create function brain_cap_peer_notices_per_node() returns trigger language plpgsql as $$
begin
  delete from brain_peer_notices where id in (
    select id from brain_peer_notices where node_id is not distinct from new.node_id
    order by created_at desc, id desc offset 200);
  return null;
end $$;

create trigger brain_peer_notices_node_cap after insert on brain_peer_notices
  for each row execute function brain_cap_peer_notices_per_node();

-- Append-only unless a member of cuba_admin says so in this very transaction. A superuser is a member of every role, hence both conditions.
create function brain_audit_guard() returns trigger language plpgsql as $$
begin
  -- Membership is looked up by oid: where the server refused to make the role, nobody is a member.
  if coalesce(current_setting('app.audit_override', true), '') <> 'on'
     or not coalesce((select pg_has_role(current_user, oid, 'MEMBER') from pg_roles where rolname = 'cuba_admin'), false) then
    raise exception 'brain_audit_log is append-only: % by %', tg_op, current_user
      using errcode = 'insufficient_privilege';
  end if;
  if tg_op = 'UPDATE' then return new; end if;
  if tg_op = 'DELETE' then return old; end if;
  return null;
end $$;

create trigger brain_audit_no_rewrite before update or delete on brain_audit_log
  for each row execute function brain_audit_guard();

create trigger brain_audit_no_truncate before truncate on brain_audit_log
  for each statement execute function brain_audit_guard();
