/** What a build of code has written and not shown (`0017_code_builds.sql`): until its one row is closed nobody else sees any of it. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { query, uuid, uuidArray } from "../codecs.ts";

/** In this order they can be taken away. */
export const pendingKinds = { relation: 1, observation: 2, entity: 3 } as const;
export type PendingKind = keyof typeof pendingKinds;

const projectKey = (projectId: string | null): SQL => sql`brain_project_key(${projectId}::uuid)`;

/**
 * From here on a transaction sees what is not shown: that of the build, and whoever removes, renames or joins things, since they mean all that hangs from
 * them. The index of words is kept by triggers that see no more than the statement. `clear`: and deletions leave no tombstone, since nobody ever saw the rows.
 */
export const asBuilder = query(
  z.object({ mode: z.string() }),
  (q: { mode: "on" | "clear" }) => sql`select set_config('app.code_build', ${q.mode}::text, true) as mode`,
);

export const openBuild = (q: { id: string; projectId: string | null }) => sql`
  insert into brain_code_builds (id, project_key) values (${q.id}::uuid, ${projectKey(q.projectId)})`;

/** From now on everybody sees what it wrote. */
export const showBuild = (id: string) => sql`update brain_code_builds set is_open = false where id = ${id}::uuid`;

export const endBuild = (id: string) => sql`delete from brain_code_builds where id = ${id}::uuid`;

/** True where a build of one of these projects is open; null: code of no project. */
export const buildIsOpen = query(
  z.object({ found: z.boolean() }),
  (q: { projectIds: readonly (string | null)[] }) => sql`
  select exists (
    select from brain_code_builds as b join unnest(${uuidArray(q.projectIds)}) as p(id) on b.project_key = brain_project_key(p.id) where b.is_open
  ) as found`,
);

/** Builds of a project that were begun and not ended: of a process that is gone, where whoever asks holds the lock. */
export const unendedBuilds = query(
  z.object({ id: uuid, isOpen: z.boolean() }),
  (q: { projectId: string | null }) => sql`
  select id, is_open as "isOpen" from brain_code_builds where project_key = ${projectKey(q.projectId)} order by id`,
);

/** Projects with such builds, whoever's; null: code of no project. */
export const projectsWithBuilds = query(
  z.object({ projectId: uuid.nullable() }),
  () => sql`
  select distinct nullif(project_key, brain_project_key(null)) as "projectId" from brain_code_builds order by 1`,
);

export const hide = (q: { build: string; kind: PendingKind; ids: readonly string[] }) => sql`
  insert into brain_code_pending (row_id, build_id, kind)
  select n.id, ${q.build}::uuid, ${pendingKinds[q.kind]}::smallint from unnest(${uuidArray(q.ids)}) as n(id)`;

/** The next marks of a build, relations first. */
export const pendingRows = query(
  z.object({ id: uuid, kind: z.int() }),
  (q: { build: string; limit: number }) => sql`
  select row_id as id, kind from brain_code_pending where build_id = ${q.build}::uuid order by kind, row_id limit ${q.limit}::int`,
);

export const dropMarks = (ids: readonly string[]) => sql`delete from brain_code_pending where row_id = any(${uuidArray(ids)})`;

export const deleteRelations = (ids: readonly string[]) => sql`delete from brain_relations where id = any(${uuidArray(ids)})`;
