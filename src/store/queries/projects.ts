/** Projects and how they are recognised. Control plane: their callers run with scope `everything`. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { query, textArray, timestamp, uuid, uuidArray } from "../codecs.ts";

const Project = z.object({ id: uuid, name: z.string() });

/** Those of the projects that are there, with the names they have now. */
export const projectsWithId = query(
  z.object({ id: uuid, name: z.string() }),
  (q: { ids: readonly string[] }) => sql`select id, name from brain_projects where id = any(${uuidArray(q.ids)}) order by id`,
);

export const projectByName = query(
  Project,
  (q: { name: string }) => sql`
  select id, name from brain_projects where name = ${q.name}::text`,
);

/** Creates the project or finds it; either way it was active just now. */
export const upsertProject = query(
  Project.extend({ created: z.boolean() }),
  (q: { name: string }) => sql`
  insert into brain_projects (name)
  values (${q.name}::text)
  on conflict (name) do update set last_active_at = now()
  returning id, name, (xmax = 0) as created`,
);

export const touchProject = (id: string) => sql`
  update brain_projects set last_active_at = now() where id = ${id}::uuid`;

/** Projects that any of these identities lead to, with the identity. */
export const projectsByIdentity = query(
  Project.extend({ identity: z.string() }),
  (q: { identities: readonly string[] }) => sql`
  select p.id, p.name, i.identity
  from brain_project_identities as i
  join brain_projects as p on p.id = i.project_id
  where i.identity = any(${textArray(q.identities)})
  order by i.identity`,
);

/** Any number that no other lock of ours has. */
const NEW_PROJECTS_LOCK = "917222295528144899";

/** Held until the end of the transaction by whoever makes a project from a directory. */
export const lockNewProjects = () => sql`select pg_advisory_xact_lock(${NEW_PROJECTS_LOCK}::bigint)`;

export const identitiesOfProject = query(
  z.object({ identity: z.string() }),
  (q: { projectId: string }) => sql`
  select identity from brain_project_identities where project_id = ${q.projectId}::uuid order by identity`,
);

/** Records an identity; one that another project already has stays there. */
export const recordIdentity = (identity: string, projectId: string) => sql`
  insert into brain_project_identities (identity, project_id)
  values (${identity}::text, ${projectId}::uuid)
  on conflict (identity) do nothing`;

export const projectNames = query(
  Project,
  (_q: object) => sql`
  select id, name from brain_projects order by name, id`,
);

export const projectList = query(
  Project.extend({ createdAt: timestamp, lastActiveAt: timestamp, entityCount: z.int() }),
  (q: { limit: number; offset: number }) => sql`
  select p.id, p.name, p.created_at as "createdAt", p.last_active_at as "lastActiveAt",
         (select count(*) from brain_entities as e where e.project_id = p.id)::int as "entityCount"
  from brain_projects as p
  order by p.last_active_at desc, p.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

export const projectCount = query(z.object({ count: z.int() }), (_q: object) => sql`select count(*)::int as count from brain_projects`);

export const projectStats = query(
  z.object({ entities: z.int(), observations: z.int(), episodes: z.int(), sessions: z.int(), errors: z.int(), relations: z.int() }),
  (q: { projectId: string }) => sql`
  select (select count(*) from brain_entities where project_id = ${q.projectId}::uuid)::int as entities,
         (select count(*) from brain_observations where project_id = ${q.projectId}::uuid)::int as observations,
         (select count(*) from brain_episodes where project_id = ${q.projectId}::uuid)::int as episodes,
         (select count(*) from brain_sessions where project_id = ${q.projectId}::uuid)::int as sessions,
         (select count(*) from brain_errors where project_id = ${q.projectId}::uuid)::int as errors,
         (select count(*) from brain_relations where project_id = ${q.projectId}::uuid)::int as relations`,
);

/** Renames nothing where the project has been renamed meanwhile. */
export const renameProject = (q: { id: string; from: string; to: string }) => sql`
  update brain_projects set name = ${q.to}::text, last_active_at = now() where id = ${q.id}::uuid and name = ${q.from}::text`;

/** Until the transaction ends nobody renames, deletes or writes into the projects; those that are gone are missing. */
export const lockProjects = query(
  Project,
  (q: { ids: readonly string[] }) => sql`
  select id, name from brain_projects where id = any(${uuidArray(q.ids)}) order by id for update`,
);

export const deleteProject = (id: string) => sql`delete from brain_projects where id = ${id}::uuid`;

/** Every table with a `project_id` that points at projects, from the catalogue: a list by hand forgets the next one. */
export const tablesOfProjects = query(
  z.object({ table: z.string(), onDelete: z.string() }),
  (_q: object) => sql`
  select c.conrelid::regclass::text as "table", c.confdeltype::text as "onDelete"
  from pg_constraint as c
  join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = any(c.conkey)
  where c.contype = 'f' and c.confrelid = 'brain_projects'::regclass and a.attname = 'project_id'
  order by 1`,
);
