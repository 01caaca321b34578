/** Who was worked on in which session, and storing the relations that are predicted from it. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { floatArray, query, uuid, uuidArray } from "../codecs.ts";
import { inScope, isServed } from "./predicates.ts";
import { inSpan, type Window } from "./windows.ts";

/** Entities with a live observation that somebody vouches for, by session. Plan: idx_obs_session for each session of the window. */
export const sessionEntities = query(
  z.object({ session: uuid, entity: uuid, project: uuid.nullable() }),
  (q: Window & { scope: Scope }) => sql`
  select distinct o.session_id as session, o.entity_id as entity, e.project_id as project
  from brain_sessions as s
  join brain_observations as o on o.session_id = s.id
  join brain_entities as e on e.id = o.entity_id
  where ${inSpan("s", q)} and ${isServed("o")} and ${inScope("o", q.scope)} and ${inScope("e", q.scope)}
  order by session, entity`,
);

/** Those of the pairs that no relation joins yet, in either direction, with their names; in the order in which they were given. */
export const unlinkedPairs = query(
  z.object({ at: z.coerce.number(), aName: z.string(), bName: z.string() }),
  (q: { a: readonly string[]; b: readonly string[]; scope: Scope }) => sql`
  select p.at, a.name as "aName", b.name as "bName"
  from unnest(${uuidArray(q.a)}, ${uuidArray(q.b)}) with ordinality as p(a, b, at)
  join brain_entities as a on a.id = p.a and ${inScope("a", q.scope)}
  join brain_entities as b on b.id = p.b and ${inScope("b", q.scope)}
  where not exists (select from brain_relations as r where r.from_entity = p.a and r.to_entity = p.b)
    and not exists (select from brain_relations as r where r.from_entity = p.b and r.to_entity = p.a)
  order by p.at`,
);

/** A guess by statistics: `related_to`, both ways, marked as predicted. What is related already stays as it is. Answers how many were new. */
export const insertPredicted = (q: { a: readonly string[]; b: readonly string[]; strengths: readonly number[]; scope: Scope }) => sql`
  insert into brain_relations (from_entity, to_entity, relation_type, strength, bidirectional, provenance, project_id)
  select p.a, p.b, 'related_to', least(greatest(p.strength, 0), 1), true, 'predicted', a.project_id
  from unnest(${uuidArray(q.a)}, ${uuidArray(q.b)}, ${floatArray(q.strengths)}) as p(a, b, strength)
  join brain_entities as a on a.id = p.a and ${inScope("a", q.scope)}
  join brain_entities as b on b.id = p.b and b.project_id is not distinct from a.project_id
  where not exists (select from brain_relations as r where r.from_entity = p.a and r.to_entity = p.b)
    and not exists (select from brain_relations as r where r.from_entity = p.b and r.to_entity = p.a)
  on conflict (from_entity, to_entity, relation_type) do nothing`;
