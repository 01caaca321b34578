/** Feedback (`tools-maintenance.md` §6): what helped gains, what was wrong loses or is corrected, and a person decides what is believed. */
import { cleanName } from "../domain/names.ts";
import { punished, rewarded } from "../domain/strength/reinforcement.ts";
import type { Trust } from "../domain/trust.ts";
import type { CallContext } from "../kernel/context.ts";
import { conflict, notFound, refused } from "../kernel/errors.ts";
import { findSecret } from "../kernel/secrets.ts";
import type { Database, RowOf, Tx } from "../store/port.ts";
import {
  saveTrust,
  saveWeight,
  type TrustedKind,
  textOf,
  textToCorrect,
  type WeighedKind,
  waitingCounts,
  waitingEpisodes,
  waitingErrors,
  waitingObservations,
  weightOf,
} from "../store/queries/feedback.ts";
import type { Audit } from "./audit.ts";
import { findEntity } from "./entities/resolve.ts";
import type { FactMirror } from "./facts.ts";
import type { Page } from "./observations/observations.ts";
import type { NoteStore } from "./observations/store.ts";

export interface Targets {
  readonly observationId: string | undefined;
  readonly entityName: string | undefined;
}

export type { TrustedKind };

export interface Pending {
  readonly observations: readonly RowOf<typeof waitingObservations>[];
  readonly episodes: readonly RowOf<typeof waitingEpisodes>[];
  readonly errors: readonly RowOf<typeof waitingErrors>[];
  /** Everything that waits, by list. */
  readonly totals: { readonly observations: number; readonly episodes: number; readonly errors: number };
}

export interface Feedback {
  /** @returns how many rows changed: an unknown entity is none. @throws MemoryError `not_found` for an observation that is not in scope; nothing was written then */
  weigh(ctx: CallContext, verdict: "positive" | "negative", targets: Targets): Promise<number>;
  /** Gives an observation the text that is right; the old one becomes history. @returns false where it said that already */
  correct(ctx: CallContext, id: string, correction: string): Promise<boolean>;
  /** Decides whether a row is believed. @throws MemoryError `not_found` · `refused` where the text looks like a credential */
  trust(
    ctx: CallContext,
    row: { readonly kind: TrustedKind; readonly id: string },
    trust: Trust,
    options: { readonly allowSecret: boolean },
  ): Promise<void>;
  /** What waits for a decision, newest first. */
  pending(ctx: CallContext, page: Page): Promise<Pending>;
}

export interface FeedbackParts {
  readonly db: Database;
  readonly notes: Pick<NoteStore, "rewrite">;
  readonly facts: FactMirror;
  readonly audit: Pick<Audit, "record">;
  readonly queue: { poke(): void };
}

const missing = (kind: string, id: string) =>
  notFound(kind, id, {
    where: "(within current project scope)",
    next: "Nothing was written. cuba_eco action=pending lists what waits; cuba_cronica action=list shows the observations of an entity.",
  });

export function createFeedback({ db, notes, facts, audit, queue }: FeedbackParts): Feedback {
  const move = async (tx: Tx, ctx: CallContext, kind: WeighedKind, id: string, good: boolean): Promise<boolean> => {
    const before = await tx.first(weightOf({ kind, id, scope: ctx.scope }));
    if (before === undefined) return false;
    const importance = (good ? rewarded : punished)(before.importance, before.accessCount);
    return (await tx.run(saveWeight({ kind, id, importance, used: good }))) > 0;
  };

  return {
    weigh: (ctx, verdict, { observationId, entityName }) =>
      db.write(ctx, async (tx) => {
        const good = verdict === "positive";
        let moved = 0;
        if (observationId !== undefined) {
          if (!(await move(tx, ctx, "observation", observationId, good))) throw missing("observation", observationId);
          moved++;
        }
        if (entityName !== undefined) {
          const entity = await findEntity(tx, cleanName(entityName, "entity_name"), ctx.scope);
          if (entity !== undefined && (await move(tx, ctx, "entity", entity.id, good))) moved++;
        }
        return moved;
      }),

    async correct(ctx, id, correction) {
      const changed = await db.write(ctx, async (tx) => {
        const before = await tx.first(textToCorrect({ id, scope: ctx.scope }));
        if (before === undefined) throw missing("observation", id);
        if (before.isRetired)
          throw conflict(
            `Observation ${id} is retired and no longer served, so a correction of it would be read by nobody. Nothing was written. ` +
              (before.successor === null
                ? "Store what holds now with cuba_cronica action=add."
                : `Correct the one in its place: ${before.successor}.`),
            { field: "observation_id" },
          );
        if (before.content === correction) return false;
        if (!(await notes.rewrite(tx, ctx, { id, content: correction, reason: "corrected" }))) throw missing("observation", id);
        await audit.record(tx, "memory.correct", { observation_id: id });
        return true;
      });
      if (changed) queue.poke();
      return changed;
    },

    trust: (ctx, { kind, id }, trust, { allowSecret }) =>
      db.write(ctx, async (tx) => {
        const row = await tx.first(textOf({ kind, id, scope: ctx.scope }));
        if (row === undefined) throw missing(kind, id);
        const secret = trust === "trusted" && !allowSecret ? findSecret(row.text) : undefined;
        if (secret !== undefined)
          throw refused(
            `refusing to promote the ${kind}: what looks like a ${secret.label} stands in it. Promoted text is searchable, exported to files in git and served to every client. ` +
              "Nothing was written. Correct it first, or pass allow_secret: true if this is a false match.",
            { field: "id", reason: secret.label },
          );
        if ((await tx.run(saveTrust({ kind, id, trust, scope: ctx.scope }))) === 0) throw missing(kind, id);
        if (kind === "observation") {
          // Ended first: a row that was trusted already has its fact.
          await facts.close(tx, [id], "quarantined");
          if (trust === "trusted") await facts.append(tx, [id], ctx.log);
        }
        const named = kind === "observation" ? { observation_id: id } : { id };
        await audit.record(tx, trust === "trusted" ? "memory.promote" : "memory.quarantine", { kind, ...named, trust });
      }),

    pending: (ctx, page) =>
      db.read(ctx, async (tx) => {
        const q = { scope: ctx.scope, ...page };
        return {
          observations: await tx.all(waitingObservations(q)),
          episodes: await tx.all(waitingEpisodes(q)),
          errors: await tx.all(waitingErrors(q)),
          totals: (await tx.first(waitingCounts({ scope: ctx.scope }))) ?? { observations: 0, episodes: 0, errors: 0 },
        };
      }),
  };
}
