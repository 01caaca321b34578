/** What the open session is about lifts the rows that are about it (`retrieval.md` §2.16). */
import { mentionForm, mentions } from "../names.ts";
import { isStopWord } from "../stop-words.ts";
import { alphanumericWords } from "../words.ts";

/** The factor of a row whose entity a goal names. */
const ENTITY_BOOST = 1.3;
/** The most that shared words add. */
const WORD_BOOST = 0.3;

export interface BoostableRow {
  readonly entity: string | undefined;
  readonly content: string | undefined;
}

const meaningfulWords = (text: string) =>
  new Set(alphanumericWords(text.toLowerCase()).filter((word) => word.length > 1 && !isStopWord(word)));

/**
 * Prepares the texts of a session: its goals and its notes that have not expired.
 * @returns the factor for a row, ≥ 1: 1.3 where a text mentions the row's entity, else 1 + 0.3 · the best share of a text's words that its content has.
 */
export function sessionBoost(texts: readonly string[]): (row: BoostableRow) => number {
  const prepared = texts.map((text) => ({ form: mentionForm(text), words: meaningfulWords(text) })).filter(({ form }) => form !== "");
  if (prepared.length === 0) return () => 1;
  return ({ entity, content }) => {
    if (entity !== undefined && prepared.some(({ form }) => mentions(form, entity))) return ENTITY_BOOST;
    if (content === undefined) return 1;
    const words = meaningfulWords(content);
    const share = ({ words: wanted }: { words: ReadonlySet<string> }) =>
      wanted.size === 0 ? 0 : [...wanted].filter((word) => words.has(word)).length / wanted.size;
    return 1 + WORD_BOOST * Math.max(0, ...prepared.map(share));
  };
}
