import { z } from "zod";
import { invalid } from "../kernel/errors.ts";
import { MAX_BATCH, observationSources, observationTypes } from "../services/observations/kinds.ts";
import type { AddResult, Listing } from "../services/observations/observations.ts";
import { readNotes } from "../services/observations/read-notes.ts";
import { batchAnswer, overloadWarning, shownConflict } from "./batch-answer.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { allowSecret, CONTENT_CHARS, choice, entityName, filledText, flag, instant, int, listOf, offset, text, uuid } from "./fields.ts";
import { fitRows, tokensLeft } from "./fit.ts";
import { noteItem, wantedItem } from "./note-item.ts";
import { round } from "./numbers.ts";

/** Rows of a list by default; a timeline shows more, since a row of it says less. */
const LIST_ROWS = 50;
const TIMELINE_ROWS = 100;
/** Who took part, what was touched: most entries of an episode and their length in code points. */
const MOST_NAMES = 100;
const NAME_CHARS = 500;
/** Characters of older versions that a timeline shows beside one text. */
const HISTORY_CHARS = 8_000;

const name = entityName("entity the memory is about; created when missing");
const content = filledText(CONTENT_CHARS, "the memory in full sentences, or what happened");
/** `trusted` is no error and loosens nothing: the policy decides then. */
const withheld = z
  .enum(["quarantined", "trusted"])
  .meta({ enum: ["quarantined"], description: "store but withhold from search until promoted" })
  .optional();
const withheldOrNot = (trust: "quarantined" | "trusted" | undefined) => (trust === "quarantined" ? trust : undefined);
/** Of any list. */
const MOST_ROWS = 200;
const limit = int(1, MOST_ROWS, "list, episode_list, timeline: most rows").optional();
const page = { limit, offset: offset.optional() };

export default defineTool({
  name: "cuba_cronica",
  group: "graph",
  profile: "lean",
  title: "Observations and episodes",
  describe:
    "Attach facts, decisions, lessons… to an entity, record episodes (events with actors and artifacts), list them, or show a timeline. Creates the entity when missing. What adds nothing is not stored twice; a text that differs in a word is stored, and flagged when close to another.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  actions: {
    add: action({
      input: z.object({
        entity_name: name,
        content,
        observation_type: choice(observationTypes, "kind of memory").default("fact"),
        source: choice(observationSources, "who says so").default("agent"),
        trust: withheld,
        force: flag("add: store even what adds nothing").optional(),
        ...allowSecret,
      }),
      secretGate: ["content", "entity_name"],
      run: async (ctx, a, { observations }) =>
        added(
          await observations.add(ctx, {
            entityName: a.entity_name,
            content: a.content,
            observationType: a.observation_type,
            source: a.source,
            trust: withheldOrNot(a.trust),
            force: a.force ?? false,
          }),
          a.observation_type,
        ),
    }),
    delete: action({
      deletesAtOnce: true,
      input: z.object({
        observation_id: uuid("delete: which one (alias: id)").optional(),
        id: uuid("the same as observation_id").optional().meta({ hidden: true }),
      }),
      run: async (ctx, a, { observations }) => {
        const id = (a.observation_id ?? a.id)?.toLowerCase();
        if (id === undefined)
          throw invalid("observation_id is required (a UUID). Nothing was deleted. action=list shows ids.", { field: "observation_id" });
        await observations.remove(ctx, id);
        return { action: "delete", deleted_id: id };
      },
    }),
    list: action({
      input: z.object({ entity_name: name, ...page }),
      run: async (ctx, a, { observations }) => {
        const start = a.offset ?? 0;
        const found = await observations.list(ctx, a.entity_name, { limit: a.limit ?? LIST_ROWS, offset: start });
        const rows = found.rows.map((row) => ({
          id: row.id,
          content: row.content,
          type: row.type,
          importance: round(row.importance),
          source: row.source,
          access_count: row.accessCount,
          created_at: row.createdAt,
        }));
        return await listed("list", "observations", found, rows, start, a.limit);
      },
    }),
    batch_add: action({
      input: z.object({
        entity_name: name.optional(),
        trust: withheld,
        observations: listOf(noteItem, 1, MAX_BATCH, "batch_add: memories; entity_name is the default for items without one"),
        ...allowSecret,
      }),
      secretGate: ["observations[].content", "observations[].entity_name", "entity_name"],
      run: async (ctx, a, { observations }) => {
        const read = readNotes(a.observations, { entityName: a.entity_name, trust: withheldOrNot(a.trust), wanted: wantedItem });
        const stored = await observations.addMany(ctx, read.notes);
        return { action: "batch_add", ...(await batchAnswer(stored, read, a.observations.length)) };
      },
    }),
    episode_add: action({
      input: z.object({
        entity_name: name,
        content,
        actors: listOf(text(1, NAME_CHARS, "who"), 0, MOST_NAMES, "episode_add: who took part").default([]),
        artifacts: listOf(text(1, NAME_CHARS, "what"), 0, MOST_NAMES, "episode_add: files or resources affected").default([]),
        started_at: instant("episode_add: when it began, now by default").optional(),
        ended_at: instant("episode_add: when it was over").optional(),
        trust: withheld,
        ...allowSecret,
      }),
      secretGate: ["content", "entity_name", "actors[]", "artifacts[]"],
      run: async (ctx, a, { episodes }) => {
        const { entity_name: entity, content: told, actors, artifacts } = a;
        const stored = await episodes.add(ctx, {
          entityName: entity,
          content: told,
          actors,
          artifacts,
          startedAt: a.started_at,
          endedAt: a.ended_at,
          trust: withheldOrNot(a.trust),
        });
        return {
          action: "episode_add",
          id: stored.id,
          ...named(stored),
          actors,
          artifacts,
          importance: round(stored.importance),
          started_at: stored.startedAt,
          ended_at: stored.endedAt,
          ...(a.trust === "quarantined" ? { trust: a.trust } : {}),
          embedding: "pending",
        };
      },
    }),
    episode_list: action({
      input: z.object({ entity_name: name, ...page }),
      run: async (ctx, a, { episodes }) => {
        const start = a.offset ?? 0;
        const found = await episodes.list(ctx, a.entity_name, { limit: a.limit ?? LIST_ROWS, offset: start });
        const rows = found.rows.map((row) => ({
          id: row.id,
          content: row.content,
          actors: row.actors,
          artifacts: row.artifacts,
          importance: round(row.importance),
          started_at: row.startedAt,
          ended_at: row.endedAt,
        }));
        return await listed("episode_list", "episodes", found, rows, start, a.limit);
      },
    }),
    timeline: action({
      input: z.object({ entity_name: name, ...page }),
      run: async (ctx, a, { observations }) => {
        const start = a.offset ?? 0;
        const found = await observations.timeline(ctx, a.entity_name, { limit: a.limit ?? TIMELINE_ROWS, offset: start });
        const rows = found.rows.map((row) =>
          row.kind === "observation"
            ? {
                type: row.kind,
                id: row.id,
                content: row.content,
                observation_type: row.observationType,
                importance: round(row.importance),
                version: row.version,
                timestamp: row.at,
                ...history(row.previousVersions),
              }
            : {
                type: row.kind,
                id: row.id,
                content: row.content,
                actors: row.actors,
                artifacts: row.artifacts,
                importance: round(row.importance),
                timestamp: row.at,
              },
        );
        // Read newest first, so that what does not fit is the oldest; shown in the order of time.
        return await listed("timeline", "items", found, rows, start, a.limit, true);
      },
    }),
  },
});

const named = ({ entityName: shown, requestedName }: { entityName: string; requestedName: string | undefined }) => ({
  entity_name: shown,
  ...(requestedName === undefined ? {} : { requested_name: requestedName }),
});

/** Newest versions first to fit; the stored order is oldest first. */
function history(versions: readonly unknown[] | null) {
  if (versions === null || versions.length === 0) return {};
  const kept: unknown[] = [];
  let chars = 0;
  for (const version of versions.toReversed()) {
    chars += JSON.stringify(version).length;
    if (chars > HISTORY_CHARS) break;
    kept.unshift(version);
  }
  return { previous_versions: kept, ...(kept.length < versions.length ? { previous_versions_total: versions.length } : {}) };
}

function added(result: AddResult, observationType: string): Answer {
  const ms = Math.round(result.searchableMs);
  switch (result.kind) {
    case "added":
      return {
        action: "add",
        id: result.id,
        ...named(result),
        observation_type: observationType,
        information_density: round(result.density),
        importance: round(result.importance),
        tags: result.tags,
        overload_warning: result.overload === undefined ? null : overloadWarning(result.entityName, result.overload),
        superseded: result.overload?.retired ?? 0,
        embedding: "pending",
        write_to_searchable_ms: ms,
        ...(result.chunks > 0 ? { chunks: result.chunks } : {}),
        ...(result.trust === "quarantined" ? { trust: result.trust } : {}),
        ...(result.possibleConflict === undefined ? {} : { possible_conflict: shownConflict(result.possibleConflict) }),
        ...(result.matchesQuarantined.length === 0 ? {} : { matches_quarantined: result.matchesQuarantined }),
      };
    case "duplicate":
      return {
        action: "add",
        deduplicated: true,
        ...named(result),
        existing_id: result.existingId,
        similarity: round(result.similarity),
        existing_content: result.contentPreview,
        embedding: result.ready ? "ready" : "pending",
        message: "The entity has this text already, so nothing was stored. Pass force: true to store it all the same.",
        write_to_searchable_ms: ms,
      };
    case "reinforced":
      return {
        action: "add",
        prediction_error: "reinforce",
        ...named(result),
        reinforced_id: result.existingId,
        embedding: result.ready ? "ready" : "pending",
        message:
          "The entity has a text with the same words; it was strengthened and nothing was stored. Pass force: true to store it all the same.",
        write_to_searchable_ms: ms,
      };
  }
}

/** A list of one entity, as much as fits. */
async function listed<Row extends Answer>(
  act: string,
  key: string,
  found: Listing<unknown>,
  rows: readonly Row[],
  start: number,
  limited: number | undefined,
  oldestFirst = false,
): Promise<Answer> {
  const head = { action: act, ...named(found) };
  const shown = await fitRows({
    rows,
    total: found.total,
    offset: start,
    budget: await tokensLeft(head),
    long: "content",
    whole: limited === 1,
  });
  return {
    ...head,
    [key]: oldestFirst ? shown.rows.toReversed() : shown.rows,
    count: shown.rows.length,
    total: shown.total,
    truncated: shown.truncated,
    next: shown.next,
    quarantined_hidden: found.hidden,
  };
}
