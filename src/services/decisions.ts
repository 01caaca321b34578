/** Architecture decisions (`tools-cognition.md` §5): observations of one entity a project, which never decay. */
import { type DecisionParts, decisionHeading, decisionText } from "../domain/decision-text.ts";
import { type CallContext, projectOf } from "../kernel/context.ts";
import { invalid } from "../kernel/errors.ts";
import { charCount } from "../kernel/text.ts";
import type { Database, Tx } from "../store/port.ts";
import {
  type Decision,
  decisionCount,
  decisionsById,
  decisionsTitled,
  matchingDecisions,
  newestDecisions,
} from "../store/queries/decisions.ts";
import { createEntity, findEntity, IMPLICIT_TYPE } from "./entities/resolve.ts";
import { MAX_CONTENT_CHARS } from "./observations/kinds.ts";
import type { Page } from "./observations/observations.ts";
import type { NoteStore } from "./observations/store.ts";
import { analyse } from "./search/analyse.ts";

export type { Decision };

/** The entity that decisions hang from, one a project. */
export const DECISIONS_ENTITY = "architecture_decisions";
/** Decisions of one title that an answer names. */
const MOST_SIMILAR = 5;

export interface Decisions {
  /** @throws MemoryError `invalid` where the five lines together are longer than one memory may be. */
  record(
    ctx: CallContext,
    decision: DecisionParts,
  ): Promise<{ readonly id: string; readonly similar: readonly { readonly id: string; readonly similarity: number }[] }>;
  query(ctx: CallContext, text: string, page: Page): Promise<{ rows: readonly (Decision & { similarity: number })[]; total: number }>;
  /** Newest first. */
  list(ctx: CallContext, page: Page): Promise<{ rows: readonly Decision[]; total: number }>;
}

export interface DecisionsParts {
  readonly db: Database;
  readonly notes: NoteStore;
  /** Told after each commit. */
  readonly queue: { poke(): void };
}

/** Without a project the unscoped entity is meant, also where a project has one of this name. */
async function ensureEntity(tx: Tx, ctx: CallContext): Promise<void> {
  const projectId = projectOf(ctx.scope);
  const known = projectId === null ? undefined : await findEntity(tx, DECISIONS_ENTITY, ctx.scope);
  if (known === undefined) await createEntity(tx, DECISIONS_ENTITY, IMPLICIT_TYPE, projectId);
}

export function createDecisions({ db, notes, queue }: DecisionsParts): Decisions {
  return {
    async record(ctx, decision) {
      const content = decisionText(decision);
      const length = charCount(content);
      if (length > MAX_CONTENT_CHARS)
        throw invalid(
          `The decision has ${length} characters in all; at most ${MAX_CONTENT_CHARS} fit. Shorten context, alternatives or rationale. Nothing was written.`,
          { field: "context" },
        );
      const recorded = await db.write(
        ctx,
        async (tx) => {
          await ensureEntity(tx, ctx);
          // Two decisions may be alike to the letter and still be two: one was taken again. So the duplicate gate is not asked.
          const note = { entityName: DECISIONS_ENTITY, content, observationType: "decision", source: "agent", force: true } as const;
          const [stored] = await notes.store(tx, ctx, [note]);
          if (stored === undefined) throw new Error("a note had no outcome");
          if (stored.kind === "refused") throw stored.error;
          if (stored.kind !== "added") throw new Error("a forced note was not added");
          const similar = await tx.all(
            decisionsTitled({
              entityId: stored.entity.id,
              firstLine: decisionHeading(decision.title),
              content,
              except: stored.id,
              scope: ctx.scope,
              limit: MOST_SIMILAR,
            }),
          );
          return { id: stored.id, similar };
        },
        { byKey: true },
      );
      queue.poke();
      return recorded;
    },

    query: (ctx, text, { limit, offset }) =>
      db.read(ctx, async (tx) => {
        const { scope } = ctx;
        const ranked = await tx.all(matchingDecisions({ text, lexemes: analyse(text).lexemes, scope }));
        const page = ranked.slice(offset, offset + limit);
        const rows = new Map((await tx.all(decisionsById({ ids: page.map(({ id }) => id), scope }))).map((row) => [row.id, row]));
        return {
          rows: page.flatMap(({ id, similarity }) => {
            const row = rows.get(id);
            return row === undefined ? [] : [{ ...row, similarity }];
          }),
          total: ranked.length,
        };
      }),

    list: (ctx, page) =>
      db.read(ctx, async (tx) => ({
        rows: await tx.all(newestDecisions({ scope: ctx.scope, ...page })),
        total: (await tx.first(decisionCount({ scope: ctx.scope })))?.count ?? 0,
      })),
  };
}
