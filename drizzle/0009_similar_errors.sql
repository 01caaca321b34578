-- New: a function that finds errors of similar words through the trigram index. No data.

-- Under row security an operator that is not leakproof (%) may not use an index (decision 0080), so whoever reported an error read the whole table.
-- This runs as the owner and yields ids only: whoever asks joins them with brain_errors, and there the policies decide again. Trusted rows of the
-- asked project and of the stamped scope, so that an id says nothing about another project.
-- An owner that is no superuser is under the same policies: then it reads the table, and finds the same rows.
do $$ begin
  -- Loads the extension in this session: without it the setting below is unknown to a connection that used no trigram yet.
  perform similarity('a', 'b');
end $$;

create function brain_similar_errors(wanted text, in_project uuid, least_similarity float8) returns table (id uuid, similarity float8)
language plpgsql stable security definer
set search_path = public, pg_temp
set pg_trgm.similarity_threshold = 0.3
as $$
begin
  -- Gone with the end of the function, because the function sets the same variable.
  perform set_config('pg_trgm.similarity_threshold', least_similarity::text, true);
  return query
    select e.id, similarity(e.error_message, wanted)::float8
    from brain_errors as e
    where e.error_message % wanted and similarity(e.error_message, wanted) > least_similarity and e.trust = 'trusted'
      and (in_project is null or e.project_id = in_project)
      and (brain_scope_open() or e.project_id is null or e.project_id = brain_scope_project());
end $$;
