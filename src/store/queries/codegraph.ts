/** The entities that a source tree makes, their one observation each, and the edges between them. Every statement takes any number of rows. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { GAIN_BY_SIGHT, initialStrength } from "../../domain/graph/edges.ts";
import type { Scope } from "../../kernel/context.ts";
import { json, query, textArray, uuid, uuidArray } from "../codecs.ts";
import { ofScope } from "./predicates.ts";

/** Types of the entities that a tree makes; nothing else writes them. */
export const codeTypes = ["code_symbol", "module", "external_dependency"] as const;
export type CodeType = (typeof codeTypes)[number];

/** How the observation of a symbol says where it comes from; `codeObservations` knows it by this. */
export const CODE_CHECK = "tree-sitter parse of ";

interface OfScope {
  readonly scope: Scope;
}

/** One page, from what follows `after`. Plan: the index by type; a tree is a part of the entities. */
export const codeEntities = query(
  z.object({ id: uuid, name: z.string(), type: z.enum(codeTypes) }),
  (q: OfScope & { after: string | undefined; limit: number }) => sql`
  select e.id, e.name, e.entity_type as type
  from brain_entities as e
  where e.entity_type = any(${textArray(codeTypes)}) and ${ofScope("e", q.scope)} and (${q.after ?? null}::uuid is null or e.id > ${q.after ?? null}::uuid)
  order by e.id
  limit ${q.limit}::int`,
);

/** Entities of any type that have one of these names, or an alias of it: what a person calls `react` is `react`. */
export const entitiesCalled = query(
  z.object({ id: uuid, name: z.string() }),
  (q: OfScope & { names: readonly string[] }) => sql`
  select distinct on (c.name) c.id, c.name
  from (
    select e.id, e.name, 0 as rank from brain_entities as e where e.name = any(${textArray(q.names)}) and ${ofScope("e", q.scope)}
    union all
    select e.id, a.alias_text, 1
    from brain_entity_aliases as a join brain_entities as e on e.id = a.entity_id
    where a.alias_text = any(${textArray(q.names)}) and ${ofScope("e", q.scope)}
  ) as c
  order by c.name, c.rank, c.id`,
);

export interface NewCodeEntity {
  readonly name: string;
  readonly nameKey: string;
  readonly type: CodeType;
  readonly lexical: string;
}

/** Gives entities that bear exactly these names, and that nobody gave a type, the type that the tree knows. */
export const adoptConcepts = query(
  z.object({ id: uuid }),
  (q: { rows: readonly { readonly id: string; readonly name: string; readonly type: CodeType; readonly lexical: string }[] }) => sql`
  update brain_entities as e set entity_type = n.type, lexical = n.lexical, updated_at = now()
  from jsonb_to_recordset(${json(q.rows)}) as n(id uuid, name text, type text, lexical text)
  where e.id = n.id and e.name = n.name and e.entity_type = 'concept'
  returning e.id`,
);

export const insertCodeEntities = query(
  z.object({ id: uuid, name: z.string() }),
  (q: { rows: readonly NewCodeEntity[]; projectId: string | null }) => sql`
  insert into brain_entities (name, name_key, entity_type, project_id, lexical)
  select n.name, n.name_key, n.entity_type, ${q.projectId}::uuid, n.lexical
  from jsonb_to_recordset(${json(q.rows.map((row) => ({ name: row.name, name_key: row.nameKey, entity_type: row.type, lexical: row.lexical })))})
    as n(name text, name_key text, entity_type text, lexical text)
  order by n.name
  on conflict on constraint uq_brain_entities_name_project do nothing
  returning id, name`,
);

/** One page, from what follows `after`. Plan: the index of what was observed; asserted rows are not in it. */
export const codeObservations = query(
  z.object({ id: uuid, entityId: uuid, content: z.string() }),
  (q: OfScope & { after: string | undefined; limit: number }) => sql`
  select o.id, o.entity_id as "entityId", o.content
  from brain_observations as o
  where o.evidence = 'observed' and starts_with(o.verification, ${CODE_CHECK}::text) and o.observation_type <> 'superseded' and ${ofScope("o", q.scope)}
    and (${q.after ?? null}::uuid is null or o.id > ${q.after ?? null}::uuid)
  order by o.id
  limit ${q.limit}::int`,
);

/** Edges that a tree made, from these. */
export const codeEdgesFrom = query(
  z.object({ id: uuid, from: uuid, to: uuid, relation: z.enum(["uses", "depends_on"]) }),
  (q: { ids: readonly string[] }) => sql`
  select r.id, r.from_entity as "from", r.to_entity as "to", r.relation_type as relation
  from brain_relations as r join brain_entities as t on t.id = r.to_entity
  where r.from_entity = any(${uuidArray(q.ids)}) and r.relation_type in ('uses', 'depends_on') and r.provenance = 'extracted'
    and t.entity_type = any(${textArray(codeTypes)})
  order by r.id`,
);

export interface NewCodeObservation {
  readonly id: string;
  readonly entityId: string;
  readonly content: string;
  readonly verification: string;
  readonly lexical: string;
  readonly tags: readonly string[];
  readonly importance: number;
}

/** What somebody deleted meanwhile gets none. */
export const insertCodeObservations = query(
  z.object({ id: uuid }),
  (q: { rows: readonly NewCodeObservation[]; projectId: string | null }) => sql`
  insert into brain_observations (id, entity_id, content, observation_type, importance, source, evidence, verification, tags, lexical, project_id)
  select n.id, n.entity_id, n.content, 'context', n.importance, 'agent', 'observed', n.verification,
         array(select jsonb_array_elements_text(n.tags)), n.lexical, ${q.projectId}::uuid
  from jsonb_to_recordset(${json(
    q.rows.map(({ entityId, ...row }) => ({ ...row, entity_id: entityId })),
  )}) as n(id uuid, entity_id uuid, content text, importance float8, verification text, tags jsonb, lexical text)
  where exists (select from brain_entities as e where e.id = n.entity_id)
  order by n.id
  returning id`,
);

/** A definition that moved, or has another first line. Vector and history go by trigger. */
export const updateCodeObservations = (rows: readonly Pick<NewCodeObservation, "id" | "content" | "lexical" | "tags">[]) => sql`
  update brain_observations as o
  set content = n.content, lexical = n.lexical, tags = array(select jsonb_array_elements_text(n.tags))
  from jsonb_to_recordset(${json(rows.map(({ id, content, lexical, tags }) => ({ id, content, lexical, tags })))})
    as n(id uuid, content text, lexical text, tags jsonb)
  where o.id = n.id`;

export const deleteCodeObservations = (ids: readonly string[]) => sql`delete from brain_observations where id = any(${uuidArray(ids)})`;

/** Edges as ids, end by end. */
export interface EdgeRows {
  readonly from: readonly string[];
  readonly to: readonly string[];
}

/** Stores edges that are not there; answers which they are. */
export const insertCodeEdges = query(
  z.object({ id: uuid }),
  (q: EdgeRows & { relation: string; projectId: string | null }) => sql`
  insert into brain_relations (from_entity, to_entity, relation_type, strength, provenance, project_id)
  select n.from_id, n.to_id, ${q.relation}::text, ${initialStrength.extracted}::float8, 'extracted', ${q.projectId}::uuid
  from unnest(${uuidArray(q.from)}, ${uuidArray(q.to)}) as n(from_id, to_id)
  join brain_entities as f on f.id = n.from_id join brain_entities as t on t.id = n.to_id
  order by n.from_id, n.to_id
  on conflict on constraint uq_brain_relations_edge do nothing
  returning id`,
);

/** Edges that are there gain strength and count as extracted. What would not change is not written. */
export const strengthenCodeEdges = (q: EdgeRows & { relation: string }) => sql`
  update brain_relations as r
  set strength = least(1, r.strength + ${GAIN_BY_SIGHT}::float8), provenance = 'extracted', last_traversed = now()
  from unnest(${uuidArray(q.from)}, ${uuidArray(q.to)}) as n(from_id, to_id)
  where r.from_entity = n.from_id and r.to_entity = n.to_id and r.relation_type = ${q.relation}::text
    and (r.strength < 1 or r.provenance <> 'extracted')`;

export const deleteCodeEdges = (ids: readonly string[]) => sql`
  delete from brain_relations where id = any(${uuidArray(ids)}) and provenance = 'extracted'`;

/** Edges of code that is gone: those that were read from it, and those to it that were read. */
export const deleteEdgesOfGone = (ids: readonly string[]) => sql`
  delete from brain_relations as r
  using brain_entities as f, brain_entities as t
  where f.id = r.from_entity and t.id = r.to_entity and r.relation_type in ('uses', 'depends_on') and r.provenance = 'extracted'
    and (r.from_entity = any(${uuidArray(ids)}) or r.to_entity = any(${uuidArray(ids)}))
    and f.entity_type = any(${textArray(codeTypes)}) and t.entity_type = any(${textArray(codeTypes)})`;

/** Deletes those that nothing hangs from; answers which went. */
export const deleteLoneEntities = query(
  z.object({ id: uuid }),
  (q: { ids: readonly string[] }) => sql`
  delete from brain_entities as e
  where e.id = any(${uuidArray(q.ids)})
    and not exists (select from brain_observations as o where o.entity_id = e.id)
    and not exists (select from brain_episodes as s where s.entity_id = e.id)
    and not exists (select from brain_facts as f where f.subject_entity_id = e.id)
    and not exists (select from brain_relations as r where e.id in (r.from_entity, r.to_entity))
  returning e.id`,
);

/** What somebody wrote about code that is gone stays, under an entity that is no code any more. */
export const keepAsConcepts = (rows: readonly { readonly id: string; readonly lexical: string }[]) => sql`
  update brain_entities as e set entity_type = 'concept', lexical = n.lexical, updated_at = now()
  from jsonb_to_recordset(${json(rows)}) as n(id uuid, lexical text)
  where e.id = n.id`;

/** What outside of the tree nobody depends on any more, of these. */
export const unusedDependencies = query(
  z.object({ id: uuid }),
  (q: { ids: readonly string[] }) => sql`
  select e.id from brain_entities as e
  where e.id = any(${uuidArray(q.ids)}) and e.entity_type = 'external_dependency' and not exists (select from brain_relations as r where r.to_entity = e.id)
  order by e.id`,
);
