/** Episodes: what happened, who took part, what it touched (`tools-graph.md` §4.2). Repetition is information here, so nothing is a duplicate. */
import { informationDensity } from "../domain/density.ts";
import { lexicalText } from "../domain/lexical.ts";
import { parseInstant } from "../domain/timestamps.ts";
import type { CallContext } from "../kernel/context.ts";
import { invalid } from "../kernel/errors.ts";
import type { Database, RowOf } from "../store/port.ts";
import { insertEpisode } from "../store/queries/episodes.ts";
import { episodeCounts, episodesOf } from "../store/queries/observations-lists.ts";
import { resolveEntity } from "./entities/resolve.ts";
import type { Listing, Page } from "./observations/observations.ts";

export interface EpisodeNote {
  readonly entityName: string;
  readonly content: string;
  readonly actors: readonly string[];
  readonly artifacts: readonly string[];
  /** RFC 3339 with a zone; now by default. */
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  /** Withheld from every reader until somebody promotes it. */
  readonly trust?: "quarantined" | undefined;
}

export interface AddedEpisode {
  readonly id: string;
  readonly entityName: string;
  readonly requestedName: string | undefined;
  readonly importance: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export type ListedEpisode = RowOf<typeof episodesOf>;

export interface Episodes {
  add(ctx: CallContext, episode: EpisodeNote): Promise<AddedEpisode>;
  list(ctx: CallContext, entityName: string, page: Page): Promise<Listing<ListedEpisode>>;
}

/** The instant in UTC, or undefined. @throws MemoryError `invalid`. */
function instant(text: string | undefined, field: string) {
  if (text === undefined) return undefined;
  const read = parseInstant(text);
  if (read === undefined) throw invalid(`${field} must be an RFC 3339 instant with its zone. Nothing was written.`, { field });
  return read;
}

export function createEpisodes({ db, queue }: { readonly db: Database; readonly queue: { poke(): void } }): Episodes {
  return {
    async add(ctx, episode) {
      const started = instant(episode.startedAt, "started_at");
      const ended = instant(episode.endedAt, "ended_at");
      if (started !== undefined && ended !== undefined && ended.epochMicros < started.epochMicros)
        throw invalid(
          `ended_at (${ended.text}) is before started_at (${started.text}). An episode ends after it began. Nothing was written.`,
          { field: "ended_at" },
        );
      // Its importance is what it says; its decay starts from it.
      const importance = informationDensity(episode.content);
      const stored = await db.write(
        ctx,
        async (tx) => {
          const entity = await resolveEntity(tx, episode.entityName, ctx.scope, "create");
          const row = await tx.first(
            insertEpisode({
              entityId: entity.id,
              content: episode.content,
              actors: episode.actors,
              artifacts: episode.artifacts,
              importance,
              trust: episode.trust ?? "trusted",
              startedAt: started?.text ?? null,
              endedAt: ended?.text ?? null,
              lexical: lexicalText(episode.content),
              sessionId: ctx.session?.id ?? null,
              projectId: entity.projectId,
            }),
          );
          if (row === undefined) throw new Error("an insert returned no row");
          return { ...row, entityName: entity.name, requestedName: entity.requestedName };
        },
        { byKey: true },
      );
      queue.poke();
      return { ...stored, importance };
    },

    list: (ctx, entityName, page) =>
      db.read(ctx, async (tx) => {
        const entity = await resolveEntity(tx, entityName, ctx.scope, "read");
        const counts = await tx.first(episodeCounts({ entityId: entity.id, scope: ctx.scope }));
        const rows = await tx.all(episodesOf({ entityId: entity.id, scope: ctx.scope, ...page }));
        return {
          entityName: entity.name,
          requestedName: entity.requestedName,
          rows,
          total: counts?.total ?? rows.length,
          hidden: counts?.hidden ?? 0,
        };
      }),
  };
}
