/** Fills an empty memory with a corpus whose ids the questions know: `id`, `entity`, `content`, sometimes `created_at`, `entity_type`. */
import { z } from "zod";
import { informationDensity, initialImportance } from "../../domain/density.ts";
import { lexicalText } from "../../domain/lexical.ts";
import { cleanName, nameKey } from "../../domain/names.ts";
import { autoTags } from "../../domain/tags.ts";
import { parseInstant } from "../../domain/timestamps.ts";
import { type CallContext, projectOf } from "../../kernel/context.ts";
import { conflict, invalid } from "../../kernel/errors.ts";
import { isUuid, newId } from "../../kernel/ids.ts";
import { isStorable } from "../../kernel/text.ts";
import type { Database, Tx } from "../../store/port.ts";
import { anyRow, insertCorpusEntities, insertCorpusObservations } from "../../store/queries/evaluation.ts";
import type { Chunks } from "../chunks.ts";
import type { EmbeddingQueue } from "../embedding/queue.ts";

const line = z.object({
  id: z.string().refine(isUuid, "is no UUID"),
  entity: z.string(),
  entity_type: z.string().default("concept"),
  content: z.string().refine((text) => text.trim() !== "" && isStorable(text), "is blank or cannot be stored"),
  created_at: z
    .string()
    .refine((text) => parseInstant(text) !== undefined, "is no RFC 3339 instant")
    .optional(),
});
type Memory = z.output<typeof line>;

export interface LoadedCorpus {
  readonly observations: number;
  readonly entities: number;
  readonly chunks: number;
  /** Vectors that are still to be computed; 0 where all are there, or where no model is. */
  readonly withoutVector: number;
}

export interface CorpusParts {
  readonly db: Database;
  readonly chunks: Chunks;
  readonly queue: Pick<EmbeddingQueue, "poke" | "drain">;
}

/** Rows of one transaction: short enough that the embedded database is not held up for long. */
const BATCH_ROWS = 200;

function readCorpus(text: string): Memory[] {
  const seen = new Set<string>();
  return text
    .replace(/^\ufeff/, "")
    .split("\n")
    .flatMap((raw, at): Memory[] => {
      if (raw.trim() === "") return [];
      let value: unknown;
      try {
        value = JSON.parse(raw);
      } catch (cause) {
        throw invalid(`line ${at + 1}: not JSON. Nothing was loaded.`, { cause });
      }
      const checked = line.safeParse(value);
      if (!checked.success) {
        const issue = checked.error.issues[0];
        throw invalid(`line ${at + 1}: ${issue?.path.join(".") ?? ""} ${issue?.message ?? "does not fit"}. Nothing was loaded.`);
      }
      if (seen.has(checked.data.id)) throw invalid(`line ${at + 1}: the id stands there a second time. Nothing was loaded.`);
      seen.add(checked.data.id);
      return [checked.data];
    });
}

/**
 * Stores every row of a corpus in the scope of the call, which must be empty, under the ids it brings; vectors follow where a model is there.
 * Nothing is refused as a duplicate: the questions count on each row.
 * @param drainMs how long to wait for the vectors.
 * @throws MemoryError `invalid` for a line that does not fit · `conflict` where the scope holds rows. Both before anything is written.
 */
export async function loadCorpus(
  { db, chunks, queue }: CorpusParts,
  ctx: CallContext,
  text: string,
  drainMs: number,
): Promise<LoadedCorpus> {
  const memories = readCorpus(text);
  const projectId = projectOf(ctx.scope);
  if ((await db.read(ctx, (tx) => tx.first(anyRow({ projectId })))) !== undefined)
    throw conflict(
      "This memory holds rows already, and a corpus needs an empty one: its figures would be about both. Nothing was loaded. Take a new project or a new data directory.",
    );
  const entities = new Map<string, { id: string; type: string }>();
  for (const { entity, entity_type } of memories) {
    const name = cleanName(entity, "entity");
    if (!entities.has(name)) entities.set(name, { id: newId(), type: entity_type });
  }
  await db.write(ctx, async (tx) => {
    for (const batch of batches([...entities])) await storeEntities(tx, batch, projectId);
  });
  let pieces = 0;
  for (const batch of batches(memories))
    pieces += await db.write(ctx, async (tx) => {
      await storeMemories(tx, batch, entities, projectId);
      return chunks.store(tx, batch);
    });
  queue.poke();
  return { observations: memories.length, entities: entities.size, chunks: pieces, withoutVector: await queue.drain(drainMs) };
}

const batches = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / BATCH_ROWS) }, (_, at) => items.slice(at * BATCH_ROWS, (at + 1) * BATCH_ROWS));

const storeEntities = (tx: Tx, batch: readonly [string, { readonly id: string; readonly type: string }][], projectId: string | null) =>
  tx.run(
    insertCorpusEntities({
      ids: batch.map(([, { id }]) => id),
      names: batch.map(([name]) => name),
      keys: batch.map(([name]) => nameKey(name)),
      types: batch.map(([, { type }]) => type),
      lexical: batch.map(([name, { type }]) => lexicalText(`${name} ${type}`)),
      projectId,
    }),
  );

const storeMemories = (
  tx: Tx,
  batch: readonly Memory[],
  entities: ReadonlyMap<string, { readonly id: string }>,
  projectId: string | null,
) =>
  tx.run(
    insertCorpusObservations({
      ids: batch.map(({ id }) => id.toLowerCase()),
      entityIds: batch.map(({ entity }) => entities.get(cleanName(entity, "entity"))?.id ?? ""),
      contents: batch.map(({ content }) => content),
      lexical: batch.map(({ content }) => lexicalText(content)),
      importances: batch.map(({ content }) => initialImportance("fact", informationDensity(content))),
      tags: batch.map(({ content }) => autoTags(content)),
      createdAt: batch.map(({ created_at }) => created_at ?? null),
      projectId,
    }),
  );
