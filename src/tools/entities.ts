import { z } from "zod";
import { mostTokens } from "../kernel/tokens.ts";
import { type CreateResult, type DeleteResult, entityTypes } from "../services/entities/entities.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { allowSecret, choice, entityName, flag, int, offset } from "./fields.ts";
import { ANSWER_TOKENS, fitRows, tokensLeft } from "./fit.ts";
import { round } from "./numbers.ts";
import { shownReminder } from "./shown-reminder.ts";

/** Observations shown where nothing else was asked for, and at most. */
const OBSERVATIONS = 50;
const MOST_OBSERVATIONS = 200;
/** What the relations of an entity may take of an answer; a hundred of them with long names would leave nothing for the text. */
const RELATION_TOKENS = ANSWER_TOKENS / 4;

/** What old names may take; each can be 200 characters long. */
const ALIAS_BYTES = 2_000;

/** The first texts that fit a number of bytes; a token is never less than one. */
function firstBytes(texts: readonly string[], most: number): string[] {
  let bytes = 0;
  return texts.filter((text) => {
    bytes += mostTokens(text);
    return bytes <= most;
  });
}

const name = entityName("entity name, unique within a project");
const entityType = choice(entityTypes, "create (default concept); update: new type").optional();

export default defineTool({
  name: "cuba_alma",
  group: "graph",
  profile: "agent",
  title: "Entities",
  describe:
    "Knowledge-graph entities: create, get (with observations and relations), rename, delete. Reading an entity strengthens it and its neighbours. For notes about an entity use cuba_cronica.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  actions: {
    create: action({
      input: z.object({ name, entity_type: entityType, ...allowSecret }),
      secretGate: ["name"],
      run: async (ctx, a, { entities }) => created(await entities.create(ctx, { name: a.name, entityType: a.entity_type })),
    }),
    update: action({
      input: z.object({ name, new_name: entityName("update: the new name").optional(), entity_type: entityType, ...allowSecret }),
      secretGate: ["new_name"],
      run: async (ctx, a, { entities }) => {
        const done = await entities.update(ctx, { name: a.name, newName: a.new_name, entityType: a.entity_type });
        return {
          action: "update",
          old_name: done.oldName,
          new_name: done.newName,
          entity_type: done.entityType,
          changed: done.changed,
        };
      },
    }),
    delete: action({
      input: z.object({ name, confirm: flag("delete: required when the entity has anything attached").optional() }),
      run: async (ctx, a, { entities }) => deleted(await entities.remove(ctx, a.name, a.confirm ?? false)),
    }),
    get: action({
      input: z.object({
        name,
        limit: int(1, MOST_OBSERVATIONS, "get: most observations, default 50").optional(),
        offset: offset.optional(),
      }),
      run: async (ctx, a, { entities }) => {
        const start = a.offset ?? 0;
        const view = await entities.get(ctx, a.name, { limit: a.limit ?? OBSERVATIONS, offset: start });
        const { entity } = view;
        const aliases = firstBytes(entity.aliases, ALIAS_BYTES);
        const relations = await fitRows({ rows: view.relations, total: view.relationCount, offset: 0, budget: RELATION_TOKENS });
        const head = {
          action: "get",
          entity: {
            id: entity.id,
            name: entity.name,
            entity_type: entity.entityType,
            importance: round(entity.importance),
            access_count: entity.accessCount,
            created_at: entity.createdAt,
            aliases,
          },
          ...(aliases.length < entity.aliases.length ? { aliases_total: entity.aliases.length } : {}),
          ...(view.requestedName === undefined ? {} : { requested_name: view.requestedName }),
          relations: relations.rows,
          ...(relations.truncated ? { relations_truncated: true, relation_count: view.relationCount } : {}),
        };
        const observations = view.observations.map((row) => ({
          id: row.id,
          content: row.content,
          type: row.type,
          importance: round(row.importance),
          source: row.source,
          created_at: row.createdAt,
          tags: row.tags,
          evidence: row.evidence,
        }));
        const shown = await fitRows({
          rows: observations,
          total: view.observationCount,
          offset: start,
          budget: await tokensLeft(head),
          long: "content",
          whole: a.limit === 1,
        });
        const { relations: links, ...rest } = head;
        const answer = {
          ...rest,
          observations: shown.rows,
          observation_count: shown.total,
          truncated: shown.truncated,
          total: shown.total,
          next: shown.next,
          quarantined_hidden: view.quarantinedHidden,
          relations: links,
        };
        const fired = await entities.accessed(
          ctx,
          view,
          shown.rows.map((row) => row.id),
        );
        return fired.length === 0 ? answer : { ...answer, triggered_reminders: fired.map(shownReminder) };
      },
    }),
  },
});

function created(result: CreateResult): Answer {
  const { id, name: shown, entityType: type, importance, accessCount } = result.entity;
  const entity = { id, name: shown, entity_type: type, importance: round(importance) };
  if (result.kind === "created")
    return {
      action: "create",
      already_existed: false,
      entity,
      ...(result.similarExisting.length === 0 ? {} : { similar_existing: result.similarExisting }),
    };
  return {
    action: "create",
    already_existed: true,
    entity: { ...entity, access_count: accessCount + 1 },
    ...(result.requestedName === undefined ? {} : { requested_name: result.requestedName }),
    ...(result.resolvedFrom === undefined ? {} : { resolved_from: result.resolvedFrom }),
    ...(result.typeMismatch ? { type_mismatch: true } : {}),
    message: result.typeMismatch
      ? `The entity was there already; its type stays '${type}'. action=update changes it.`
      : "The entity was there already and was strengthened.",
  };
}

function deleted(result: DeleteResult): Answer {
  if (result.kind === "deleted") return { action: "delete", name: result.name, cascade: true };
  return {
    action: "delete",
    name: result.name,
    cascade: false,
    dry_run: true,
    would_delete: result.attached,
    message: "Nothing was deleted: what would_delete counts goes with the entity. Pass confirm: true to delete it all.",
  };
}
