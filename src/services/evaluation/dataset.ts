/** Questions with known answers (`retrieval.md` §9.1), one JSON object a line. */
import { z } from "zod";
import { invalid } from "../../kernel/errors.ts";

const line = z.object({
  query: z.string().refine((text) => text.trim() !== "", "query is blank"),
  relevant_ids: z.array(z.string()).default([]),
  relevant_markers: z.array(z.string()).optional(),
  relevant: z.array(z.string()).optional(),
  expected_answer: z.string().optional(),
  ability: z.string().optional(),
  question_class: z.string().optional(),
  question_type: z.string().optional(),
  gold_entities: z.array(z.string()).default([]),
  abstain: z.boolean().default(false),
});

export interface Question {
  readonly query: string;
  /** Ids of rows that answer it, lower case. */
  readonly relevantIds: readonly string[];
  /** Older form: a row counts if its text holds one of these. */
  readonly markers: readonly string[];
  readonly expectedAnswer: string | undefined;
  readonly ability: string;
  readonly questionClass: string;
  readonly goldEntities: readonly string[];
  /** The right answer is no row. */
  readonly abstain: boolean;
}

export interface Dataset {
  readonly questions: readonly Question[];
  /** Rows with neither ids nor markers that do not ask for abstention: nothing can be measured on them. */
  readonly dropped: number;
}

const NO_GROUP = "other";

/**
 * Reads a dataset. Blank lines do not count, a byte-order mark neither. @throws MemoryError `invalid` naming the line.
 * @param unscored `keep`: a question without known answers stays, for measurements that need none.
 */
export function readDataset(text: string, unscored: "drop" | "keep" = "drop"): Dataset {
  const questions: Question[] = [];
  let dropped = 0;
  for (const [at, raw] of text
    .replace(/^\ufeff/, "")
    .split("\n")
    .entries()) {
    if (raw.trim() === "") continue;
    const row = parseLine(raw, at + 1);
    const question: Question = {
      query: row.query,
      relevantIds: row.relevant_ids.map((id) => id.toLowerCase()),
      markers: row.relevant_markers ?? row.relevant ?? [],
      expectedAnswer: row.expected_answer,
      ability: row.ability ?? row.question_type ?? NO_GROUP,
      questionClass: row.question_class ?? row.question_type ?? NO_GROUP,
      goldEntities: row.gold_entities,
      abstain: row.abstain,
    };
    const isScored = question.relevantIds.length + question.markers.length + question.goldEntities.length > 0 || question.abstain;
    if (isScored || unscored === "keep") questions.push(question);
    else dropped++;
  }
  return { questions, dropped };
}

function parseLine(raw: string, number: number): z.output<typeof line> {
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch (cause) {
    throw invalid(`line ${number}: not JSON. Nothing was measured.`, { cause });
  }
  const checked = line.safeParse(value);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  throw invalid(`line ${number}: ${issue?.path.join(".") ?? ""} ${issue?.message ?? "does not fit"}. Nothing was measured.`);
}

/** What `eval` runs without a dataset: three questions that show the form, and whether search answers at all. */
export const builtInQuestions: readonly Question[] = [
  { query: "what was decided", markers: ["decid"], abstain: false, questionClass: "factoid" },
  { query: "which error was solved", markers: ["error"], abstain: false, questionClass: "errors" },
  { query: "secret of a different project that this memory never saw", markers: [], abstain: true, questionClass: "isolation" },
].map((question) => ({ ...question, relevantIds: [], expectedAnswer: undefined, ability: question.questionClass, goldEntities: [] }));
