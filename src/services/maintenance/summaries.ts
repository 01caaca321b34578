/** Condensing an entity (`tools-maintenance.md` §5.4): one observation in the place of many, which stay as history. */
import type { CallContext } from "../../kernel/context.ts";
import type { Database } from "../../store/port.ts";
import { retireAll, summarizable } from "../../store/queries/maintenance.ts";
import { resolveEntity } from "../entities/resolve.ts";
import type { FactMirror } from "../facts.ts";
import type { NoteStore } from "../observations/store.ts";

export interface Summarized {
  readonly entity: string;
  readonly requestedName: string | undefined;
  readonly id: string;
  readonly superseded: number;
  /** Decisions and lessons that stayed. */
  readonly kept: number;
  /** Rows that wait for review: nobody has read them, so no summary stands for them. */
  readonly withheld: number;
}

export interface Summaries {
  /** @throws MemoryError `not_found` where the entity is not in scope; nothing was written then */
  summarize(
    ctx: CallContext,
    request: { readonly entityName: string; readonly summary: string; readonly includeProtected: boolean },
  ): Promise<Summarized>;
}

export interface SummariesParts {
  readonly db: Database;
  readonly notes: NoteStore;
  readonly facts: FactMirror;
  readonly queue: { poke(): void };
}

export function createSummaries({ db, notes, facts, queue }: SummariesParts): Summaries {
  return {
    async summarize(ctx, { entityName, summary, includeProtected }) {
      const done = await db.write(ctx, async (tx) => {
        const entity = await resolveEntity(tx, entityName, ctx.scope, "read");
        const [stored] = await notes.store(tx, ctx, [
          { entityName: entity.name, content: summary, observationType: "fact", source: "consolidation", force: true },
        ]);
        if (stored === undefined || stored.kind === "refused") throw stored?.error ?? new Error("a note had no outcome");
        if (stored.kind !== "added") throw new Error("a forced note was not stored");
        const rows = await tx.all(summarizable({ entityId: entity.id, scope: ctx.scope, except: stored.id }));
        const readable = rows.filter((row) => !row.isWithheld);
        const ids = readable.filter((row) => includeProtected || !row.isProtected).map((row) => row.id);
        if (ids.length > 0) {
          await tx.run(retireAll({ ids, successor: stored.id }));
          await facts.close(tx, ids, "superseded", stored.id);
        }
        return {
          entity: entity.name,
          requestedName: entity.requestedName,
          id: stored.id,
          superseded: ids.length,
          kept: readable.length - ids.length,
          withheld: rows.length - readable.length,
        };
      });
      queue.poke();
      return done;
    },
  };
}
