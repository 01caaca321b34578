/** Folding one entity into another: everything that hangs on the loser moves to the winner, then the loser goes. */
import { type SQL, sql } from "drizzle-orm";
import { uuidArray } from "../codecs.ts";

/** Which entity goes into which. */
export interface Fold {
  readonly loser: string;
  readonly winner: string;
}

const pairs = (folds: readonly Fold[]): SQL =>
  sql`unnest(${uuidArray(folds.map((fold) => fold.loser))}, ${uuidArray(folds.map((fold) => fold.winner))}) as fold(loser, winner)`;

/** Redirects one end of the relations; an edge that the winner has already takes the greater strength, and the other goes. */
const redirect = (folds: readonly Fold[], end: "from_entity" | "to_entity"): SQL[] => {
  const mine = sql.raw(end);
  const other = sql.raw(end === "from_entity" ? "to_entity" : "from_entity");
  return [
    sql`
  update brain_relations as kept
  set strength = greatest(kept.strength, gone.strength), bidirectional = kept.bidirectional or gone.bidirectional
  from brain_relations as gone, ${pairs(folds)}
  where gone.${mine} = fold.loser and kept.${mine} = fold.winner and kept.${other} = gone.${other} and kept.relation_type = gone.relation_type`,
    sql`
  update brain_relations as r
  set ${mine} = fold.winner
  from ${pairs(folds)}
  where r.${mine} = fold.loser and r.${other} <> fold.winner
    and not exists (
      select from brain_relations as kept
      where kept.${mine} = fold.winner and kept.${other} = r.${other} and kept.relation_type = r.relation_type)`,
  ];
};

/**
 * Statements that fold entities, in order, for one transaction. No loser may be a winner. Observations of an entity whose type changes
 * lose their vectors, since the type is part of the text that was embedded; `renamed` says that the name changes too.
 */
export const foldEntities = (folds: readonly Fold[], renamed: boolean): SQL[] => {
  const prefixChanges = renamed ? sql`true` : sql`l.entity_type <> w.entity_type`;
  const moved = sql`from ${pairs(folds)} join brain_entities as l on l.id = fold.loser join brain_entities as w on w.id = fold.winner`;
  return [
    sql`
  delete from brain_relations as r using ${pairs(folds)}
  where (r.from_entity = fold.loser and r.to_entity = fold.winner) or (r.from_entity = fold.winner and r.to_entity = fold.loser)`,
    ...redirect(folds, "from_entity"),
    ...redirect(folds, "to_entity"),
    sql`
  update brain_observation_chunks as c
  set embedding = null, embedding_model = null
  from brain_observations as o, (select fold.loser ${moved} where ${prefixChanges}) as changed
  where c.observation_id = o.id and o.entity_id = changed.loser`,
    sql`
  update brain_observations as o
  set entity_id = m.winner,
      embedding = case when m.changes then null else o.embedding end,
      embedding_model = case when m.changes then null else o.embedding_model end
  from (select fold.loser, fold.winner, (${prefixChanges}) as changes ${moved}) as m
  where o.entity_id = m.loser`,
    sql`
  update brain_episodes as e
  set entity_id = m.winner,
      embedding = case when m.changes then null else e.embedding end,
      embedding_model = case when m.changes then null else e.embedding_model end
  from (select fold.loser, fold.winner, (${prefixChanges}) as changes ${moved}) as m
  where e.entity_id = m.loser`,
    sql`
  update brain_facts as f set subject_entity_id = fold.winner from ${pairs(folds)} where f.subject_entity_id = fold.loser`,
    sql`
  insert into brain_entity_aliases (entity_id, alias_text)
  select w.id, a.alias_text
  from ${pairs(folds)}
  join brain_entities as w on w.id = fold.winner
  join brain_entity_aliases as a on a.entity_id = fold.loser
  where a.alias_text <> w.name
  on conflict (entity_id, alias_text) do nothing`,
    sql`
  insert into brain_entity_aliases (entity_id, alias_text)
  select w.id, l.name ${moved} where l.name <> w.name
  on conflict (entity_id, alias_text) do nothing`,
    sql`
  update brain_entities as w
  set importance = greatest(w.importance, l.importance), access_count = greatest(w.access_count, l.access_count)
  from ${pairs(folds)} join brain_entities as l on l.id = fold.loser
  where w.id = fold.winner`,
    sql`delete from brain_entities as e using ${pairs(folds)} where e.id = fold.loser`,
  ];
};
