/** A memory of sixty rows that a threshold of abstention can be measured on, and a model that knows its questions. */
import { sql } from "drizzle-orm";
import type { TokenVectors } from "../../src/domain/retrieval/abstention/word-match.ts";
import type { Embedder } from "../../src/inference/port.ts";
import { unavailable } from "../../src/kernel/errors.ts";
import { readDataset } from "../../src/services/evaluation/dataset.ts";
import { createThresholdMeasure } from "../../src/services/search/gate/measure-threshold.ts";
import { uuidArray, vectorArray } from "../../src/store/codecs.ts";
import type { Database } from "../../src/store/port.ts";
import { callContext, embedderOf, LABEL, seedMany, vectorOf } from "./search.ts";

/** Sixty memories, each with words and a direction of its own; a question about one shares two of its three words and lies near it. */
export const WORDS = Array.from({ length: 60 }, (_, at) => [`alder${at}`, `birch${at}`, `cedar${at}`] as const);
const directionOf = (at: number) => vectorOf({ [at]: 1, 200: 0.3 });
export const questionOf = (at: number) => `where is ${WORDS[at]?.[0]} kept with ${WORDS[at]?.[1]} since monday`;
/** As many questions as carry the guarantee, and some. */
const ASKED = 24;
const EVERYDAY = ["when was the printing press invented", "which river flows through Vienna", "how do bees make honey"];
export const FOREIGN = "which walrus sings opera beyond jupiter";
/** The words of a row that meaning cannot find; they lie a little nearer to some of the sixty than to others. */
export const UNMEASURED = "walrus opera jupiter narwhal";

export const sixtyEmbedder: Embedder = embedderOf({
  ...Object.fromEntries(WORDS.map((_, at) => [questionOf(at), vectorOf({ [at]: 1, 200: 0.3, [201 + at]: 0.2 })])),
  [FOREIGN]: vectorOf({ 380: 1, 200: 0.1 }),
  [UNMEASURED]: vectorOf({ 380: 1, 200: 0.1, 0: 0.1, 1: 0.05 }),
});

/** The same model with a direction for each word beside a large part that all words share; it counts the texts it read. */
export function readingWords(): Embedder & { read: string[]; fails: boolean } {
  const tokensOf = (text: string): TokenVectors => {
    const pieces = (text.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => ` ${word}`);
    return { pieces, vectors: Float32Array.from(pieces.flatMap((piece) => [...vectorOf({ 383: 2, [Bun.hash.crc32(piece) % 383]: 1 })])) };
  };
  const model = {
    ...sixtyEmbedder,
    read: [] as string[],
    fails: false,
    tokens: async (texts: readonly string[]) => {
      if (model.fails) throw unavailable("the model is broken.");
      model.read.push(...texts);
      return texts.map(tokensOf);
    },
  };
  return model;
}

export const everything = { principal: { kind: "owner" }, scope: { kind: "everything" }, signal: new AbortController().signal } as const;

export async function seedSixty(db: Database, project: string | null = null): Promise<string[]> {
  const ids = await seedMany(
    db,
    WORDS.map((words) => words.join(" ")),
    "shelf",
    project,
  );
  await db.write(everything, async (tx) => {
    await tx.run(sql`
      update brain_observations as o set embedding = n.vector, embedding_model = ${LABEL}::text
      from unnest(${uuidArray(ids)}, ${vectorArray(ids.map((_, at) => directionOf(at)))}) as n(id, vector) where o.id = n.id`);
  });
  return ids;
}

export const datasetOf = (ids: readonly string[], extra: readonly Record<string, unknown>[] = []) =>
  readDataset(
    [...ids.slice(0, ASKED).map((id, at) => ({ query: questionOf(at), relevant_ids: [id] })), ...extra]
      .map((row) => JSON.stringify(row))
      .join("\n"),
    "keep",
  ).questions;

export const measureOn = (
  db: Database,
  questions: ReturnType<typeof datasetOf>,
  given: Partial<{ embedder: Embedder; lexicalOnly: boolean; apply: boolean; onApplied: () => void; project: string }> = {},
) =>
  createThresholdMeasure({
    db,
    embedder: given.embedder ?? sixtyEmbedder,
    clock: () => 0,
    everyday: EVERYDAY,
    onApplied: given.onApplied ?? (() => {}),
  }).run(callContext(given.project === undefined ? {} : { scope: { kind: "project", id: given.project } }), {
    questions,
    alpha: 0.05,
    samples: 5_000,
    lexicalOnly: given.lexicalOnly ?? false,
    apply: given.apply ?? true,
  });
