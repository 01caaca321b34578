/** What tells whether two entities are one: how much is known of each, since when, and a sample spread over that time. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { float8, int8, query, timestamp, uuid, uuidArray } from "../codecs.ts";
import { fixed, inScope, isServed } from "./predicates.ts";

/** Pieces of the time between the first and the last row; of each the most important row is shown. */
const PIECES = 6;

const Evidence = z.object({
  id: uuid,
  name: z.string(),
  projectName: z.string().nullable(),
  observations: int8,
  sessions: int8,
  firstAt: timestamp.nullable(),
  lastAt: timestamp.nullable(),
  samples: z.array(z.string()),
});
export type EntityEvidence = z.output<typeof Evidence>;

/** Served rows alone: what a stranger wrote decides nothing. */
export const entityEvidence = query(
  Evidence,
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select e.id, e.name, (select p.name from brain_projects as p where p.id = e.project_id) as "projectName",
    s.observations, s.sessions, s.first_at as "firstAt", s.last_at as "lastAt",
    array(
      select d.content from (
        select distinct on (w.piece) w.piece, w.content from (
          select o.content, o.importance, o.created_at, o.id,
            least(${fixed(PIECES - 1)}, floor(${fixed(PIECES)} * extract(epoch from o.created_at - s.first_at)
              / greatest(extract(epoch from s.last_at - s.first_at), 0.000001)))::int as piece
          from brain_observations as o where o.entity_id = e.id and ${isServed("o")}
        ) as w
        order by w.piece, w.importance desc, w.created_at desc, w.id
      ) as d order by d.piece
    ) as samples
  from brain_entities as e
  cross join lateral (
    select count(*) as observations, count(distinct o.session_id) as sessions, min(o.created_at) as first_at, max(o.created_at) as last_at
    from brain_observations as o where o.entity_id = e.id and ${isServed("o")}
  ) as s
  where e.id = any(${uuidArray(q.ids)}) and ${inScope("e", q.scope)}
  order by e.id`,
);

/** Which of these are to be seen still. */
export const entitiesThere = query(
  z.object({ id: uuid }),
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select e.id from brain_entities as e where e.id = any(${uuidArray(q.ids)}) and ${inScope("e", q.scope)} order by e.id`,
);

/** Mean cosine over all pairs of rows of two entities: of unit vectors it is the inner product of their means. Null without vectors of this model. */
export const evidenceCosine = query(z.object({ cosine: float8.nullable() }), (q: { a: string; b: string; label: string }) => {
  const mean = (entityId: string) => sql`(select avg(o.embedding) from brain_observations as o
      where o.entity_id = ${entityId}::uuid and o.embedding_model = ${q.label}::text and ${isServed("o")})`;
  return sql`select -(${mean(q.a)} <#> ${mean(q.b)})::float8 as cosine`;
});
