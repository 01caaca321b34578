/** Working memory (Baddeley 1992; `tools-maintenance.md` §10): scratch notes of one session, gone with it or after their time. Search never sees them. */
import { type CallContext, everywhere, projectOf } from "../kernel/context.ts";
import { conflict, refused } from "../kernel/errors.ts";
import type { Database } from "../store/port.ts";
import {
  deleteExpired,
  deleteNotes,
  insertNote,
  liveNoteCount,
  liveNotes,
  noteCount,
  type Owner,
  type WorkingNote,
} from "../store/queries/working-memory.ts";
import type { Identity } from "./identity/identity.ts";
import type { Page } from "./observations/observations.ts";

/** Live notes of one session. */
export const MOST_NOTES = 500;

export interface NewNote {
  readonly content: string;
  readonly tag: string | undefined;
  readonly ttlSeconds: number;
}

export interface WorkingMemory {
  /** @throws MemoryError `conflict` where the session is full · `refused` for a client that cannot be recognised again. */
  write(ctx: CallContext, note: NewNote): Promise<{ readonly id: string; readonly expiresAt: string }>;
  /** Newest first; nothing for a client that cannot be recognised again. */
  read(ctx: CallContext, asked: Page & { readonly tag: string | undefined }): Promise<{ rows: readonly WorkingNote[]; total: number }>;
  /** @returns how many live notes went. */
  clear(ctx: CallContext, tag: string | undefined): Promise<number>;
}

export interface WorkingMemoryParts {
  readonly db: Database;
  readonly identity: Pick<Identity, "sessionKey">;
}

export function createWorkingMemory({ db, identity }: WorkingMemoryParts): WorkingMemory {
  const ownerOf = (ctx: CallContext): Owner | undefined =>
    ctx.bound || ctx.session !== undefined ? { sessionId: ctx.session?.id ?? null, clientKey: identity.sessionKey(ctx.client) } : undefined;

  return {
    async write(ctx, { content, tag, ttlSeconds }) {
      const owner = ownerOf(ctx);
      if (owner === undefined)
        throw refused(
          "This client declared no identity, so a note could not be found again. Nothing was written. Send the header Mcp-Client-Id (one value for each workspace).",
        );
      return await db.write(ctx, async (tx) => {
        await tx.run(deleteExpired(owner));
        const { count } = (await tx.first(noteCount({ ...owner, most: MOST_NOTES }))) ?? { count: 0 };
        if (count >= MOST_NOTES)
          throw conflict(
            `The board holds ${MOST_NOTES} notes, as many as fit. Nothing was written. Clear some with cuba_pizarra action=clear, with tag for a part of them.`,
          );
        const made = await tx.first(insertNote({ ...owner, projectId: projectOf(ctx.scope), content, tag, ttlSeconds }));
        if (made === undefined) throw new Error("an insert returned no row");
        return made;
      });
    },

    async read(ctx, { tag, limit, offset }) {
      const owner = ownerOf(ctx);
      if (owner === undefined) return { rows: [], total: 0 };
      const asked = { ...owner, tag, scope: ctx.scope };
      return await db.read(ctx, async (tx) => ({
        rows: await tx.all(liveNotes({ ...asked, limit, offset })),
        total: (await tx.first(liveNoteCount(asked)))?.count ?? 0,
      }));
    },

    async clear(ctx, tag) {
      const owner = ownerOf(ctx);
      if (owner === undefined) return 0;
      // A session may have changed its project since: what it wrote before is its own all the same.
      const gone = await db.write({ ...ctx, scope: everywhere }, (tx) => tx.first(deleteNotes({ ...owner, tag })));
      return gone?.count ?? 0;
    },
  };
}
