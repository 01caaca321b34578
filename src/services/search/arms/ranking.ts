/**
 * BM25 over the index of words, one kind of rows at a time, with the rules of domain/retrieval/bm25.ts. Frequent words score the rows that the
 * others found and select none (MaxScore, Turtle & Flood 1995), so the cost follows the rare words of a question and not the size of the memory.
 */
import {
  inverseDocumentFrequency,
  type Posting,
  pruningOrder,
  type ScoredTerm,
  termBound,
  topByFullScore,
} from "../../../domain/retrieval/bm25.ts";
import type { Hit } from "../../../domain/retrieval/hits.ts";
import type { RowKind } from "../../../store/queries/search-filters.ts";
import type { IndexedForm, IndexedRow } from "../../../store/queries/search-words.ts";

/** One form of a word with what it weighs among the rows of a kind. */
interface WeightedForm extends IndexedForm {
  readonly idf: number;
  /** Rows that have it. */
  readonly rows: number;
}

/** Statistics of one kind of rows. */
export interface KindStatistics {
  readonly kind: RowKind;
  readonly rows: number;
  readonly averageLength: number;
  /** Rows that have a form; absent where none has. */
  readonly rowsWith: ReadonlyMap<string, number>;
}

interface Step {
  readonly forms: readonly WeightedForm[];
  /** What all words behind can still add to a row. */
  readonly restBound: number;
}

/** Below so many postings pruning costs more than it saves: everything selects. */
const PRUNE_FROM_ROWS = 600;
/**
 * Share of a question's weight that words which do not select may keep at the first try. A top row has rarely less than half of the
 * weight, so the bound holds at once as a rule.
 */
const FIRST_REST_SHARE = 0.25;
/** Guards comparisons against rounding in the last digit. */
const ROUNDING = 1e-9;

export class Ranking {
  readonly kind: RowKind;
  /** For each word of the question the weights of the forms that this kind has. */
  readonly idfs: readonly (readonly number[])[];
  readonly #steps: readonly Step[];
  readonly #averageLength: number;
  readonly #exactRank: number;
  readonly #postings = new Map<string, Posting[]>();
  readonly #keys = new Map<string, string>();
  /** Words from the start of `#steps` that select. */
  #cut: number;
  /** Words whose postings were read whole. */
  #read = 0;
  /** Every row found so far by score; undefined after new rows came. */
  #hits: readonly Hit[] | undefined;

  /** @param words forms of each word of the question; @param exactRank the first so many rows are those of scoring every row. */
  constructor(statistics: KindStatistics, words: readonly (readonly string[])[], exactRank: number) {
    const { kind, rows: total, rowsWith } = statistics;
    this.kind = kind;
    this.#averageLength = statistics.averageLength;
    this.#exactRank = exactRank;
    const weighted = words.map((forms) =>
      forms.flatMap((term): WeightedForm[] => {
        const rows = rowsWith.get(term);
        return rows === undefined ? [] : [{ kind, term, rows, idf: inverseDocumentFrequency(total, rows) }];
      }),
    );
    this.idfs = weighted.map((forms) => forms.map(({ idf }) => idf));
    const byTerm = new Map<ScoredTerm, readonly WeightedForm[]>();
    for (const forms of weighted)
      if (forms.length > 0)
        byTerm.set(
          forms.map(({ idf }) => ({ idf, postings: [] })),
          forms,
        );
    this.#steps = pruningOrder([...byTerm.keys()]).map(({ term, restBound }) => ({ forms: byTerm.get(term) ?? [], restBound }));
    this.#cut = this.#firstCut();
  }

  #firstCut(): number {
    const postings = this.#steps.reduce((sum, { forms }) => sum + forms.reduce((of, { rows }) => of + rows, 0), 0);
    if (postings <= PRUNE_FROM_ROWS) return this.#steps.length;
    const whole = this.#steps.reduce((sum, { forms }) => sum + termBound(Math.max(...forms.map(({ idf }) => idf))), 0);
    const at = this.#steps.findIndex(({ restBound }) => restBound <= FIRST_REST_SHARE * whole);
    return at === -1 ? this.#steps.length : at + 1;
  }

  /** Forms whose rows are to be read next; empty where none is left to read. */
  wanted(): readonly IndexedForm[] {
    return this.#steps.slice(this.#read, this.#cut).flatMap(({ forms }) => forms);
  }

  /** Takes the rows of one form. */
  take(term: string, rows: readonly IndexedRow[]): void {
    const known = this.#postings.get(term) ?? [];
    for (const { id, key, count, length } of rows) {
      known.push({ id, count, length });
      this.#keys.set(id, key);
    }
    this.#postings.set(term, known);
    this.#hits = undefined;
  }

  /** Call when everything wanted was taken. @returns whether more words must select: a row with none of the others could still be among the first. */
  widen(): boolean {
    this.#read = this.#cut;
    if (this.#cut >= this.#steps.length) return false;
    const rest = this.#restBound();
    const reached = this.#scored()[this.#exactRank - 1]?.score ?? 0;
    if (rest < reached - ROUNDING) return false;
    const enough = this.#steps.findIndex(({ restBound }) => restBound < reached - ROUNDING);
    this.#cut = enough === -1 ? this.#steps.length : Math.max(enough + 1, this.#cut + 1);
    return true;
  }

  #restBound(): number {
    return this.#cut >= this.#steps.length ? 0 : (this.#steps[this.#cut - 1]?.restBound ?? 0);
  }

  /** Forms that only score, and the rows that they can still lift to the first ranks. */
  completing(): {
    readonly forms: readonly IndexedForm[];
    readonly rows: readonly (Pick<IndexedRow, "id" | "key"> & { readonly kind: RowKind })[];
  } {
    const forms = this.#steps.slice(this.#cut).flatMap((step) => step.forms);
    if (forms.length === 0) return { forms, rows: [] };
    const hits = this.#scored();
    const reached = (hits[this.#exactRank - 1]?.score ?? 0) - this.#restBound() - ROUNDING;
    const rows = hits.filter(({ score }) => score >= reached).map(({ id }) => ({ id, key: this.#keys.get(id) ?? "", kind: this.kind }));
    return { forms, rows };
  }

  #scored(): readonly Hit[] {
    if (this.#hits !== undefined) return this.#hits;
    const terms = this.#steps.map(
      ({ forms }): ScoredTerm => forms.map(({ term, idf }) => ({ idf, postings: this.#postings.get(term) ?? [] })),
    );
    this.#hits = topByFullScore(terms, this.#averageLength, Number.POSITIVE_INFINITY);
    return this.#hits;
  }

  /** Rows by score, best first; beyond the exact rank a score may lack what frequent words add. */
  hits(): readonly Hit[] {
    return this.#scored();
  }
}
