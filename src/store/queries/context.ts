/** What a model should see first: short pieces of served observations, for the context window of `cuba_contexto`. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { float8, int8, query, uuidArray } from "../codecs.ts";
import { pieceOf, pieceSource } from "./pieces.ts";
import { inScope, isServed } from "./predicates.ts";
import { type Filters, inProjectKeys, kindNumber } from "./search-filters.ts";

const Snippet = z.object({ entity: z.string(), snippet: z.string().transform(pieceOf), importance: float8 });
export type Snippet = z.output<typeof Snippet>;

const columns = sql`e.name as entity, ${pieceSource} as snippet, o.importance`;

/** What the session wrote last. Plan: idx_obs_session. */
export const sessionSnippets = query(
  Snippet,
  (q: { sessionId: string; scope: Scope; limit: number }) => sql`
  select ${columns}
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  where o.session_id = ${q.sessionId}::uuid and ${isServed("o")} and ${inScope("o", q.scope)}
  order by o.created_at desc, o.id
  limit ${q.limit}::int`,
);

/** The most important of some entities. Plan: idx_obs_entity. */
export const entitySnippets = query(
  Snippet,
  (q: { entityIds: readonly string[]; scope: Scope; limit: number }) => sql`
  select ${columns}
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  where o.entity_id = any(${uuidArray(q.entityIds)}) and ${isServed("o")} and ${inScope("o", q.scope)}
  order by o.importance desc, o.created_at desc, o.id
  limit ${q.limit}::int`,
);

/** The most important of all. Plan: the first entries of idx_obs_importance; kept honest by context-plans.test.ts. */
export const importantSnippets = query(
  Snippet,
  (q: { scope: Scope; limit: number }) => sql`
  select ${columns}
  from (
    select o.entity_id, o.content, o.observation_type, o.importance, o.created_at, o.id
    from brain_observations as o
    where ${isServed("o")} and ${inScope("o", q.scope)}
    order by o.importance desc, o.created_at desc, o.id
    limit ${q.limit}::int
  ) as o
  join brain_entities as e on e.id = o.entity_id
  order by o.importance desc, o.created_at desc, o.id`,
);

/** Rises with each change of an entity in scope. */
export const namesVersion = query(
  z.object({ changes: int8 }),
  (q: { filters: Filters }) => sql`
  select coalesce(sum(t.changes), 0)::bigint as changes
  from brain_posting_totals as t where t.kind = ${kindNumber.entity}::int and ${inProjectKeys("t", q.filters)}`,
);
