/** What `resources/list` offers and `resources/read` shows, besides what tools answer. Withheld text, and entities that only it speaks of, are not there. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { query, timestamp, uuid } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { fixed, inScope } from "./predicates.ts";

const ENTITIES = 50;
const PROJECTS = 100;
const SNAPSHOTS = 20;

const Card = z.object({ id: uuid, name: z.string(), entityType: z.string(), importance: z.number(), accessCount: z.int() });

export const offeredEntities = query(
  Card,
  (q: { scope: Scope }) => sql`
  select e.id, e.name, e.entity_type as "entityType", e.importance, e.access_count as "accessCount"
  from brain_entities as e
  where ${inScope("e", q.scope)} and ${isVouchedFor("e")}
  order by e.access_count desc, e.name, e.id
  limit ${fixed(ENTITIES)}`,
);

/** The active project alone where there is one. */
export const offeredProjects = query(
  z.object({ name: z.string(), lastActiveAt: timestamp }),
  (q: { scope: Scope }) => sql`
  select p.name, p.last_active_at as "lastActiveAt"
  from brain_projects as p
  where ${isProjectInScope(q.scope)}
  order by p.last_active_at desc, p.id
  limit ${fixed(PROJECTS)}`,
);

const isProjectInScope = (scope: Scope) => (scope.kind === "project" ? sql`p.id = ${scope.id}::uuid` : sql`true`);

export const offeredSnapshots = query(
  z.object({ id: uuid, createdAt: timestamp, observations: z.int() }),
  (q: { scope: Scope }) => sql`
  select c.id, c.created_at as "createdAt", c.obs_count as observations
  from brain_compaction_snapshots as c
  where ${inScope("c", q.scope)}
  order by c.created_at desc, c.id
  limit ${fixed(SNAPSHOTS)}`,
);

export const entityCard = query(
  Card,
  (q: { id: string; scope: Scope }) => sql`
  select e.id, e.name, e.entity_type as "entityType", e.importance, e.access_count as "accessCount"
  from brain_entities as e
  where e.id = ${q.id}::uuid and ${inScope("e", q.scope)} and ${isVouchedFor("e")}`,
);

export const projectNamed = query(
  z.object({ id: uuid, name: z.string() }),
  (q: { name: string; scope: Scope }) => sql`
  select p.id, p.name from brain_projects as p where p.name = ${q.name}::text and ${isProjectInScope(q.scope)}`,
);
