/**
 * What is missing in the graph of a scope (`tools-cognition.md` §9). Left out everywhere: entities that only withheld text speaks of, the one that holds
 * the decisions, relations with an end outside the scope. Observations and relations are counted apart: joined they would multiply.
 * Each row carries how many there are in all, so that what a limit cuts can be told.
 */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { int8, query } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { fixed, inScope, isServed } from "./predicates.ts";

export interface GapQuery {
  readonly scope: Scope;
  /** Name of an entity that is bookkeeping. */
  readonly except: string;
}

/** Entities, relations between them (the schema has no loops), and how many relations touch each. */
const graph = ({ scope, except }: GapQuery): SQL => sql`
  ents as materialized (
    select e.id, e.name, e.entity_type, e.importance from brain_entities as e
    where ${inScope("e", scope)} and e.name <> ${except}::text and ${isVouchedFor("e")}
  ),
  rels as materialized (
    select r.from_entity, r.to_entity from brain_relations as r
    join brain_entities as f on f.id = r.from_entity join brain_entities as t on t.id = r.to_entity
    where ${inScope("r", scope)} and ${inScope("f", scope)} and ${inScope("t", scope)}
  ),
  degrees as materialized (
    select ends.id, count(*) as degree
    from (select from_entity as id from rels union all select to_entity from rels) as ends
    group by ends.id
  )`;

const ISOLATED = 20;
const OTHERS = 10;

export const isolatedEntities = query(
  z.object({ name: z.string(), entityType: z.string(), total: int8 }),
  (q: GapQuery) => sql`
  with ${graph(q)}
  select e.name, e.entity_type as "entityType", count(*) over () as total
  from ents as e left join degrees as d on d.id = e.id
  where d.id is null
  order by e.importance desc, e.name, e.id
  limit ${fixed(ISOLATED)}`,
);

/** Above it an entity matters enough to be linked; with fewer relations than this it is not. */
const HUB_IMPORTANCE = 0.4;
const HUB_DEGREE = 3;

export const underconnectedEntities = query(
  z.object({ name: z.string(), importance: z.number(), degree: int8, total: int8 }),
  (q: GapQuery) => sql`
  with ${graph(q)}
  select e.name, e.importance, d.degree, count(*) over () as total
  from ents as e join degrees as d on d.id = e.id
  where e.importance > ${HUB_IMPORTANCE}::float8 and d.degree < ${HUB_DEGREE}::int
  order by e.importance desc, e.name, e.id
  limit ${fixed(OTHERS)}`,
);

/** Pairs of types without a relation between them in either direction. The order is that of the bytes: two engines may collate differently. */
export const typeSilos = query(
  z.object({ typeA: z.string(), typeB: z.string(), total: int8 }),
  (q: GapQuery) => sql`
  with ${graph(q)},
  types as (select distinct entity_type collate "C" as type from ents),
  linked as (
    select distinct f.entity_type collate "C" as a, t.entity_type collate "C" as b
    from rels as r join ents as f on f.id = r.from_entity join ents as t on t.id = r.to_entity
  )
  select a.type as "typeA", b.type as "typeB", count(*) over () as total
  from types as a join types as b on a.type < b.type
  where not exists (select from linked as l where (l.a = a.type and l.b = b.type) or (l.a = b.type and l.b = a.type))
  order by a.type, b.type
  limit ${fixed(OTHERS)}`,
);

/** So many facts call for a decision or a lesson. */
const MANY_FACTS = 3;

export const observationGaps = query(
  z.object({ name: z.string(), facts: int8, decisions: int8, lessons: int8, total: int8 }),
  (q: GapQuery) => sql`
  with ${graph(q)},
  kinds as (
    select o.entity_id,
           count(*) filter (where o.observation_type = 'fact') as facts,
           count(*) filter (where o.observation_type = 'decision') as decisions,
           count(*) filter (where o.observation_type = 'lesson') as lessons
    from brain_observations as o
    where ${inScope("o", q.scope)} and ${isServed("o")} and o.observation_type in ('fact', 'decision', 'lesson')
    group by o.entity_id
  )
  select e.name, k.facts, k.decisions, k.lessons, count(*) over () as total
  from ents as e join kinds as k on k.entity_id = e.id
  where k.facts > ${MANY_FACTS}::int and (k.decisions = 0 or k.lessons = 0)
  order by k.facts desc, e.name, e.id
  limit ${fixed(OTHERS)}`,
);

/** Standard deviations from the mean that make an entity stand out. */
const STANDS_OUT = 2;

/** z = (x − mean) ÷ max(population σ, 1): a graph where all are alike has no outliers. */
export const densityAnomalies = query(
  z.object({ name: z.string(), observations: int8, relations: int8, observationScore: z.number(), relationScore: z.number(), total: int8 }),
  (q: GapQuery) => sql`
  with ${graph(q)},
  sizes as (
    select o.entity_id, count(*) as observations from brain_observations as o where ${inScope("o", q.scope)} and ${isServed("o")} group by o.entity_id
  ),
  counts as (
    select e.id, e.name, coalesce(s.observations, 0) as observations, coalesce(d.degree, 0) as relations
    from ents as e left join sizes as s on s.entity_id = e.id left join degrees as d on d.id = e.id
  ),
  scores as (
    select c.id, c.name, c.observations, c.relations,
           ((c.observations - avg(c.observations) over ()) / greatest(stddev_pop(c.observations) over (), 1))::float8 as obs,
           ((c.relations - avg(c.relations) over ()) / greatest(stddev_pop(c.relations) over (), 1))::float8 as rel
    from counts as c
  )
  select s.name, s.observations, s.relations, s.obs as "observationScore", s.rel as "relationScore", count(*) over () as total
  from scores as s
  where abs(s.obs) > ${STANDS_OUT}::float8 or abs(s.rel) > ${STANDS_OUT}::float8
  order by abs(s.obs) + abs(s.rel) desc, s.name, s.id
  limit ${fixed(OTHERS)}`,
);
