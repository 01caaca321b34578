/** Measured thresholds as they are stored (`brain_calibration`), and whether one still speaks for the memory and the model of today. */
import { z } from "zod";
import { type AbstentionRule, matchedStatisticNames } from "../../../domain/retrieval/abstention/rule.ts";
import type { TokenSpace } from "../../../domain/retrieval/abstention/word-match.ts";
import type { Tx } from "../../../store/port.ts";
import { type StoredThreshold, servedObservations, thresholdsAt } from "../../../store/queries/abstention.ts";

/** Threshold of the distance, and the rule that reads words and vectors; needs the model it was measured with. */
const MEANING_KEY = "ood_threshold";
/** The rule that reads words alone. */
const WORDS_KEY = "ood_words";
const keyOf = (base: string, projectId: string | null) => (projectId === null ? base : `${base}:${projectId}`);

export const meaningKey = (projectId: string | null): string => keyOf(MEANING_KEY, projectId);
export const wordsKey = (projectId: string | null): string => keyOf(WORDS_KEY, projectId);

/** A memory that has doubled or halved is another one: more rows lie near any question, and the rows that answered may be gone (`docs/decisions/0110-abstention.md`). */
const MOST_GROWTH = 2;

const rule = z.object({
  weights: z.partialRecord(z.enum(matchedStatisticNames), z.number()),
  bias: z.number(),
  threshold: z.number(),
});

const FLOAT_BYTES = 4;
/** Single precision, little-endian, base64: 384 numbers are 2 kB, as JSON they would be 5. */
const numbers = z.base64().transform((text) => {
  const bytes = Buffer.from(text, "base64");
  return Float32Array.from({ length: bytes.length / FLOAT_BYTES }, (_, at) => bytes.readFloatLE(at * FLOAT_BYTES));
});
const asText = (values: Float32Array) => {
  const bytes = Buffer.alloc(values.length * FLOAT_BYTES);
  for (const [at, value] of values.entries()) bytes.writeFloatLE(value, at * FLOAT_BYTES);
  return bytes.toString("base64");
};

const matched = z.object({ rule, space: z.object({ mean: numbers, axes: z.array(numbers) }) });

/** The rule that reads tokens too, with what the model's token vectors have in common. */
export interface MatchedRule {
  readonly rule: AbstentionRule;
  readonly space: TokenSpace;
}

/** As it is stored. */
export const storedMatched = ({ rule: of, space }: MatchedRule): NonNullable<ThresholdMetadata["matched"]> => ({
  rule: of,
  space: { mean: asText(space.mean), axes: space.axes.map(asText) },
});

/** Older rows have no more than the width; what is missing is not compared. */
const metadata = z.object({
  embedding_dim: z.number().optional(),
  embedding_model: z.string().optional(),
  alpha: z.number().optional(),
  calibration_queries: z.number().optional(),
  corpus_rows: z.number().optional(),
  rule: rule.optional(),
  matched: matched.optional(),
});
export type ThresholdMetadata = z.input<typeof metadata>;

export interface ModelNow {
  readonly label: string;
  readonly dimensions: number;
}

export interface Thresholds {
  /** Distance beyond which at most alpha of the answerable questions lay; undefined where words alone were measured. */
  readonly distance: number | undefined;
  readonly meaning: AbstentionRule | undefined;
  /** Goes before `meaning` where the tokens of a question and of its nearest rows can be read; undefined where it was measured without. */
  readonly matched: MatchedRule | undefined;
  readonly words: AbstentionRule | undefined;
  /** What was measured and no longer holds, one sentence; undefined where nothing was. */
  readonly outdated: string | undefined;
}

/** Why a stored threshold does not speak for today; undefined where it does. */
export function faultOf({ key, metadata: raw }: StoredThreshold, rows: number, model: ModelNow | undefined): string | undefined {
  const parsed = metadata.safeParse(raw);
  if (!parsed.success) return `the stored threshold '${key}' cannot be read`;
  const { embedding_dim: dimensions, embedding_model: label, corpus_rows: then } = parsed.data;
  if (key.startsWith(MEANING_KEY) && model !== undefined) {
    if (dimensions !== undefined && dimensions !== model.dimensions)
      return `the threshold was measured on vectors of ${dimensions} numbers, and those of today have ${model.dimensions}`;
    if (label !== undefined && label !== model.label) return `the threshold was measured with ${label}, and ${model.label} is running`;
  }
  if (then !== undefined && (rows > MOST_GROWTH * then || rows * MOST_GROWTH < then))
    return `the threshold was measured on ${then} memories, and there are ${rows} now`;
  return undefined;
}

/** A rule over words and vectors that reads no row word by word: an older program wrote it, or the model failed when it was measured. */
export const isMeasuredUnread = (row: StoredThreshold): boolean => {
  const { rule: ofMeaning, matched: ofTokens } = rulesIn(row);
  return row.key.startsWith(MEANING_KEY) && ofMeaning !== undefined && ofTokens === undefined;
};

/** The project of a stored threshold; null for one of the whole memory. */
export const projectOfKey = (key: string): string | null => key.split(":")[1] ?? null;

const rulesIn = ({ metadata: raw }: StoredThreshold): Pick<z.output<typeof metadata>, "rule" | "matched"> =>
  metadata.safeParse(raw).data ?? {};

/** What holds for a project: its own measurement goes before that of the whole memory. @param model undefined where none is running. */
export async function readThresholds(tx: Tx, projectId: string | null, model: ModelNow | undefined): Promise<Thresholds> {
  const ids = projectId === null ? [null] : [projectId, null];
  const stored = await tx.all(thresholdsAt({ keys: ids.flatMap((id) => [meaningKey(id), wordsKey(id)]) }));
  const sizes = new Map<string | null, number>();
  if (stored.length > 0) for (const id of ids) sizes.set(id, (await tx.first(servedObservations({ projectId: id })))?.rows ?? 0);
  const faults: string[] = [];
  const best = (keyFor: (id: string | null) => string) =>
    ids
      .flatMap((id) => stored.filter(({ key }) => key === keyFor(id)).map((row) => ({ row, rows: sizes.get(id) ?? 0 })))
      .find(({ row, rows }) => {
        const fault = faultOf(row, rows, model);
        if (fault !== undefined) faults.push(fault);
        return fault === undefined;
      })?.row;
  const meaning = model === undefined ? undefined : best(meaningKey);
  const ofMeaning = meaning && rulesIn(meaning);
  const words = best(wordsKey);
  return {
    distance: meaning?.value,
    meaning: ofMeaning?.rule,
    matched: ofMeaning?.matched,
    words: words && rulesIn(words).rule,
    outdated: faults[0],
  };
}
