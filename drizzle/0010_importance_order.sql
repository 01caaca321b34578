-- Changes: the index by importance also holds what decides between equals; rebuilt, no row changes.

-- Most observations share a few values of importance. An index that ends there leaves the order of equals to a sort of all of them, or to
-- chance; with the date and the id behind it the first rows are the first entries.
drop index idx_obs_importance;
create index idx_obs_importance on brain_observations (importance desc, created_at desc, id) where observation_type <> 'superseded';
