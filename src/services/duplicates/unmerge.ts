/** Taking a merge of entities apart again, from its undo file: everything in one transaction, or nothing. */
import { z } from "zod";
import type { CallScope } from "../../kernel/context.ts";
import { conflict, invalid } from "../../kernel/errors.ts";
import type { Database } from "../../store/port.ts";
import { foldedAway, lockedWinners, unfoldEntity } from "../../store/queries/entity-unmerge.ts";
import { insertEntity, projectExists } from "../../store/queries/undo.ts";

const ids = z.array(z.uuid());
const snapshotSchema = z.object({
  folds: z.array(z.object({ loser: z.uuid(), winner: z.uuid() })).min(1),
  entities: z.array(
    z.object({
      entity: z.looseObject({ id: z.uuid(), name: z.string(), entity_type: z.string(), project_id: z.uuid().nullable() }),
      aliases: z.array(z.string()),
      relations: z.array(z.looseObject({ id: z.uuid(), from_entity: z.uuid(), to_entity: z.uuid() })),
      observations: ids,
      episodes: ids,
      facts: ids,
      syncAliases: ids,
      winnerAliases: z.array(z.string()),
    }),
  ),
});

export interface Unmerged {
  readonly restored: readonly { readonly name: string; readonly from: string; readonly observations: number }[];
  /** Names of entities that are there: they were never merged, or are back. */
  readonly skipped: readonly string[];
}

export interface Unmerge {
  /**
   * @throws MemoryError `invalid` for what is no such file; `conflict` where the winner, the project or the name is not free, or a sync bundle has
   * carried the merge to other machines. Nothing was written then.
   */
  undo(ctx: CallScope, snapshot: unknown): Promise<Unmerged>;
}

export function createUnmerge({ db, queue }: { readonly db: Database; readonly queue: { poke(): void } }): Unmerge {
  return {
    async undo(ctx, raw) {
      const parsed = snapshotSchema.safeParse(raw);
      if (!parsed.success) throw invalid("This is no undo file of a merge; nothing was written.");
      const { folds, entities } = parsed.data;
      const winnerOf = new Map(folds.map(({ loser, winner }) => [loser, winner]));
      /** Where the rows of a loser may lie: a winner can have been the loser of a later fold. */
      const holdersOf = (loser: string): string[] => {
        const found: string[] = [];
        for (let next = winnerOf.get(loser); next !== undefined && !found.includes(next); next = winnerOf.get(next)) found.push(next);
        return found;
      };
      const done = await db.write(ctx, async (tx): Promise<Unmerged> => {
        const away = new Map((await tx.all(foldedAway({ entities: entities.map(({ entity }) => entity) }))).map((row) => [row.id, row]));
        const gone = entities.filter(({ entity }) => away.has(entity.id));
        const holders = await tx.all(lockedWinners({ ids: [...new Set(gone.flatMap(({ entity }) => holdersOf(entity.id)))] }));
        const restored: { name: string; from: string; observations: number }[] = [];
        for (const { entity } of gone) {
          const { name, project_id: projectId } = entity;
          if (away.get(entity.id)?.left === true)
            throw conflict(
              `A sync bundle has left this machine since '${name}' was merged, and other machines have merged it too; nothing was written.`,
            );
          if (away.get(entity.id)?.taken === true)
            throw conflict(`There is another entity '${name}' by now; nothing was written. Rename it first.`);
          if (!holders.some(({ id }) => holdersOf(entity.id).includes(id)))
            throw conflict(`The entity that '${name}' went into is gone, and what went with it; nothing was written.`);
          if (projectId !== null && !(await tx.first(projectExists({ id: projectId })))?.found)
            throw conflict(`The project of '${name}' is gone; nothing was written. Create it first.`);
        }
        // All are there before rows move: a relation can join two of them.
        for (const { entity } of gone) await tx.run(insertEntity(entity));
        // The last fold first: what came into a loser by an earlier one is then there to be taken out.
        for (const each of [...gone].reverse()) {
          const { entity, ...parts } = each;
          const from = holders.find(({ id }) => holdersOf(entity.id).includes(id));
          const taken = { ...parts, loser: entity.id, name: entity.name, holders: holdersOf(entity.id) };
          const { before, observations, after } = unfoldEntity(taken);
          for (const statement of before) await tx.run(statement);
          const came = await tx.run(observations);
          for (const statement of after) await tx.run(statement);
          restored.push({ name: entity.name, from: from?.name ?? "", observations: came });
        }
        return {
          restored: restored.reverse(),
          skipped: entities.filter(({ entity }) => !away.has(entity.id)).map(({ entity }) => entity.name),
        };
      });
      if (done.restored.length > 0) queue.poke();
      return done;
    },
  };
}
