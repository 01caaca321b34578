/** What the gate is measured on: memories, the questions that they answer and others; XQuAD-R and the public corpus. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { seededRandom } from "../../src/domain/retrieval/statistics.ts";
import { type Question, readDataset } from "../../src/services/evaluation/dataset.ts";
import { type CorpusProject, corpusFile, corpusProjects } from "../support/corpus.ts";
import { sharedFolder } from "./eval-sets.ts";

/** A memory to load and what is asked of it. */
interface Trial {
  readonly memories: readonly Memory[];
  /** Questions that it answers. */
  readonly about: readonly Question[];
  /** By question: every memory that says anything of it, the outdated ones too; only where that is more than the answers. */
  readonly alsoAbout: ReadonlyMap<string, readonly string[]>;
  readonly offTopic: readonly Question[];
  /** Questions that sound like this memory and are answered nowhere. */
  readonly unwritten: readonly Question[];
}
const memory = z.looseObject({ id: z.string(), entity: z.string(), content: z.string() });
type Memory = z.output<typeof memory>;

const linesOf = (file: string) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");

export const shuffled = <T>(items: readonly T[], seed: number): T[] => {
  const random = seededRandom(seed);
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
};

/** XQuAD-R in one language, its articles in an order that is drawn by `seed`. */
export function xquadArticles(language: string, seed: number) {
  const folder = join(sharedFolder(), "data/eval/xquad-r");
  const memories = linesOf(join(folder, `${language}.corpus.jsonl`)).map((line) => memory.parse(JSON.parse(line)));
  const articleOf = new Map(memories.map(({ id, entity }) => [id, entity]));
  const { questions } = readDataset(readFileSync(join(folder, `${language}.questions.jsonl`), "utf8"));
  return {
    articles: shuffled([...new Set(memories.map(({ entity }) => entity))], seed),
    memoriesOf: (chosen: ReadonlySet<string>) => memories.filter(({ entity }) => chosen.has(entity)),
    questionsOf: (chosen: ReadonlySet<string>) =>
      questions.filter(({ relevantIds }) => chosen.has(articleOf.get(relevantIds[0] ?? "") ?? "")),
  };
}

/** Half of the articles are stored; who asks about the others is off topic. */
function xquad(language: string, split: number): Trial {
  const { articles, memoriesOf, questionsOf } = xquadArticles(language, split);
  const half = Math.ceil(articles.length / 2);
  const stored = new Set(articles.slice(0, half));
  return {
    memories: memoriesOf(stored),
    about: questionsOf(stored),
    alsoAbout: new Map(),
    offTopic: questionsOf(new Set(articles.slice(half))),
    unwritten: [],
  };
}

const graded = z.looseObject({
  query: z.string(),
  relevant_ids: z.array(z.string()).default([]),
  grades: z.record(z.string(), z.number()).default({}),
});

function publicCorpus(project: CorpusProject): Trial {
  const { questions } = readDataset(readFileSync(corpusFile(project, "questions"), "utf8"));
  const marked = (ability: string) => questions.filter((question) => question.abstain && question.ability === ability);
  return {
    memories: linesOf(corpusFile(project, "corpus")).map((line) => memory.parse(JSON.parse(line))),
    about: questions.filter(({ abstain, relevantIds }) => !abstain && relevantIds.length > 0),
    alsoAbout: new Map(
      linesOf(corpusFile(project, "questions"))
        .map((line) => graded.parse(JSON.parse(line)))
        .filter(({ relevant_ids: answers, grades }) => Object.keys(grades).some((id) => !answers.includes(id)))
        .map(({ query, relevant_ids: answers, grades }) => [query, [...new Set([...answers, ...Object.keys(grades)])]]),
    ),
    offTopic: marked("off_topic"),
    unwritten: marked("absent"),
  };
}

export const trialOf = (name: string, split: number): Trial => {
  const project = corpusProjects.find((each) => each === name);
  return project === undefined ? xquad(name, split) : publicCorpus(project);
};
