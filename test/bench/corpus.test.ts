import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import {
  type CorpusProject,
  type CorpusQuestion,
  corpusFile,
  corpusProjects,
  readClaims,
  readMemories,
  readQuestions,
} from "../../bench/support/corpus.ts";
import { findSecret } from "../../src/kernel/secrets.ts";
import { readDataset } from "../../src/services/evaluation/dataset.ts";

const everyMemory = corpusProjects.flatMap((project) => readMemories(project));
const everyQuestion = corpusProjects.flatMap((project) => readQuestions(project));
const unanswerable = new Set(["off_topic", "absent", "isolation"]);

const counted = (values: readonly string[]): Record<string, number> =>
  Object.fromEntries([...new Set(values)].sort().map((value) => [value, values.filter((other) => other === value).length]));

describe("the public corpus", () => {
  test("has the counts that its README states, in each language", () => {
    expect(corpusProjects.map((project) => readMemories(project).length)).toEqual([203, 190]);
    expect(counted(everyMemory.map(({ language }) => language))).toEqual({ en: 311, es: 38, zh: 44 });
    const answered = everyQuestion.filter(({ abstain }) => abstain !== true);
    expect(counted(answered.map(({ language }) => language))).toEqual({ code: 44, en: 274, es: 55, zh: 61 });
    expect(counted(everyQuestion.filter(({ abstain }) => abstain === true).map(({ ability }) => ability))).toEqual({
      absent: 58,
      isolation: 10,
      off_topic: 58,
    });
  });

  test("names every id once, and no text or question twice", () => {
    for (const values of [
      everyMemory.map(({ id }) => id),
      everyMemory.map(({ content }) => content),
      everyQuestion.map(({ query }) => query),
    ])
      expect(values.filter((value, at) => values.indexOf(value) !== at)).toEqual([]);
  });

  test("grades memories of its own project, the answers with 2 and what no longer holds with 1", () => {
    const wrong = (project: CorpusProject) => {
      const ids = new Set(readMemories(project).map(({ id }) => id));
      const isSound = ({ abstain, relevant_ids, grades = {}, ability }: CorpusQuestion) => {
        if (abstain === true) return unanswerable.has(ability) && relevant_ids === undefined && Object.keys(grades).length === 0;
        const answers = Object.keys(grades).filter((id) => grades[id] === 2);
        return !unanswerable.has(ability) && answers.join() === relevant_ids?.join() && Object.keys(grades).every((id) => ids.has(id));
      };
      return readQuestions(project).filter((question) => !isSound(question));
    };
    expect(corpusProjects.flatMap(wrong)).toEqual([]);
  });

  test("knows what each update replaced, earlier than what holds now; a contradiction names both sides", () => {
    const writtenAt = new Map(everyMemory.map(({ id, created_at }) => [id, created_at]));
    for (const { query, ability, grades = {} } of everyQuestion) {
      const dates = (grade: number) =>
        Object.keys(grades)
          .filter((id) => grades[id] === grade)
          .map((id) => writtenAt.get(id) ?? "")
          .sort();
      const [now, before] = [dates(2), dates(1)];
      if (ability === "update") expect({ query, replaced: before.length > 0 }).toEqual({ query, replaced: true });
      if (ability === "contradiction") expect({ query, sides: now.length }).toEqual({ query, sides: 2 });
      for (const date of before) expect({ query, earlier: date < (now.at(-1) ?? "") }).toEqual({ query, earlier: true });
    }
  });

  test("names only entities that hold an answer", () => {
    const entityOf = new Map(everyMemory.map(({ id, entity }) => [id, entity]));
    for (const { relevant_ids = [], gold_entities = [] } of everyQuestion)
      expect([...gold_entities].sort()).toEqual([...new Set(relevant_ids.map((id) => entityOf.get(id) ?? ""))].sort());
  });

  test("is a dataset of which eval drops no row", () => {
    for (const project of corpusProjects) {
      const { questions, dropped } = readDataset(readFileSync(corpusFile(project, "questions"), "utf8"));
      expect({ asked: questions.length, dropped }).toEqual({ asked: readQuestions(project).length, dropped: 0 });
    }
  });

  test("has 204 claims that hold and 204 that do not, in pairs about one memory; an outdated one names who said it, earlier", () => {
    const ofProject = (project: CorpusProject) => {
      const writtenAt = new Map(readMemories(project).map(({ id, created_at }) => [id, created_at]));
      const claims = readClaims(project);
      for (const { claim, holds, about, said_before_by } of claims) {
        const other = claims.filter((one) => one.about === about && one.holds !== holds && one.claim !== claim);
        const before = said_before_by === undefined ? "" : writtenAt.get(said_before_by);
        const sound = other.length > 0 && before !== undefined && before < (writtenAt.get(about) ?? "") && (before === "" || !holds);
        expect({ claim, sound }).toEqual({ claim, sound: true });
      }
      return claims;
    };
    const claims = corpusProjects.flatMap(ofProject);
    expect(claims.filter(({ holds }) => holds)).toHaveLength(204);
    expect(new Set(claims.map(({ claim }) => claim)).size).toBe(408);
  });

  test("holds no secret", () => {
    expect([...everyMemory.map(({ content }) => content), ...everyQuestion.map(({ query }) => query)].filter(findSecret)).toEqual([]);
  });
});
