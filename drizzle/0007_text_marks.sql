-- New: three marks of an observation's text and the indexes over them; filled for rows that are there. No text changes, no clock moves.

-- What the duplicate gate looks up, so that an entity's 1,000th observation costs what its 10th did. Row security keeps operators that are
-- not leakproof (%, @@) from using an index, so the marks are numbers, compared with =.
--   words  equal for any two texts with the same words: only letters and digits, and of these not the letters that articles are made of
--   head   the first 12 letters and digits; two texts that differ in one place share it or the tail
--   tail   the last 12
-- Equal marks say "look at this row", never "the same": the texts are compared afterwards.
create function brain_text_marks(content text, out words_mark bigint, out head_mark bigint, out tail_mark bigint)
language sql immutable strict parallel safe as $$
  select hashtextextended(translate(folded, 'anthelosu', ''), 0), hashtextextended(left(folded, 12), 0), hashtextextended(right(folded, 12), 0)
  from (select regexp_replace(lower(normalize(content, nfkc)), '[^[:alnum:]]+', '', 'g') as folded) as f
$$;

alter table brain_observations add column words_mark bigint, add column head_mark bigint, add column tail_mark bigint;

-- A trigger and not generated columns: those would be computed again whenever a row is touched, by every access and every new vector.
create function brain_mark_text() returns trigger language plpgsql as $$
begin
  select m.words_mark, m.head_mark, m.tail_mark into new.words_mark, new.head_mark, new.tail_mark from brain_text_marks(new.content) as m;
  return new;
end $$;

create trigger brain_observations_marks before insert or update of content on brain_observations
  for each row execute function brain_mark_text();

update brain_observations set content = content;

create index idx_obs_words_mark on brain_observations (entity_id, words_mark, created_at desc) where observation_type <> 'superseded';
create index idx_obs_head_mark on brain_observations (entity_id, head_mark, created_at desc) where observation_type <> 'superseded';
create index idx_obs_tail_mark on brain_observations (entity_id, tail_mark, created_at desc) where observation_type <> 'superseded';

-- What the overload consolidation retires: few rows, found without reading the others.
create index idx_obs_faded on brain_observations (entity_id) where importance < 0.05 and observation_type not in ('decision', 'lesson', 'superseded');
