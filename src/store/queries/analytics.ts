/** The whole graph of a scope, page by page, and what is stored of its measures. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { float8, floatArray, intArray, query, textArray, uuid, uuidArray } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { inScope } from "./predicates.ts";

/** Entities by id; those that only unreviewed text speaks of are no nodes of a measure. */
export const graphNodes = query(
  z.object({ id: uuid, name: z.string(), importance: float8, isNode: z.boolean() }),
  (q: { scope: Scope; after: string; limit: number }) => sql`
  select e.id, e.name, e.importance, ${isVouchedFor("e")} as "isNode"
  from brain_entities as e
  where e.id > ${q.after}::uuid and ${inScope("e", q.scope)}
  order by e.id
  limit ${q.limit}::int`,
);

/** Relations by id. */
export const graphEdges = query(
  z.object({ id: uuid, from: uuid, to: uuid, strength: float8, bothWays: z.boolean() }),
  (q: { scope: Scope; after: string; limit: number }) => sql`
  select r.id, r.from_entity as from, r.to_entity as to, r.strength, r.bidirectional as "bothWays"
  from brain_relations as r
  where r.id > ${q.after}::uuid and ${inScope("r", q.scope)}
  order by r.id
  limit ${q.limit}::int`,
);

export interface NodeMetrics {
  readonly id: string;
  readonly rank: number;
  readonly between: number;
  readonly energy: number;
}

/** Stores the measures of nodes that are still there; a row that would not change is left alone. */
export const saveNodeMetrics = (rows: readonly NodeMetrics[]) => sql`
  insert into brain_node_metrics as m (node_id, pagerank_score, betweenness_centrality, energy_score)
  select n.id, n.rank, n.between, n.energy
  from unnest(${uuidArray(rows.map((row) => row.id))}, ${floatArray(rows.map((row) => row.rank))},
              ${floatArray(rows.map((row) => row.between))}, ${floatArray(rows.map((row) => row.energy))}) as n(id, rank, between, energy)
  where exists (select from brain_entities as e where e.id = n.id)
  on conflict (node_id) do update
  set pagerank_score = excluded.pagerank_score, betweenness_centrality = excluded.betweenness_centrality,
      energy_score = excluded.energy_score, last_calculated = now()
  where (m.pagerank_score, m.betweenness_centrality, m.energy_score)
    is distinct from (excluded.pagerank_score, excluded.betweenness_centrality, excluded.energy_score)`;

export const insertCommunities = (q: {
  readonly ids: readonly string[];
  readonly names: readonly string[];
  readonly algorithm: string;
  readonly modularity: number;
}) => sql`
  insert into brain_communities (community_id, community_name, algorithm_version, modularity_score)
  select c.id, c.name, ${q.algorithm}::text, ${q.modularity}::float8
  from unnest(${uuidArray(q.ids)}, ${textArray(q.names)}) as c(id, name)`;

/** Puts nodes that are still there into their communities; `community` is a place in `ids`, from 1. */
export const tagNodes = (q: {
  readonly ids: readonly string[];
  readonly nodes: readonly string[];
  readonly community: readonly number[];
}) => sql`
  insert into brain_node_metrics as m (node_id, community_id)
  select n.id, (${uuidArray(q.ids)})[n.community]
  from unnest(${uuidArray(q.nodes)}, ${intArray(q.community)}) as n(id, community)
  where exists (select from brain_entities as e where e.id = n.id)
  on conflict (node_id) do update set community_id = excluded.community_id, last_calculated = now()`;

/** Takes away communities that are not among these; nodes that are in none of them have none then. */
export const dropOtherCommunities = (q: { readonly keep: readonly string[]; readonly limit: number }) => sql`
  delete from brain_communities where community_id in (
    select c.community_id from brain_communities as c where c.community_id <> all(${uuidArray(q.keep)}) order by c.community_id limit ${q.limit}::int)`;

/** Entities with more than `above` relations, the most linked first: what stands in where betweenness could not be computed. */
export const mostLinked = query(
  z.object({ entity: z.string(), connections: z.int() }),
  (q: { scope: Scope; above: number; limit: number }) => sql`
  select e.name as entity, l.connections::int as connections
  from (
    select n.id, count(*) as connections
    from brain_relations as r cross join lateral unnest(array[r.from_entity, r.to_entity]) as n(id)
    where ${inScope("r", q.scope)}
    group by n.id having count(*) > ${q.above}::int) as l
  join brain_entities as e on e.id = l.id
  where ${inScope("e", q.scope)}
  order by l.connections desc, e.name, e.id
  limit ${q.limit}::int`,
);
