/** What a client may pick and read without calling a tool (`tools-maintenance.md` §17.10). Reads only: looking at a list is no use of a memory. */
import { cleanName } from "../domain/names.ts";
import type { CallContext } from "../kernel/context.ts";
import { causeChain, notFound } from "../kernel/errors.ts";
import type { Database, Query } from "../store/port.ts";
import { type ListedObservation, observationCounts, observationsOf } from "../store/queries/observations-lists.ts";
import { projectStats } from "../store/queries/projects.ts";
import { entityCard, offeredEntities, offeredProjects, offeredSnapshots, projectNamed } from "../store/queries/resources.ts";
import type { Compaction } from "./compaction.ts";
import { entityNotFound, findEntity } from "./entities/resolve.ts";

export interface Offer {
  readonly entities: readonly {
    readonly name: string;
    readonly entityType: string;
    readonly importance: number;
    readonly accessCount: number;
  }[];
  readonly projects: readonly { readonly name: string; readonly lastActiveAt: string }[];
  readonly snapshots: readonly { readonly id: string; readonly createdAt: string; readonly observations: number }[];
  /** Lists that could not be read; empty above. */
  readonly incomplete: readonly string[];
}

export interface EntityCard {
  readonly name: string;
  readonly entityType: string;
  readonly importance: number;
  readonly accessCount: number;
  readonly observations: readonly ListedObservation[];
  readonly total: number;
}

export interface ProjectCard {
  readonly id: string;
  readonly name: string;
  readonly entities: number;
  readonly observations: number;
  readonly episodes: number;
  readonly relations: number;
}

export interface Resources {
  offer(ctx: CallContext): Promise<Offer>;
  /** @throws MemoryError `not_found`, also for an entity that only withheld text speaks of · `ambiguous` */
  entity(ctx: CallContext, name: string): Promise<EntityCard>;
  /** @throws MemoryError `not_found`, also for another project than the active one. */
  project(ctx: CallContext, name: string): Promise<ProjectCard>;
  /** What a compaction froze, without what was deleted or withheld since. @throws MemoryError `not_found` */
  snapshot(ctx: CallContext, id: string): Promise<string>;
}

const SHOWN_OBSERVATIONS = 20;

export function createResources({
  db,
  compaction,
}: {
  readonly db: Database;
  readonly compaction: Pick<Compaction, "restore">;
}): Resources {
  return {
    async offer(ctx) {
      const incomplete: string[] = [];
      const { scope } = ctx;
      /** A list that cannot be read is named, and keeps none of the others back. */
      const list = async <Row>(name: string, ask: Query<Row>): Promise<Row[]> =>
        await db
          .read(ctx, (tx) => tx.all(ask))
          .catch((cause: unknown) => {
            if (ctx.signal.aborted) throw cause;
            ctx.log.warn("a list of resources could not be read", { list: name, cause: causeChain(cause) });
            incomplete.push(name);
            return [];
          });
      return {
        entities: await list("entities", offeredEntities({ scope })),
        projects: await list("projects", offeredProjects({ scope })),
        snapshots: await list("snapshots", offeredSnapshots({ scope })),
        incomplete,
      };
    },

    entity: (ctx, asked) =>
      db.read(ctx, async (tx) => {
        const { scope } = ctx;
        const name = cleanName(asked, "name");
        const found = await findEntity(tx, name, scope);
        const card = found === undefined ? undefined : await tx.first(entityCard({ id: found.id, scope }));
        if (card === undefined) throw await entityNotFound(tx, name, scope);
        const page = { entityId: card.id, scope, limit: SHOWN_OBSERVATIONS, offset: 0 };
        const counts = await tx.first(observationCounts({ entityId: card.id, scope }));
        const observations = await tx.all(observationsOf(page));
        return { ...card, observations, total: counts?.total ?? observations.length };
      }),

    project: (ctx, name) =>
      db.read(ctx, async (tx) => {
        const project = await tx.first(projectNamed({ name, scope: ctx.scope }));
        const stats = project === undefined ? undefined : await tx.first(projectStats({ projectId: project.id }));
        if (project === undefined || stats === undefined)
          throw notFound("project", name, { where: "(within current project scope)", next: "cuba_proyecto action=list names them." });
        const { entities, observations, episodes, relations } = stats;
        return { ...project, entities, observations, episodes, relations };
      }),

    async snapshot(ctx, id) {
      const restored = await compaction.restore(ctx, id);
      return restored?.summary ?? "";
    },
  };
}
