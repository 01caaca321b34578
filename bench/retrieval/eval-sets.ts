/** The development sets of `data/eval`, found beside the repository or through `MEMORY_INDUSTRY_SHARED`. Their licences keep them out of it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const memory = z.object({ id: z.string(), entity: z.string(), content: z.string() });
const question = z.object({ query: z.string(), relevant_ids: z.array(z.string()), ability: z.string() });

export type Memory = z.infer<typeof memory>;
export type Question = z.infer<typeof question>;

/** Questions are asked of one corpus; a set with several (LoCoMo: five chats) is averaged over all its questions. */
export interface EvalSet {
  readonly name: string;
  readonly parts: readonly { readonly corpus: readonly Memory[]; readonly questions: readonly Question[] }[];
}

export function sharedFolder(): string {
  const folder = process.env.MEMORY_INDUSTRY_SHARED ?? join(import.meta.dir, "../../../shared");
  const found = [folder, join(import.meta.dir, "../../../../shared")].find((path) => existsSync(join(path, "data/eval")));
  if (found === undefined) throw new Error("no data/eval: set MEMORY_INDUSTRY_SHARED to the folder that holds it");
  return found;
}

function lines<T>(path: string, schema: z.ZodType<T>): T[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => schema.parse(JSON.parse(line)));
}

const FILES: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "LoCoMo",
    ["26", "30", "41", "42", "43"].map((chat) => [`locomo/conv-${chat}.corpus.jsonl`, `locomo/conv-${chat}.questions.jsonl`] as const),
  ],
  ["en", [["xquad-r/en.corpus.jsonl", "xquad-r/en.questions.jsonl"]]],
  ["es", [["xquad-r/es.corpus.jsonl", "xquad-r/es.questions.jsonl"]]],
  ["zh", [["xquad-r/zh.corpus.jsonl", "xquad-r/zh.questions.jsonl"]]],
  ["es>en", [["xquad-r/en.corpus.jsonl", "xquad-r/es-to-en.questions.jsonl"]]],
  ["zh>en", [["xquad-r/en.corpus.jsonl", "xquad-r/zh-to-en.questions.jsonl"]]],
  ["CoSQA", [["cosqa/corpus.jsonl", "cosqa/questions.jsonl"]]],
];

export function evalSets(): EvalSet[] {
  const folder = join(sharedFolder(), "data/eval");
  return FILES.map(([name, files]) => ({
    name,
    parts: files.map(([corpus, questions]) => ({
      corpus: lines(join(folder, corpus), memory),
      questions: lines(join(folder, questions), question),
    })),
  }));
}
