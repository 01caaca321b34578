-- New: indexes over what took a row's place; no row changes.

-- A deletion asks which rows name the deleted one as their successor. Without an index that read every observation and every fact, for each row
-- that went: an entity of a thousand among ten thousand took ten million visits. Few rows have a successor, so the indexes are small.
create index idx_obs_superseded_by on brain_observations (superseded_by) where superseded_by is not null;
create index idx_facts_superseded_by on brain_facts (superseded_by) where superseded_by is not null;
