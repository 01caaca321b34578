-- New: an observation whose text changes is to be read again by the extraction of the consolidation cycle, and its failed attempts are forgotten. Rows stay as they are.

-- What an import changes was read where it comes from.
create function brain_read_again() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('app.sync_import', true), '') <> 'on' then
    new.extracted_at := null;
    new.extraction_attempts := 0;
  end if;
  return new;
end $$;

create trigger brain_observations_read_again before update of content on brain_observations for each row
  when (new.content is distinct from old.content) execute function brain_read_again();
