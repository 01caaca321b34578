/** A search service over a test database, and rows to search: written directly, as the write path of each table would. */
import { sql } from "drizzle-orm";
import { embeddingLabel } from "../../src/domain/embedding-text.ts";
import { lexicalText } from "../../src/domain/lexical.ts";
import type { FusionMode } from "../../src/domain/retrieval/fusion.ts";
import type { Embedder } from "../../src/inference/port.ts";
import type { CallContext } from "../../src/kernel/context.ts";
import { noDeadline } from "../../src/kernel/deadline.ts";
import { unavailable } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { toEnd } from "../../src/kernel/steps.ts";
import { createCodeReferences } from "../../src/services/codegraph/references.ts";
import type { Judge } from "../../src/services/judge/judge.ts";
import type { FreshVectors } from "../../src/services/search/arms/vector.ts";
import { createGate } from "../../src/services/search/gate/gate.ts";
import type { RerankStage } from "../../src/services/search/rerank.ts";
import { createSearch } from "../../src/services/search/search.ts";
import { textArray, uuidArray, vectorParam } from "../../src/store/codecs.ts";
import type { Database } from "../../src/store/port.ts";
import type { Answer } from "../../src/tools/define.ts";
import search from "../../src/tools/search.ts";
import type { Services } from "../../src/tools/services.ts";

export const LABEL = embeddingLabel("test-model");

/** No model installed. */
export const noEmbedder: Embedder = {
  label: LABEL,
  dimensions: 384,
  status: () => ({ state: "missing", reason: "No embedding model is installed. Install it with 'memory-industry models embed'." }),
  warm: () => {},
  embed: async () => {
    throw unavailable("no embedding model is installed.");
  },
  close: async () => {},
};

/** A vector with given components at given places, unit length. */
export function vectorOf(parts: Readonly<Record<number, number>>): Float32Array {
  const vector = new Float32Array(384);
  for (const [at, value] of Object.entries(parts)) vector[Number(at)] = value;
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
}

/** A model that knows the vectors of some questions; any other lies in a direction of its own. */
export const embedderOf = (known: Readonly<Record<string, Float32Array>>): Embedder => ({
  ...noEmbedder,
  status: () => ({ state: "ready", model: "test-model" }),
  embed: async (texts) => texts.map((text) => known[text] ?? vectorOf({ 383: 1 })),
});

export const callContext = (given: Partial<CallContext> = {}): CallContext => ({
  id: "test",
  client: "test",
  bound: true,
  principal: { kind: "owner" },
  scope: { kind: "none" },
  session: undefined,
  deadline: noDeadline,
  signal: new AbortController().signal,
  sampling: undefined,
  progress: () => {},
  log: silentLogger,
  ...given,
});

export interface SearchOptions {
  readonly embedder?: Embedder;
  readonly fresh?: FreshVectors;
  readonly fusion?: FusionMode;
  readonly entityLeg?: boolean;
  readonly rerank?: RerankStage;
  readonly judge?: Judge;
  /** Distance of `CUBA_OOD_THRESHOLD`. */
  readonly oodThreshold?: number;
  readonly clock?: () => number;
}

/** `cuba_faro` over a database: arguments in, answer out. */
export function faroOver(
  db: Database,
  { embedder = noEmbedder, fresh, fusion = "scores", entityLeg = true, rerank, judge, oodThreshold, clock = () => 0 }: SearchOptions = {},
) {
  const gate = createGate({ db, embedder, threshold: oodThreshold, fitLimit: 5_000, clock });
  const service = createSearch({ db, embedder, fresh, fusion, entityLeg, rerank, judge, gate });
  const services = {
    search: service,
    references: createCodeReferences({ db }),
    presentation: { compactChars: 1_200 },
  } as Partial<Services> as Services;
  const ask = async (args: Record<string, unknown>, ctx: CallContext = callContext()): Promise<Answer> => {
    const parsed = toEnd(search.parse(args));
    if (parsed.kind !== "run") throw new Error("the tool forwards nothing");
    return parsed.run(ctx, services);
  };
  return { ask, service, gate };
}

export interface Seed {
  readonly id?: string;
  readonly entity?: string;
  readonly entityType?: string;
  readonly content: string;
  readonly project?: string | null;
  readonly trust?: "trusted" | "quarantined";
  readonly type?: string;
  readonly importance?: number;
  readonly createdAt?: string;
  readonly tags?: readonly string[];
  readonly vector?: Float32Array;
  /** Pieces of a long text with their vectors. */
  readonly chunks?: readonly { readonly content: string; readonly vector?: Float32Array }[];
}

const everything = { principal: { kind: "owner" }, scope: { kind: "everything" }, signal: new AbortController().signal } as const;

/** Names a project so that rows can hang from it. @returns its id. */
export async function seedProject(db: Database, name: string, id = newId()): Promise<string> {
  await db.write(everything, async (tx) => {
    await tx.run(sql`insert into brain_projects (id, name) values (${id}::uuid, ${name}::text)`);
  });
  return id;
}

export async function seedEntity(
  db: Database,
  { name, type = "concept", project = null, id = newId() }: { name: string; type?: string; project?: string | null; id?: string },
): Promise<string> {
  await db.write(everything, async (tx) => {
    await tx.run(sql`
      insert into brain_entities (id, name, entity_type, project_id, lexical)
      values (${id}::uuid, ${name}::text, ${type}::text, ${project}::uuid, ${lexicalText(`${name} ${type}`)}::text)
      on conflict on constraint uq_brain_entities_name_project do nothing`);
  });
  return id;
}

const entityIdOf = (name: string, project: string | null) =>
  sql`(select id from brain_entities where name = ${name}::text and project_id is not distinct from ${project}::uuid)`;

/** Stores an observation under an entity of its project, which is made where it is missing. @returns its id. */
export async function seedObservation(db: Database, seed: Seed): Promise<string> {
  const { id = newId(), entity = "notes", entityType = "concept", project = null, importance = 0.5 } = seed;
  await seedEntity(db, { name: entity, type: entityType, project });
  await db.write(everything, async (tx) => {
    await tx.run(sql`
      insert into brain_observations (id, entity_id, content, lexical, project_id, trust, observation_type, importance, tags, created_at, embedding, embedding_model)
      values (${id}::uuid, ${entityIdOf(entity, project)}, ${seed.content}::text, ${lexicalText(seed.content)}::text, ${project}::uuid,
        ${seed.trust ?? "trusted"}::text, ${seed.type ?? "fact"}::text, ${importance}::float8, ${textArray(seed.tags ?? [])},
        coalesce(${seed.createdAt ?? null}::timestamptz, now()), ${vectorParam(seed.vector ?? null)}, ${seed.vector === undefined ? null : LABEL}::text)`);
    for (const [at, chunk] of (seed.chunks ?? []).entries())
      await tx.run(sql`
        insert into brain_observation_chunks (observation_id, chunk_index, content, project_id, embedding, embedding_model)
        values (${id}::uuid, ${at}::int, ${chunk.content}::text, ${project}::uuid, ${vectorParam(chunk.vector ?? null)},
          ${chunk.vector === undefined ? null : LABEL}::text)`);
  });
  return id;
}

/** Stores many short observations under one entity in one statement. @returns their ids, in order. */
export async function seedMany(
  db: Database,
  contents: readonly string[],
  entity = "notes",
  project: string | null = null,
): Promise<string[]> {
  await seedEntity(db, { name: entity, project });
  const ids = contents.map(() => newId());
  await db.write(everything, async (tx) => {
    await tx.run(sql`
      insert into brain_observations (id, entity_id, content, lexical, project_id)
      select n.id, ${entityIdOf(entity, project)}, n.content, n.lexical, ${project}::uuid
      from unnest(${uuidArray(ids)}, ${textArray(contents)}, ${textArray(contents.map(lexicalText))}) as n(id, content, lexical)`);
  });
  return ids;
}

/** Stores an episode. @returns its id. */
export async function seedEpisode(db: Database, seed: Omit<Seed, "tags" | "chunks" | "type">): Promise<string> {
  const { id = newId(), entity = "notes", entityType = "concept", project = null } = seed;
  await seedEntity(db, { name: entity, type: entityType, project });
  await db.write(everything, async (tx) => {
    await tx.run(sql`
      insert into brain_episodes (id, entity_id, content, lexical, project_id, trust, created_at, started_at, embedding, embedding_model)
      values (${id}::uuid, ${entityIdOf(entity, project)}, ${seed.content}::text, ${lexicalText(seed.content)}::text, ${project}::uuid,
        ${seed.trust ?? "trusted"}::text, coalesce(${seed.createdAt ?? null}::timestamptz, now()),
        coalesce(${seed.createdAt ?? null}::timestamptz, now()), ${vectorParam(seed.vector ?? null)}, ${seed.vector === undefined ? null : LABEL}::text)`);
  });
  return id;
}

/** Stores an error. @returns its id. */
export async function seedError(
  db: Database,
  seed: Pick<Seed, "id" | "project" | "trust" | "createdAt"> & { message: string; type?: string; solution?: string },
): Promise<string> {
  const { id = newId(), project = null, type = "TypeError", solution = null } = seed;
  await db.write(everything, async (tx) => {
    await tx.run(sql`
      insert into brain_errors (id, error_type, error_message, solution, resolved, resolved_at, lexical, project_id, trust, created_at)
      values (${id}::uuid, ${type}::text, ${seed.message}::text, ${solution}::text, ${solution !== null}::bool,
        case when ${solution !== null}::bool then now() end, ${lexicalText(`${type} ${seed.message} ${solution ?? ""}`)}::text, ${project}::uuid,
        ${seed.trust ?? "trusted"}::text, coalesce(${seed.createdAt ?? null}::timestamptz, now()))`);
  });
  return id;
}

export async function seedRelation(
  db: Database,
  {
    from,
    to,
    type = "uses",
    strength = 1,
    project = null,
  }: { from: string; to: string; type?: string; strength?: number; project?: string | null },
): Promise<void> {
  await db.write(everything, async (tx) => {
    await tx.run(sql`
      insert into brain_relations (from_entity, to_entity, relation_type, strength, project_id)
      values (${entityIdOf(from, project)}, ${entityIdOf(to, project)}, ${type}::text, ${strength}::float8, ${project}::uuid)`);
  });
}

/** Rows of an answer. */
export const rowsOf = (answer: Answer): Record<string, unknown>[] => answer.results as Record<string, unknown>[];
export const idsOf = (answer: Answer): unknown[] => rowsOf(answer).map((row) => row.id);
