/** The visible context window (`tools-maintenance.md` §14): notes, messages, artifacts and the memories that matter now. Reads only. */
import { type CallContext, everywhere, type Scope } from "../kernel/context.ts";
import { causeChain } from "../kernel/errors.ts";
import { firstChars } from "../kernel/text.ts";
import type { Database, Tx } from "../store/port.ts";
import { newestArtifacts } from "../store/queries/artifacts.ts";
import { entitySnippets, importantSnippets, namesVersion, type Snippet, sessionSnippets } from "../store/queries/context.ts";
import { lookForAddress } from "../store/queries/reminders.ts";
import type { Filters } from "../store/queries/search-filters.ts";
import { addressesOf } from "./reminders.ts";
import { createMentionCache } from "./search/arms/mentions.ts";
import type { WorkingMemory } from "./working-memory.ts";

const MOST_NOTES = 20;
const MOST_ARTIFACTS = 30;
const MOST_RECALLED = 15;
/** The session's own newest, and those of entities that the notes mention. */
const OWN = 8;
const MENTIONED = 8;
/** Characters of the notes in which names are looked for: the newest notes come first. */
const MENTION_CHARS = 20_000;

export interface Layers {
  readonly notes: readonly { readonly content: string; readonly tag: string | null }[];
  readonly messages: readonly { readonly message: string; readonly from: string | null }[];
  readonly artifacts: readonly { readonly path: string; readonly version: number; readonly hash: string }[];
  readonly recall: readonly Snippet[];
  /** Layers that could not be read and are empty for that. */
  readonly incomplete: readonly string[];
}

export interface ContextWindow {
  look(ctx: CallContext): Promise<Layers>;
}

export interface ContextWindowParts {
  readonly db: Database;
  readonly workingMemory: Pick<WorkingMemory, "read">;
}

/** The first of each entity and piece, in order. */
export function withoutRepeats(snippets: readonly Snippet[], most: number): Snippet[] {
  const seen = new Set<string>();
  const kept: Snippet[] = [];
  for (const each of snippets) {
    const key = JSON.stringify([each.entity, each.snippet]).toLowerCase();
    if (seen.has(key)) continue;
    seen.add(key);
    kept.push(each);
    if (kept.length === most) break;
  }
  return kept;
}

export function createContextWindow({ db, workingMemory }: ContextWindowParts): ContextWindow {
  const names = createMentionCache();

  const mentioned = async (tx: Tx, scope: Scope, notes: string): Promise<Snippet[]> => {
    if (notes === "") return [];
    const filters: Filters = { scope, includeUnscoped: false, after: undefined, before: undefined, tag: undefined };
    const version = (await tx.first(namesVersion({ filters })))?.changes ?? 0;
    const found = await names.find(tx, notes, filters, version);
    const entityIds = [...new Set(found.map(({ entityId }) => entityId))];
    return entityIds.length === 0 ? [] : await tx.all(entitySnippets({ entityIds, scope, limit: MENTIONED }));
  };

  return {
    async look(ctx) {
      const { scope, session } = ctx;
      const incomplete: string[] = [];
      const layer = async <T>(name: string, read: () => Promise<readonly T[]>): Promise<readonly T[]> => {
        try {
          return await read();
        } catch (cause) {
          if (ctx.signal.aborted) throw cause;
          ctx.log.warn("a layer of the context could not be read", { layer: name, cause: causeChain(cause) });
          incomplete.push(name);
          return [];
        }
      };
      const notes = await layer("working_memory", async () => {
        const { rows } = await workingMemory.read(ctx, { tag: undefined, limit: MOST_NOTES, offset: 0 });
        return rows.map(({ content, tag }) => ({ content, tag }));
      });
      const messages = await layer("agent_notes", async () => {
        if (!ctx.bound) return [];
        const waiting = await db.read({ ...ctx, scope: everywhere }, (tx) =>
          tx.all(lookForAddress({ addresses: addressesOf(ctx.client) })),
        );
        return waiting.map(({ message, fromAgent }) => ({ message, from: fromAgent }));
      });
      const artifacts = await layer("artifacts", () => db.read(ctx, (tx) => tx.all(newestArtifacts({ scope, limit: MOST_ARTIFACTS }))));
      const recall = await layer("top_recall", () =>
        db.read(ctx, async (tx) => {
          const own = session === undefined ? [] : await tx.all(sessionSnippets({ sessionId: session.id, scope, limit: OWN }));
          const named = await mentioned(tx, scope, firstChars(notes.map(({ content }) => content).join("\n"), MENTION_CHARS));
          const important = await tx.all(importantSnippets({ scope, limit: MOST_RECALLED }));
          return withoutRepeats([...own, ...named, ...important], MOST_RECALLED);
        }),
      );
      return { notes, messages, artifacts, recall, incomplete };
    },
  };
}
