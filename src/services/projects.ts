/** Projects: which one is active, switching, counting, renaming. Merging and adopting rows live in `project-merge.ts`. */
import { projectNameKey } from "../domain/projects.ts";
import { type CallContext, everywhere } from "../kernel/context.ts";
import { conflict, invalid } from "../kernel/errors.ts";
import type { Database, RowOf, Tx } from "../store/port.ts";
import {
  identitiesOfProject,
  projectByName,
  projectCount,
  projectList,
  projectNames,
  projectStats,
  renameProject,
  upsertProject,
} from "../store/queries/projects.ts";
import { bindSessionProject } from "../store/queries/sessions.ts";
import type { ClientProjects } from "./identity/client-projects.ts";
import type { Identity } from "./identity/identity.ts";
import { projectNamed } from "./identity/project-names.ts";
import type { ActiveProject, ClientRegistry } from "./identity/registry.ts";
import { type Backfilled, backfillProject, type Merged, mergeProjects } from "./project-merge.ts";

type ProjectRef = { readonly id: string; readonly name: string };
type ProjectListRow = RowOf<typeof projectList>;
type Stats = RowOf<typeof projectStats>;

export interface Switched {
  readonly project: ProjectRef;
  readonly created: boolean;
  /** Projects whose name differs in case or separators alone; only for a new name: a typo splits a memory in two. */
  readonly similarNames: readonly string[];
  readonly session: string | undefined;
  /** The client cannot be recognised again, so nothing was bound. */
  readonly unbound: boolean;
}

export interface Projects {
  list(ctx: CallContext, page: { limit: number; offset: number }): Promise<{ rows: readonly ProjectListRow[]; total: number }>;
  current(ctx: CallContext): Promise<ActiveProject | undefined>;
  switchTo(ctx: CallContext, name: string): Promise<Switched>;
  /** Counts of the named or the active project; undefined where neither is. @throws `not_found` for an unknown name. */
  stats(ctx: CallContext, name: string | undefined): Promise<({ readonly project: ProjectRef } & Stats) | undefined>;
  /** False for an unknown name. @throws `conflict` where the new name is taken. */
  rename(ctx: CallContext, name: string, to: string): Promise<boolean>;
  merge(ctx: CallContext, name: string, to: string, confirm: boolean): Promise<Merged>;
  backfill(ctx: CallContext, name: string, confirm: boolean): Promise<Backfilled>;
}

export interface ProjectsParts {
  readonly db: Database;
  readonly registry: ClientRegistry;
  readonly identity: Identity;
  readonly clientProjects: ClientProjects;
  /** False under `CUBA_PROJECT_FILTER=off`. */
  readonly filterOn: boolean;
}

export function createProjects({ db, registry, identity, clientProjects, filterOn }: ProjectsParts): Projects {
  /** Project rows are control plane: read and written under scope `everything`. */
  const control = (ctx: CallContext): CallContext => ({ ...ctx, scope: everywhere });

  const similar = async (tx: Tx, name: string) => {
    const key = projectNameKey(name);
    const all = await tx.all(projectNames({}));
    return all.filter((one) => one.name !== name && projectNameKey(one.name) === key).map((one) => one.name);
  };

  return {
    list: (ctx, page) =>
      db.read(control(ctx), async (tx) => ({
        rows: await tx.all(projectList(page)),
        total: (await tx.first(projectCount({})))?.count ?? 0,
      })),

    async current(ctx) {
      const active = identity.active(ctx.client, ctx.bound);
      if (active === undefined || active.identity !== null) return active;
      const identities = await db.read(control(ctx), (tx) => tx.all(identitiesOfProject({ projectId: active.id })));
      return { ...active, identity: identities[0]?.identity ?? null };
    },

    async switchTo(ctx, name) {
      if (!filterOn)
        throw invalid("Project scoping is switched off (CUBA_PROJECT_FILTER=off), so there is nothing to switch. Nothing was changed.");
      const { session } = ctx;
      const state = ctx.bound ? registry.of(ctx.client) : undefined;
      const outcome = await db.write(control(ctx), async (tx) => {
        const similarNames = await similar(tx, name);
        const project = await tx.first(upsertProject({ name }));
        if (project === undefined) throw new Error("an upsert returned no row");
        if (session !== undefined) await tx.run(bindSessionProject(session.id, project.id));
        else if (state?.outlives === true) await clientProjects.keep(tx, ctx.client, "switch", project.id);
        return {
          project: { id: project.id, name: project.name },
          created: project.created,
          similarNames: project.created ? similarNames : [],
        };
      });
      if (state !== undefined) {
        // What the database has: a session that another call opened meanwhile keeps its own project.
        if (session === undefined) state.switched = outcome.project;
        else if (state.session?.id === session.id) state.session = { ...state.session, project: outcome.project };
      }
      return { ...outcome, session: session?.id, unbound: !ctx.bound };
    },

    stats: (ctx, name) =>
      db.read(control(ctx), async (tx) => {
        const active = identity.active(ctx.client, ctx.bound);
        const project = name === undefined ? active : await projectNamed(tx, name, "project");
        if (project === undefined) return undefined;
        const counts = await tx.first(projectStats({ projectId: project.id }));
        if (counts === undefined) throw new Error("a count returned no row");
        return { project: { id: project.id, name: project.name }, ...counts };
      }),

    async rename(ctx, name, to) {
      const renamed = await db.write(control(ctx), async (tx) => {
        const from = await tx.first(projectByName({ name }));
        if (from === undefined) return undefined;
        const taken = await tx.first(projectByName({ name: to }));
        if (taken !== undefined && taken.id !== from.id)
          throw conflict(
            `A project '${to}' exists already; nothing was renamed. To put the two together use cuba_proyecto action=merge name=${name} to=${to}.`,
            { field: "to" },
          );
        return (await tx.run(renameProject({ id: from.id, from: from.name, to }))) === 0 ? undefined : from.id;
      });
      if (renamed === undefined) return false;
      registry.repoint(renamed, { id: renamed, name: to });
      return true;
    },

    async merge(ctx, name, to, confirm) {
      const merged = await db.write(control(ctx), (tx) => mergeProjects(tx, { name, to, confirm }));
      if (merged.kind === "merged") registry.repoint(merged.from.id, merged.to);
      return merged;
    },

    backfill: (ctx, name, confirm) => db.write(control(ctx), (tx) => backfillProject(tx, { name, confirm })),
  };
}
