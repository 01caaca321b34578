/** Deleting one observation so that it can come back: a snapshot first, the deletion only of what was seen, the way back. */
import { z } from "zod";
import type { CallScope } from "../kernel/context.ts";
import { conflict, invalid, notFound } from "../kernel/errors.ts";
import { isUuid, newId } from "../kernel/ids.ts";
import type { Database } from "../store/port.ts";
import {
  clearTombstones,
  deleteSeenObservation,
  entityFor,
  insertChunks,
  insertEntity,
  insertFacts,
  insertObservation,
  leftSinceDeletion,
  observationExists,
  observationsWithParts,
  projectExists,
} from "../store/queries/undo.ts";

const id = z.string().refine(isUuid, "a UUID");
/** A column of the row that we read; every other column travels with it. */
const observationRow = z.looseObject({
  id,
  entity_id: id,
  content: z.string(),
  observation_type: z.string(),
  importance: z.number(),
  version: z.number().int(),
  project_id: id.nullable(),
  created_at: z.string(),
});
const entityRow = z.looseObject({ id, name: z.string(), entity_type: z.string(), project_id: id.nullable() });
const factRow = z.looseObject({ fact_id: id });

const snapshotSchema = z.object({
  observation: observationRow,
  entity: entityRow,
  /** Name of its project; null where it has none. */
  project: z.string().nullable(),
  /** Texts of its chunks, in order. */
  chunks: z.array(z.string()),
  /** The facts that mirror it. */
  facts: z.array(factRow),
});

/** Everything that a deletion takes away, vectors excepted. */
export type Snapshot = z.infer<typeof snapshotSchema>;

export interface Restored {
  /** Its own id, or a new one where a bundle has left this machine since: peers hold the tombstone of the old one, and it wins. */
  readonly id: string;
  readonly sameId: boolean;
  readonly entity: string;
}

export interface Undo {
  /** @throws MemoryError `not_found` */
  snapshot(ctx: CallScope, observationId: string): Promise<Snapshot>;
  /** Deletes what the snapshot shows. @throws MemoryError `conflict` where it has changed since; nothing was deleted then */
  remove(ctx: CallScope, seen: { readonly id: string; readonly version: number }): Promise<void>;
  /** Puts it back; its vectors are computed again by the queue. @throws MemoryError `invalid` for what is no snapshot, `conflict` where it is there */
  restore(ctx: CallScope, snapshot: unknown): Promise<Restored>;
}

export interface UndoParts {
  readonly db: Database;
  /** Wakes whoever computes vectors; without it a restored row waits for the next backfill. */
  readonly requestEmbedding?: () => void;
}

export function createUndo({ db, requestEmbedding }: UndoParts): Undo {
  return {
    async snapshot(ctx, observationId) {
      const found = await db.read(ctx, (tx) => tx.first(observationsWithParts({ ids: [observationId] })));
      if (found === undefined) throw notFound("observation", observationId, { next: "memory-industry search shows ids." });
      return snapshotSchema.parse(found);
    },

    async remove(ctx, seen) {
      const gone = await db.write(ctx, (tx) => tx.first(deleteSeenObservation(seen)));
      if (gone === undefined)
        throw conflict(`The observation ${seen.id} was changed or deleted a moment ago; nothing was deleted. Look at it again.`);
    },

    async restore(ctx, raw) {
      const parsed = snapshotSchema.safeParse(raw);
      if (!parsed.success) {
        const [issue] = parsed.error.issues;
        throw invalid(
          `This is not an undo file of ours (${issue?.path.join(".") || "its top"}: ${issue?.message ?? "unreadable"}); nothing was written.`,
        );
      }
      const { observation, entity, project, chunks, facts } = parsed.data;
      const restored = await db.write(ctx, async (tx): Promise<Restored> => {
        if ((await tx.first(observationExists({ id: observation.id })))?.found)
          throw conflict(`The observation ${observation.id} is there already; nothing was written.`);
        const projectId = observation.project_id;
        if (projectId !== null && !(await tx.first(projectExists({ id: projectId })))?.found)
          throw conflict(
            `Its project '${project ?? projectId}' is gone, so it has no place to come back to; nothing was written. Create the project first.`,
          );
        const sameId = (await tx.first(leftSinceDeletion({ id: observation.id })))?.left !== true;
        const newObservationId = sameId ? observation.id : newId();
        const home = (await tx.first(entityFor({ entity })))?.id;
        if (home === undefined) await tx.run(insertEntity(entity));
        const entityId = home ?? entity.id;
        await tx.run(insertObservation({ ...observation, id: newObservationId, entity_id: entityId }));
        if (chunks.length > 0) await tx.run(insertChunks({ observationId: newObservationId, projectId, contents: chunks }));
        const mirrored = facts.map((fact) => ({
          ...fact,
          fact_id: sameId ? fact.fact_id : newId(),
          observation_id: newObservationId,
          subject_entity_id: entityId,
        }));
        if (mirrored.length > 0) await tx.run(insertFacts(mirrored));
        if (sameId)
          await tx.run(clearTombstones({ observationId: newObservationId, factIds: mirrored.map((fact) => fact.fact_id), entityId }));
        return { id: newObservationId, sameId, entity: entity.name };
      });
      requestEmbedding?.();
      return restored;
    },
  };
}
