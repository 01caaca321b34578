/** The development sets and the public corpus as the benches of retrieval load and ask them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Embedder } from "../../src/inference/port.ts";
import { newId } from "../../src/kernel/ids.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createChunks } from "../../src/services/chunks.ts";
import { createEmbeddingQueue } from "../../src/services/embedding/queue.ts";
import { createVectors } from "../../src/services/embedding/vectors.ts";
import { loadCorpus } from "../../src/services/evaluation/corpus.ts";
import { type Dataset, readDataset } from "../../src/services/evaluation/dataset.ts";
import type { Database } from "../../src/store/port.ts";
import { corpusFile, corpusProjects } from "../support/corpus.ts";
import { benchContext } from "./bench-database.ts";
import { sharedFolder } from "./eval-sets.ts";

export interface Part {
  readonly corpus: string;
  readonly questions: string;
}
export interface DevelopmentSet {
  readonly name: string;
  readonly parts: readonly Part[];
}

export const developmentSets: readonly DevelopmentSet[] = [
  {
    name: "LoCoMo",
    parts: ["26", "30", "41", "42", "43"].map((chat) => ({ corpus: `locomo/conv-${chat}`, questions: `locomo/conv-${chat}` })),
  },
  { name: "en", parts: [{ corpus: "xquad-r/en", questions: "xquad-r/en" }] },
  { name: "es", parts: [{ corpus: "xquad-r/es", questions: "xquad-r/es" }] },
  { name: "zh", parts: [{ corpus: "xquad-r/zh", questions: "xquad-r/zh" }] },
  { name: "es>en", parts: [{ corpus: "xquad-r/en", questions: "xquad-r/es-to-en" }] },
  { name: "zh>en", parts: [{ corpus: "xquad-r/en", questions: "xquad-r/zh-to-en" }] },
  { name: "CoSQA", parts: [{ corpus: "cosqa/", questions: "cosqa/" }] },
  { name: "public", parts: corpusProjects.map((project) => ({ corpus: project, questions: project })) },
];

function fileOf(stem: string, kind: "corpus" | "questions"): string {
  const project = corpusProjects.find((name) => name === stem);
  if (project !== undefined) return corpusFile(project, kind);
  return join(sharedFolder(), "data/eval", stem.endsWith("/") ? `${stem}${kind}.jsonl` : `${stem}.${kind}.jsonl`);
}

const idRow = z.object({ id: z.string() });

/** The name of its project. */
export const projectName = (part: Part): string => part.corpus;

/** Every corpus in a project of its own; what is there already is not loaded again. */
export async function loadDevelopmentSets(db: Database, embedder: Embedder, sets: readonly DevelopmentSet[]): Promise<Map<string, string>> {
  const projects = new Map<string, string>();
  const chunks = createChunks({ thresholdChars: 1_800, sizeChars: 1_400 });
  const queue = createEmbeddingQueue({ db, embedder, vectors: createVectors({ db, embedder, log: silentLogger }), log: silentLogger });
  for (const part of sets.flatMap(({ parts }) => parts)) {
    const name = projectName(part);
    if (projects.has(name)) continue;
    const id = newId();
    const made = await db.write(benchContext(), async (tx) =>
      tx.run(sql`
      insert into brain_projects (id, name) values (${id}::uuid, ${name}::text) on conflict (name) do nothing`),
    );
    if (made === 0) {
      const found = await db.read(benchContext(), (tx) =>
        tx.first({ schema: idRow, statement: sql`select id from brain_projects where name = ${name}::text` }),
      );
      projects.set(name, found?.id ?? "");
      continue;
    }
    projects.set(name, id);
    const startedAt = performance.now();
    const text = readFileSync(fileOf(part.corpus, "corpus"), "utf8");
    const loaded = await loadCorpus({ db, chunks, queue }, benchContext({ kind: "project", id }), text, 3_600_000);
    console.error(
      `${name}: ${loaded.observations} rows, ${loaded.entities} entities, ${loaded.chunks} pieces, ${loaded.withoutVector} without vector, ${Math.round(performance.now() - startedAt)} ms`,
    );
  }
  await queue.drain(3_600_000);
  await queue.stop();
  return projects;
}

const datasets = new Map<string, Dataset>();
export const datasetOf = (stem: string): Dataset => {
  const known = datasets.get(stem) ?? readDataset(readFileSync(fileOf(stem, "questions"), "utf8"));
  datasets.set(stem, known);
  return known;
};

const memoryRow = z.object({ id: z.string(), entity: z.string(), content: z.string() });
type CorpusMemory = z.infer<typeof memoryRow>;

export const memoriesOf = (part: Part): readonly CorpusMemory[] =>
  readFileSync(fileOf(part.corpus, "corpus"), "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => memoryRow.parse(JSON.parse(line)));

/** For each memory of a part the entity that it belongs to. */
export const entitiesOf = (part: Part): ReadonlyMap<string, string> => new Map(memoriesOf(part).map(({ id, entity }) => [id, entity]));
