/** Words that turn a statement round or say that something was replaced, in English, Spanish and Chinese (`tools-graph.md` §3.9, `tools-cognition.md` §11). */
import { hasDenseScript, tokensOf } from "./words.ts";

/** Whole words and phrases only: `piano` and `casino` deny nothing. Any contraction with `n't` counts. */
const MARKERS =
  /(?<![\p{L}\p{M}\p{N}])(?:no|not|never|cannot|\p{L}+n['’]t|deprecated|replaced|removed|instead of|nunca|jamás|reemplazad[oa]s?|eliminad[oa]s?|en vez de)(?![\p{L}\p{M}\p{N}])/u;

/** Chinese words with 不 that deny nothing: different, not only, but, however, continuous, not a few, soon, no matter. */
const HARMLESS = new Set(["不同", "不仅", "不但", "不过", "不断", "不少", "不久", "不管", "不论"]);
const deniesInChinese = (word: string) => word === "没" || word.startsWith("没有") || (word.startsWith("不") && !HARMLESS.has(word));

/** True where a text carries a marker of negation or replacement. */
export function hasNegation(text: string): boolean {
  const lower = text.normalize("NFKC").toLowerCase();
  if (MARKERS.test(lower)) return true;
  return hasDenseScript(lower) && tokensOf(lower).some(({ text: word, isDense }) => isDense && deniesInChinese(word));
}

/** True where exactly one of two texts carries one. `is fast` / `is safe` → false; `uses uvicorn` / `replaced uvicorn` → true. */
export const negationDiffers = (a: string, b: string): boolean => hasNegation(a) !== hasNegation(b);
