/** Which recipes a question means, before their record decides the order (`tools-cognition.md` §8, decision 0101). */
import { lexemesOf, queryTerms } from "../lexical.ts";
import { trigramSimilarity } from "../trigrams.ts";

/** Trigram similarity above which two texts are alike whatever their words. */
const LEAST_TRIGRAMS = 0.3;
/** From so many recipes on, the lower quarter of them says what "unrelated" looks like for this question. */
const QUARTER_FROM = 4;
/** A recipe counts from halfway between unrelated and the best one. */
const HALFWAY = 0.5;

/**
 * Texts about things that nobody has a recipe for: the cosine of a question with the nearest of them is what "unrelated" means to the model that
 * is loaded. There is no threshold for all: multilingual-e5-small gives unrelated pairs 0.75–0.82, all-MiniLM-L6-v2 gives 0.0–0.2 and means 0.2–0.5.
 */
export const UNRELATED_TEXTS: readonly string[] = [
  "The cake needs two eggs and a cup of flour.",
  "The river floods the valley every spring.",
  "Her grandmother played the violin in a small orchestra.",
  "The match ended in a draw after extra time.",
  "Cats sleep most of the day.",
  "The museum shows paintings of the eighteenth century.",
  "昨天下雨了，我们在家喝茶。",
  "El tren llega a la estación a las nueve.",
];

export interface RecipeText {
  readonly id: string;
  /** Name and trigger in one. */
  readonly text: string;
  /** Cosine with the question, of the same model; undefined where either has no vector. */
  readonly cosine: number | undefined;
}

/** Share 0–1 of a question's words that a text has, by any of their forms; or their trigram similarity where that is higher. */
function wordScore(query: string): (text: string) => number {
  const wanted = queryTerms(query).filter((term) => term.selects);
  return (text) => {
    const has = new Set(lexemesOf(text));
    const share = wanted.length === 0 ? 0 : wanted.filter(({ forms }) => forms.some((form) => has.has(form))).length / wanted.length;
    const trigrams = trigramSimilarity(query, text);
    return Math.max(share, trigrams > LEAST_TRIGRAMS ? trigrams : 0);
  };
}

/** What is above the floor and at least halfway from it to the best, as 0.5–1. */
function upperHalf(scores: ReadonlyMap<string, number>, floor: number): Map<string, number> {
  const best = Math.max(floor, ...scores.values());
  const kept = new Map<string, number>();
  if (best <= floor) return kept;
  for (const [id, score] of scores) {
    const place = (score - floor) / (best - floor);
    if (place >= HALFWAY) kept.set(id, place);
  }
  return kept;
}

/** Cosine below which a recipe is as far from the question as something unrelated. */
function unrelatedCosine(cosines: readonly number[], unrelated: readonly number[]): number {
  const sorted = [...cosines].sort((a, b) => a - b);
  const quarter = sorted.length < QUARTER_FROM ? undefined : sorted[Math.floor(sorted.length / 4) - 1];
  // Where all are equally near, none of them is what "unrelated" looks like.
  const background = quarter !== undefined && quarter < (sorted.at(-1) ?? quarter) ? quarter : Number.NEGATIVE_INFINITY;
  return Math.max(...unrelated, background);
}

/**
 * The recipes that a question means, most alike first, each with its likeness 0.5–1 to the best one.
 * @param unrelated cosines of the question with {@link UNRELATED_TEXTS}; empty where there is no model: then words alone decide.
 */
export function relevantRecipes(
  query: string,
  recipes: readonly RecipeText[],
  unrelated: readonly number[],
): { readonly id: string; readonly likeness: number }[] {
  const score = wordScore(query);
  const byWords = upperHalf(new Map(recipes.map(({ id, text }) => [id, score(text)])), 0);
  const cosines = new Map(recipes.flatMap(({ id, cosine }): [string, number][] => (cosine === undefined ? [] : [[id, cosine]])));
  const byMeaning =
    unrelated.length === 0 ? new Map<string, number>() : upperHalf(cosines, unrelatedCosine([...cosines.values()], unrelated));
  return recipes
    .map(({ id }) => ({ id, likeness: Math.max(byWords.get(id) ?? 0, byMeaning.get(id) ?? 0) }))
    .filter(({ likeness }) => likeness > 0)
    .sort((a, b) => b.likeness - a.likeness || (a.id < b.id ? -1 : 1));
}
