/** The public corpus of `bench/corpus`: memories of coding agents in two projects, and graded questions about them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

export const corpusProjects = ["harbor", "quill"] as const;
export type CorpusProject = (typeof corpusProjects)[number];

/** The file of a project, by its absolute path. */
export const corpusFile = (project: CorpusProject, kind: "corpus" | "questions" | "claims"): string =>
  join(import.meta.dir, "../corpus", `${project}.${kind}.jsonl`);

const memory = z.strictObject({
  id: z.uuid(),
  entity: z.string().min(1),
  entity_type: z.string().min(1),
  content: z.string().min(1),
  created_at: z.iso.datetime(),
  language: z.enum(["en", "es", "zh"]),
});
export type CorpusMemory = z.output<typeof memory>;

/** What a question tries. The last three have no answer in their project. */
const abilities = z.enum([
  "fact",
  "decision",
  "preference",
  "procedure",
  "person",
  "error_fix",
  "temporal",
  "code",
  "update",
  "contradiction",
  "multi_hop",
  "cross_language",
  "paraphrase",
  "off_topic",
  "absent",
  "isolation",
]);

const question = z.strictObject({
  query: z.string().min(1),
  language: z.enum(["en", "es", "zh", "code"]),
  ability: abilities,
  question_class: z.enum(["factoid", "multi_hop", "errors", "decreto", "isolation"]),
  abstain: z.literal(true).optional(),
  relevant_ids: z.array(z.uuid()).min(1).optional(),
  /** 2: answers it; 1: is about it and no longer holds. */
  grades: z.record(z.uuid(), z.union([z.literal(1), z.literal(2)])).optional(),
  gold_entities: z.array(z.string()).min(1).optional(),
  expected_answer: z.string().min(1).optional(),
});
export type CorpusQuestion = z.output<typeof question>;

const claim = z.strictObject({
  claim: z.string().min(1),
  language: z.enum(["en", "es", "zh"]),
  holds: z.boolean(),
  /** The memory that decides it. */
  about: z.uuid(),
  /** A claim that no longer holds: the memory that said so once. */
  said_before_by: z.uuid().optional(),
});
export type CorpusClaim = z.output<typeof claim>;

function readLines<T>(path: string, schema: z.ZodType<T>): T[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => schema.parse(JSON.parse(line)));
}

export const readMemories = (project: CorpusProject): CorpusMemory[] => readLines(corpusFile(project, "corpus"), memory);
export const readQuestions = (project: CorpusProject): CorpusQuestion[] => readLines(corpusFile(project, "questions"), question);
export const readClaims = (project: CorpusProject): CorpusClaim[] => readLines(corpusFile(project, "claims"), claim);
