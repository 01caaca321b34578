-- Changes: nothing stored; rows that move to another project as a whole no longer index their words again one by one, who moves them moves the index.

-- Each of them used to take its words out and put them back, and to count both in one row of totals, whose versions pile up inside a transaction:
-- 2,400 rows took 15 s. app.moves_project is set, for a transaction, only by the statements that move a whole project (queries/project-merge.ts).
create or replace trigger brain_observations_postings_update
  after update of content, lexical, trust, observation_type, project_id, entity_id on brain_observations for each row
  when (current_setting('app.moves_project', true) is distinct from 'on'
    and (old.trust, old.observation_type = 'superseded', old.project_id, old.entity_id, old.search_vector)
      is distinct from (new.trust, new.observation_type = 'superseded', new.project_id, new.entity_id, new.search_vector))
  execute function brain_index_observation();
create or replace trigger brain_episodes_postings_update
  after update of content, lexical, trust, project_id, entity_id on brain_episodes for each row
  when (current_setting('app.moves_project', true) is distinct from 'on'
    and (old.trust, old.project_id, old.entity_id, old.search_vector) is distinct from (new.trust, new.project_id, new.entity_id, new.search_vector))
  execute function brain_index_episode();
create or replace trigger brain_errors_postings_update
  after update of error_type, error_message, solution, lexical, trust, project_id on brain_errors for each row
  when (current_setting('app.moves_project', true) is distinct from 'on'
    and (old.trust, old.project_id, old.search_vector) is distinct from (new.trust, new.project_id, new.search_vector))
  execute function brain_index_error();
create or replace trigger brain_entities_postings_update
  after update of name, entity_type, lexical, project_id on brain_entities for each row
  when (current_setting('app.moves_project', true) is distinct from 'on'
    and (old.project_id, old.search_vector) is distinct from (new.project_id, new.search_vector))
  execute function brain_index_entity();
