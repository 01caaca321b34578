/** Entities: create, rename, retype, delete and read them (`tools-graph.md` §4.1). */
import { lexicalText } from "../../domain/lexical.ts";
import { cleanName, nameKey } from "../../domain/names.ts";
import { type CallContext, projectOf } from "../../kernel/context.ts";
import { busy, conflict, invalid } from "../../kernel/errors.ts";
import type { Database, Tx } from "../../store/port.ts";
import { asBuilder } from "../../store/queries/code-builds.ts";
import {
  attachedTo,
  clearVectorsOf,
  deleteAlias,
  deleteEntity,
  entitiesWithKey,
  entityDetails,
  entityOf,
  insertAlias,
  updateEntity,
} from "../../store/queries/entities.ts";
import { renameSubject } from "../../store/queries/facts.ts";
import { type ListedObservation, observationCounts, observationsOf } from "../../store/queries/observations-lists.ts";
import { type LinkedEntity, linkCount, linksOf } from "../../store/queries/relations.ts";
import type { FiredReminder } from "../../store/queries/reminders.ts";
import type { Page } from "../observations/observations.ts";
import type { Reminders } from "../reminders.ts";
import type { EntityAccess } from "./access.ts";
import { createEntity, entityNotFound, findEntity, type ResolvedEntity, resolveEntity } from "./resolve.ts";

export const entityTypes = ["concept", "project", "technology", "person", "pattern", "config"] as const;
export type EntityType = (typeof entityTypes)[number];

/** Most relations that a read shows, the strongest first. */
export const SHOWN_RELATIONS = 100;

export interface EntitySummary {
  readonly id: string;
  readonly name: string;
  readonly entityType: string;
  readonly importance: number;
  readonly accessCount: number;
}

export type CreateResult = { readonly entity: EntitySummary } & (
  | { readonly kind: "created"; readonly similarExisting: readonly string[] }
  | {
      readonly kind: "existed";
      readonly requestedName: string | undefined;
      readonly resolvedFrom: "alias" | "normalized" | undefined;
      readonly typeMismatch: boolean;
    }
);

export interface UpdateResult {
  readonly oldName: string;
  readonly newName: string;
  readonly entityType: string;
  readonly changed: boolean;
}

export interface Attached {
  readonly observations: number;
  readonly episodes: number;
  readonly relations: number;
  readonly facts: number;
  readonly aliases: number;
}

export type DeleteResult = { readonly name: string } & (
  | { readonly kind: "deleted" }
  /** It has something attached and nobody confirmed: nothing was deleted. */
  | { readonly kind: "unconfirmed"; readonly attached: Attached }
);

export interface EntityView {
  /** Values before this read strengthened it. */
  readonly entity: EntitySummary & { readonly createdAt: string; readonly aliases: readonly string[] };
  readonly requestedName: string | undefined;
  readonly observations: readonly ListedObservation[];
  readonly observationCount: number;
  readonly quarantinedHidden: number;
  readonly relations: readonly LinkedEntity[];
  readonly relationCount: number;
}

export interface Entities {
  create(ctx: CallContext, entity: { readonly name: string; readonly entityType: EntityType | undefined }): Promise<CreateResult>;
  /** @throws MemoryError `not_found` · `conflict` where the new name is taken: nothing is changed. */
  update(
    ctx: CallContext,
    change: { readonly name: string; readonly newName: string | undefined; readonly entityType: EntityType | undefined },
  ): Promise<UpdateResult>;
  remove(ctx: CallContext, name: string, confirm: boolean): Promise<DeleteResult>;
  /** Reads without a trace; {@link Entities.accessed} leaves it. */
  get(ctx: CallContext, name: string, page: Page): Promise<EntityView>;
  /** Fires the reminders of an entity that was read and strengthens what was shown. @returns what fired. */
  accessed(ctx: CallContext, view: EntityView, shownObservations: readonly string[]): Promise<readonly FiredReminder[]>;
}

export interface EntitiesParts {
  readonly db: Database;
  readonly access: EntityAccess;
  readonly reminders: Pick<Reminders, "onSubject">;
  /** Told when vectors were cleared. */
  readonly queue: { poke(): void };
}

export function createEntities({ db, access, reminders, queue }: EntitiesParts): Entities {
  const summary = async (tx: Tx, { id, name, entityType }: ResolvedEntity) => {
    const details = await tx.first(entityDetails({ id }));
    if (details === undefined) throw conflict(`Entity '${name}' was deleted while it was being read. Nothing was written.`);
    return { id, name, entityType, ...details };
  };

  const find = async (tx: Tx, rawName: string, ctx: CallContext): Promise<ResolvedEntity> => {
    const name = cleanName(rawName);
    // A change means exactly this name: a likeness of it is only good enough to read.
    const found = await findEntity(tx, name, ctx.scope, { normalized: false });
    if (found === undefined) throw await entityNotFound(tx, name, ctx.scope, "(within current project scope)");
    return found;
  };

  return {
    async create(ctx, wanted) {
      const name = cleanName(wanted.name);
      const result = await db.write(ctx, async (tx): Promise<CreateResult> => {
        // Another spelling is another entity here: whoever names one explicitly means it.
        const known = await findEntity(tx, name, ctx.scope, { normalized: false });
        const entity = known ?? (await createEntity(tx, name, wanted.entityType ?? "concept", projectOf(ctx.scope)));
        const shown = await summary(tx, entity);
        if (!entity.created) {
          const { requestedName, resolvedFrom } = entity;
          const typeMismatch = wanted.entityType !== undefined && wanted.entityType !== entity.entityType;
          return { kind: "existed", entity: shown, requestedName, resolvedFrom, typeMismatch };
        }
        const similar = await tx.all(entitiesWithKey({ nameKey: nameKey(name), except: name, scope: ctx.scope }));
        return { kind: "created", entity: shown, similarExisting: similar.map((row) => row.name) };
      });
      if (result.kind === "existed") await access.record(ctx, result.entity.id, []);
      return result;
    },

    async update(ctx, { name: rawName, newName, entityType }) {
      if (newName === undefined && entityType === undefined)
        throw invalid("new_name or entity_type is required: what should change? Nothing was written.", { field: "new_name" });
      const wanted = newName === undefined ? undefined : cleanName(newName, "new_name");
      const result = await db.write(ctx, async (tx): Promise<UpdateResult> => {
        const entity = await find(tx, rawName, ctx);
        const after = { name: wanted ?? entity.name, entityType: entityType ?? entity.entityType };
        const unchanged = after.name === entity.name && after.entityType === entity.entityType;
        if (!unchanged) await change(tx, entity, after);
        return { oldName: entity.name, newName: after.name, entityType: after.entityType, changed: !unchanged };
      });
      if (result.changed) queue.poke();
      return result;
    },

    remove: (ctx, rawName, confirm) =>
      db.write(ctx, async (tx) => {
        const entity = await find(tx, rawName, ctx);
        const attached = await tx.first(attachedTo({ id: entity.id }));
        if (attached === undefined) throw new Error("a count returned no row");
        // An alias alone, left by a rename, is nothing that could be lost.
        const holds = attached.observations + attached.episodes + attached.relations + attached.facts > 0;
        if (holds && !confirm) return { kind: "unconfirmed", name: entity.name, attached };
        await tx.first(asBuilder({ mode: "on" }));
        await tx.run(deleteEntity({ id: entity.id, scope: ctx.scope }));
        return { kind: "deleted", name: entity.name };
      }),

    get: (ctx, rawName, page) =>
      db.read(ctx, async (tx) => {
        const { scope } = ctx;
        const entity = await resolveEntity(tx, rawName, scope, "read", "name");
        const entityId = entity.id;
        const shown = await summary(tx, entity);
        const counts = await tx.first(observationCounts({ entityId, scope }));
        const observations = await tx.all(observationsOf({ entityId, scope, ...page }));
        const relations = await tx.all(linksOf({ entityId, scope, limit: SHOWN_RELATIONS }));
        const links =
          relations.length < SHOWN_RELATIONS ? relations.length : ((await tx.first(linkCount({ entityId, scope })))?.count ?? 0);
        return {
          entity: shown,
          requestedName: entity.requestedName,
          observations,
          observationCount: counts?.total ?? 0,
          quarantinedHidden: counts?.hidden ?? 0,
          relations,
          relationCount: links,
        };
      }),

    async accessed(ctx, view, shownObservations) {
      const fired = await reminders.onSubject(ctx, "on_access", view.entity.name);
      await access.record(ctx, view.entity.id, shownObservations);
      return fired;
    },
  };
}

/** Writes a new name and type with everything that follows from them, in one transaction. */
async function change(tx: Tx, entity: ResolvedEntity, after: { readonly name: string; readonly entityType: string }): Promise<void> {
  const { id, projectId } = entity;
  if (after.name !== entity.name) {
    const taken = await tx.first(entityOf({ name: after.name, projectId }));
    if (taken !== undefined)
      throw conflict(
        `The name '${after.name}' is taken by another entity of this project. Nothing was changed. ` +
          `To make the two one, run: memory-industry dedupe --merge '${entity.name}' --into '${after.name}'`,
        { field: "new_name" },
      );
    await tx.first(asBuilder({ mode: "on" }));
    if ((await tx.first(entityOf({ name: after.name, projectId }))) !== undefined)
      throw busy(
        `A run of 'memory-industry codegraph build' writes an entity '${after.name}', which shows when the run ends. Nothing was changed. ` +
          "Try again then, or choose another name. What a killed run left is taken away by the next one, or by 'memory-industry rem'.",
        { field: "new_name" },
      );
    await tx.run(insertAlias({ entityId: id, alias: entity.name }));
    await tx.run(deleteAlias({ entityId: id, alias: after.name }));
    await tx.run(renameSubject({ entityId: id, name: after.name }));
  }
  await tx.run(updateEntity({ id, ...after, nameKey: nameKey(after.name), lexical: lexicalText(`${after.name} ${after.entityType}`) }));
  for (const statement of clearVectorsOf(id)) await tx.run(statement);
}
