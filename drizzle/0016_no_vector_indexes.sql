-- Changes: the indexes over whole vectors go from servers, where every insert paid for them and no search used them. No row changes.

-- Search finds vectors by their signs and compares the nearest exactly (decision 0130). With 25,000 vectors neither statement of the vector arm touched
-- these indexes, and with them an insert took 36 ms in place of 2.8. Each start on a server made them; the embedded database never had them.
drop index if exists idx_obs_embedding_hnsw;
drop index if exists idx_obs_chunks_embedding_hnsw;
drop index if exists idx_episodes_embedding_hnsw;
