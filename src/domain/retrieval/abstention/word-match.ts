/**
 * How well one row holds every word of a question, by the vectors that the embedder gives each token before it pools them (late interaction: ColBERT,
 * Khattab & Zaharia 2020; BERTScore, Zhang 2020). A pooled vector says that a row is about the same thing; a missing fact shows as one word that has no
 * counterpart in it.
 */

/** One text's tokens, without the model's special tokens and the prefix of its role. */
export interface TokenVectors {
  /** Text of each token; a blank in front where it begins a word after white space. */
  readonly pieces: readonly string[];
  /** f32 [pieces, dim], not of unit length. */
  readonly vectors: Float32Array;
}

/**
 * What all token vectors of a model have in common, and says nothing: their mean and the directions in which they spread most. With it taken away an
 * unrelated word has a cosine of 0 in place of .8 (anisotropy: Ethayarajh 2019; "all but the top", Mu & Viswanath 2018).
 */
export interface TokenSpace {
  /** f32 [dim]. */
  readonly mean: Float32Array;
  /** Unit vectors f32 [dim], at right angles. */
  readonly axes: readonly Float32Array[];
}

/** A word of the question: its forms, the one as written first, and its weight (idf). */
export interface WeightedWord {
  readonly forms: readonly string[];
  readonly weight: number;
}

/** Directions that are taken away. On `bench/corpus` the same within a point for 1, 2 and 4; none refuses two points less. */
const AXES = 2;
/** Rounds of the power iteration: the third digit of a match does not move after 20. */
const ROUNDS = 30;

const norm = (vector: Float32Array) => Math.sqrt(dot(vector, vector)) || 1;

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += (a[k] ?? 0) * (b[k] ?? 0);
  return sum;
}

/** Adds `times` b to a, in place. */
function add(a: Float32Array, b: Float32Array, times: number): void {
  for (let k = 0; k < a.length; k++) a[k] = (a[k] ?? 0) + times * (b[k] ?? 0);
}

/** The vector of each token, unit length; copies. */
function unitVectors({ pieces, vectors }: TokenVectors): Float32Array[] {
  const size = pieces.length === 0 ? 0 : vectors.length / pieces.length;
  return pieces.map((_, at) => {
    const vector = vectors.slice(at * size, (at + 1) * size);
    const length = norm(vector);
    return vector.map((value) => value / length);
  });
}

/** Mean and main directions of the tokens of some texts. Deterministic. Undefined for fewer tokens than would span them. */
export function tokenSpace(texts: readonly TokenVectors[]): TokenSpace | undefined {
  const tokens = texts.flatMap(unitVectors);
  const [first] = tokens;
  if (first === undefined || tokens.length <= AXES) return undefined;
  const mean = new Float32Array(first.length);
  for (const token of tokens) add(mean, token, 1 / tokens.length);
  for (const token of tokens) add(token, mean, -1);
  const axes: Float32Array[] = [];
  while (axes.length < AXES) {
    let axis: Float32Array = new Float32Array(first.length).map((_, k) => 1 + (k % (axes.length + 2)));
    for (let round = 0; round < ROUNDS; round++) {
      const next = new Float32Array(first.length);
      for (const token of tokens) add(next, token, dot(token, axis));
      for (const other of axes) add(next, other, -dot(next, other));
      const length = norm(next);
      axis = next.map((value) => value / length);
    }
    axes.push(axis);
  }
  return { mean, axes };
}

function centred(text: TokenVectors, { mean, axes }: TokenSpace): Float32Array[] {
  return unitVectors(text).map((vector) => {
    add(vector, mean, -1);
    for (const axis of axes) add(vector, axis, -dot(vector, axis));
    const length = norm(vector);
    return vector.map((value) => value / length);
  });
}

/** Share of the heaviest word's weight that words which select nothing have ("which", "does"): on `bench/corpus` the same within a point between a fortieth and an eighth. */
const OTHER_WORDS = 1 / 8;
/**
 * A match below this counts as this: the harmonic mean would be 0 for one word that points away. .1 to .15 are alike on `bench/corpus`; at .25 a missing
 * word no longer shows (two points of missing answers).
 */
const LEAST_MATCH = 0.15;

/** Keeps a question whose words all weigh nothing (each in every row) from having none. */
const LEAST_WEIGHT = 1e-9;

const isLetter = /[\p{L}\p{M}\p{N}]/u;
/** A script without spaces, where each token stands alone. */
const isDense = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

interface WordTokens {
  readonly tokens: number[];
  weight: number;
}

/** The tokens of a question by words, each word with its weight. */
function groupsOf(pieces: readonly string[], words: readonly WeightedWord[]): readonly WordTokens[] {
  const text = pieces.join("");
  const lower = text.toLowerCase();
  // A letter that grows in lower case would shift all that follow.
  const weights = weightsOfCharacters(lower.length === text.length ? lower : text, words);
  const least = OTHER_WORDS * Math.max(LEAST_WEIGHT, ...words.map(({ weight }) => weight));
  const groups: WordTokens[] = [];
  let open: WordTokens | undefined;
  let at = 0;
  for (const [token, piece] of pieces.entries()) {
    const weight = Math.max(least, ...weights.slice(at, at + piece.length));
    at += piece.length;
    if (!isLetter.test(piece)) {
      open = undefined;
      continue;
    }
    const isAlone = isDense.test(piece);
    if (open === undefined || isAlone || !isLetter.test(piece.charAt(0))) {
      open = { tokens: [], weight };
      groups.push(open);
    }
    open.tokens.push(token);
    open.weight = Math.max(open.weight, weight);
    if (isAlone || !isLetter.test(piece.charAt(piece.length - 1))) open = undefined;
  }
  return groups;
}

/** The weight of the heaviest word over each character; 0 where none stands. A word inside another is not meant: `art` in `start`. */
function weightsOfCharacters(text: string, words: readonly WeightedWord[]): number[] {
  const weights = new Array<number>(text.length).fill(0);
  for (const { forms, weight } of words) {
    const form = forms.find((each) => each !== "" && text.includes(each));
    if (form === undefined) continue;
    for (let from = text.indexOf(form); from >= 0; from = text.indexOf(form, from + 1)) {
      const end = from + form.length;
      const stands = isDense.test(form) || (!isLetter.test(text[from - 1] ?? " ") && !isLetter.test(text[end] ?? " "));
      if (stands) for (let at = from; at < end; at++) weights[at] = Math.max(weights[at] ?? 0, weight);
    }
  }
  return weights;
}

/**
 * How well a row holds a question word by word, {@link LEAST_MATCH} to 1: the weighted harmonic mean over the question's words of their best cosine with
 * a token of the row; a word of several tokens has the mean of theirs. The harmonic mean, because one word without a counterpart is what tells a row that
 * lacks the answer; the arithmetic one refuses four points less. Two words of equal weight with cosines 1 and .25 → .4. 0 for a question without a word.
 */
export function wordMatch(question: TokenVectors, row: TokenVectors, words: readonly WeightedWord[], space: TokenSpace): number {
  const asked = centred(question, space);
  const held = centred(row, space);
  if (held.length === 0) return 0;
  let weights = 0;
  let inverse = 0;
  for (const { tokens, weight } of groupsOf(question.pieces, words)) {
    let total = 0;
    for (const token of tokens) {
      const vector = asked[token];
      let best = -1;
      if (vector !== undefined) for (const other of held) best = Math.max(best, dot(vector, other));
      total += best;
    }
    weights += weight;
    inverse += weight / Math.max(LEAST_MATCH, total / tokens.length);
  }
  return weights === 0 ? 0 : weights / inverse;
}
