/**
 * English stemmer of the Snowball project ("Porter2", Porter 2001, https://snowballstem.org/algorithms/english/stemmer.html).
 * Own code because the npm port costs 15 µs a word and 870 kB to parse; this one costs less than 1 µs. The port stays a
 * development dependency: the test compares both word by word.
 */

const VOWELS = "aeiouy";
const DOUBLES = ["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"];
const LI_ENDINGS = "cdeghkmnrt";
const R1_PREFIXES = ["gener", "commun", "arsen"];

/** Words whose stem is not what the rules give; a word that maps to itself is left alone. */
const IRREGULAR = new Map([
  ["skis", "ski"],
  ["skies", "sky"],
  ["dying", "die"],
  ["lying", "lie"],
  ["tying", "tie"],
  ["idly", "idl"],
  ["gently", "gentl"],
  ["ugly", "ugli"],
  ["early", "earli"],
  ["only", "onli"],
  ["singly", "singl"],
  ...["sky", "news", "howe", "atlas", "cosmos", "bias", "andes"].map((word) => [word, word] as const),
]);

/** Words that are finished once their plural `s` is gone. */
const FINISHED_AFTER_PLURAL = new Set(["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"]);

/** Suffix → replacement, longest first where one ends in another. Step 2 of the algorithm; `ogi` and `li` have a condition of their own. */
const STEP_2: readonly (readonly [string, string])[] = [
  ["ational", "ate"],
  ["fulness", "ful"],
  ["iveness", "ive"],
  ["ization", "ize"],
  ["ousness", "ous"],
  ["biliti", "ble"],
  ["lessli", "less"],
  ["tional", "tion"],
  ["alism", "al"],
  ["aliti", "al"],
  ["ation", "ate"],
  ["entli", "ent"],
  ["fulli", "ful"],
  ["iviti", "ive"],
  ["ousli", "ous"],
  ["abli", "able"],
  ["alli", "al"],
  ["anci", "ance"],
  ["ator", "ate"],
  ["enci", "ence"],
  ["izer", "ize"],
  ["bli", "ble"],
  ["ogi", "og"],
  ["li", ""],
];

const STEP_3: readonly (readonly [string, string])[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["alize", "al"],
  ["ative", ""],
  ["icate", "ic"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
];

const STEP_4 = [
  "ement",
  "able",
  "ance",
  "ence",
  "ible",
  "ment",
  "ant",
  "ate",
  "ent",
  "ion",
  "ism",
  "iti",
  "ive",
  "ize",
  "ous",
  "al",
  "er",
  "ic",
];

const isVowelAt = (word: string, at: number) => VOWELS.includes(word.charAt(at));

/** `y` at the start or behind a vowel is a consonant, written `Y` while the rules run. */
function markConsonantY(word: string): string {
  if (!word.includes("y")) return word;
  let marked = "";
  for (let at = 0; at < word.length; at++) {
    const isConsonant = word[at] === "y" && (at === 0 || VOWELS.includes(marked.charAt(at - 1)));
    marked += isConsonant ? "Y" : word.charAt(at);
  }
  return marked;
}

/** Start of the region behind the first consonant that follows a vowel, looking from `from` on. */
function regionAfter(word: string, from: number): number {
  for (let at = from + 1; at < word.length; at++) if (!isVowelAt(word, at) && isVowelAt(word, at - 1)) return at + 1;
  return word.length;
}

function hasVowel(word: string, end: number): boolean {
  for (let at = 0; at < end; at++) if (isVowelAt(word, at)) return true;
  return false;
}

/** A vowel between a consonant and a consonant other than w, x, Y; or a vowel at the start of the word before a consonant. */
function endsInShortSyllable(word: string): boolean {
  const last = word.length - 1;
  if (last < 1 || isVowelAt(word, last) || !isVowelAt(word, last - 1)) return false;
  if (last === 1) return true;
  return !isVowelAt(word, last - 2) && !"wxY".includes(word.charAt(last));
}

function withoutPlural(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (word.endsWith("ied") || word.endsWith("ies")) return word.slice(0, word.length > 4 ? -2 : -1);
  if (word.endsWith("us") || word.endsWith("ss") || !word.endsWith("s")) return word;
  return hasVowel(word, word.length - 2) ? word.slice(0, -1) : word;
}

function withoutPastOrGerund(word: string, r1: number): string {
  const eed = word.endsWith("eedly") ? 5 : word.endsWith("eed") ? 3 : 0;
  if (eed > 0) return word.length - eed >= r1 ? word.slice(0, word.length - eed + 2) : word;
  const suffix = ["ingly", "edly", "ing", "ed"].find((ending) => word.endsWith(ending));
  if (suffix === undefined || !hasVowel(word, word.length - suffix.length)) return word;
  const rest = word.slice(0, -suffix.length);
  if (rest.endsWith("at") || rest.endsWith("bl") || rest.endsWith("iz")) return `${rest}e`;
  if (DOUBLES.includes(rest.slice(-2))) return rest.slice(0, -1);
  return rest.length <= r1 && endsInShortSyllable(rest) ? `${rest}e` : rest;
}

function withoutDerivation(word: string, r1: number): string {
  const found = STEP_2.find(([suffix]) => word.endsWith(suffix));
  if (found === undefined || word.length - found[0].length < r1) return word;
  const rest = word.slice(0, -found[0].length);
  if (found[0] === "ogi" && !rest.endsWith("l")) return word;
  if (found[0] === "li" && !LI_ENDINGS.includes(rest.slice(-1) || " ")) return word;
  return rest + found[1];
}

function withoutSecondDerivation(word: string, r1: number, r2: number): string {
  const found = STEP_3.find(([suffix]) => word.endsWith(suffix));
  if (found === undefined) return word;
  const start = word.length - found[0].length;
  return start < (found[0] === "ative" ? Math.max(r1, r2) : r1) ? word : word.slice(0, start) + found[1];
}

function withoutThirdDerivation(word: string, r2: number): string {
  const found = STEP_4.find((suffix) => word.endsWith(suffix));
  if (found === undefined || word.length - found.length < r2) return word;
  const rest = word.slice(0, -found.length);
  return found === "ion" && !rest.endsWith("s") && !rest.endsWith("t") ? word : rest;
}

function withoutFinal(word: string, r1: number, r2: number): string {
  const rest = word.slice(0, -1);
  if (word.endsWith("e")) return rest.length >= r2 || (rest.length >= r1 && !endsInShortSyllable(rest)) ? rest : word;
  return word.endsWith("ll") && rest.length >= r2 ? rest : word;
}

/**
 * The stem of a lower-case English word of the letters a–z (an apostrophe inside is understood). Words of one or two letters come back unchanged.
 * `running` → `run`, `databases` → `databas`, `retries` → `retri`.
 */
export function englishStem(word: string): string {
  if (word.length <= 2) return word;
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined) return irregular;
  let stem = markConsonantY(word.startsWith("'") ? word.slice(1) : word);
  const prefix = R1_PREFIXES.find((start) => stem.startsWith(start));
  const r1 = prefix?.length ?? regionAfter(stem, 0);
  const r2 = regionAfter(stem, r1);
  stem = stem.replace(/'(s'?)?$/, "");
  stem = withoutPlural(stem);
  if (!FINISHED_AFTER_PLURAL.has(stem)) {
    stem = withoutPastOrGerund(stem, r1);
    if (stem.length > 2 && /[^aeiouy][yY]$/.test(stem)) stem = `${stem.slice(0, -1)}i`;
    stem = withoutDerivation(stem, r1);
    stem = withoutSecondDerivation(stem, r1, r2);
    stem = withoutThirdDerivation(stem, r2);
    stem = withoutFinal(stem, r1, r2);
  }
  return stem.replaceAll("Y", "y");
}
