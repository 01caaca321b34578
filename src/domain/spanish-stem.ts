/**
 * Spanish stemmer of the Snowball project (https://snowballstem.org/algorithms/spanish/stemmer.html), with the unaccented endings
 * `acion` and `ucion` that its version 2 added, since questions are typed without accents. Own code for the reasons of `english-stem.ts`.
 */

const VOWELS = "aeiouáéíóúü";
const list = (words: string) => words.split(" ").sort((a, b) => b.length - a.length);

const PRONOUNS = list("me se sela selo selas selos la le lo las les los nos");
const BEFORE_PRONOUN = list("iéndo ándo ár ér ír ando iendo ar er ir yendo");

/** Ending → what it becomes; each must lie in R2. */
const PLAIN = list(
  "anza anzas ico ica icos icas ismo ismos able ables ible ibles ista istas oso osa osos osas amiento amientos imiento imientos",
);
const AFTER_IC = list("adora ador ación acion adoras adores aciones ante antes ancia ancias");
const REPLACED: Readonly<Record<string, string>> = {
  logía: "log",
  logías: "log",
  ución: "u",
  ucion: "u",
  uciones: "u",
  encia: "ente",
  encias: "ente",
};
const IDAD = ["idades", "idad"];
const IVA = ["ivas", "ivos", "iva", "ivo"];
const STANDARD = list([...PLAIN, ...AFTER_IC, ...Object.keys(REPLACED), "amente", "mente", ...IDAD, ...IVA].join(" "));

const Y_VERB = list("ya ye yan yen yeron yendo yo yó yas yes yais yamos");
const VERB = list(
  "en es éis emos arían arías arán arás aríais aría aréis aríamos aremos ará aré erían erías erán erás eríais ería eréis eríamos eremos erá eré " +
    "irían irías irán irás iríais iría iréis iríamos iremos irá iré aba ada ida ía ara iera ad ed id ase iese aste iste an aban ían aran ieran asen " +
    "iesen aron ieron ado ido ando iendo ió ar er ir as abas adas idas ías aras ieras ases ieses ís áis abais íais arais ierais aseis ieseis asteis " +
    "isteis ados idos amos ábamos íamos imos áramos iéramos iésemos ásemos",
);
const SOFT_VERB = new Set(["en", "es", "éis", "emos"]);

const isVowelAt = (word: string, at: number) => at < word.length && VOWELS.includes(word.charAt(at));
const endingOf = (word: string, endings: readonly string[]) => endings.find((ending) => word.endsWith(ending));

/** First index at or behind `from` where the letter is (or is not) a vowel; the length where there is none. */
function nextIndex(word: string, from: number, vowel: boolean): number {
  for (let at = from; at < word.length; at++) if (isVowelAt(word, at) === vowel) return at;
  return word.length;
}

/** Region in which verb endings are looked for. */
function verbRegion(word: string): number {
  if (word.length < 2) return word.length;
  const second = isVowelAt(word, 1);
  if (!second) return Math.min(nextIndex(word, 2, true) + 1, word.length);
  return isVowelAt(word, 0) ? Math.min(nextIndex(word, 2, false) + 1, word.length) : Math.min(3, word.length);
}

/** Region behind the first consonant that follows a vowel. */
const regionAfter = (word: string, from: number) => Math.min(nextIndex(word, nextIndex(word, from, true) + 1, false) + 1, word.length);

const withoutAcute = (word: string) =>
  word.replaceAll("á", "a").replaceAll("é", "e").replaceAll("í", "i").replaceAll("ó", "o").replaceAll("ú", "u");

function withoutPronoun(word: string, rv: number): string {
  const pronoun = endingOf(word, PRONOUNS);
  if (pronoun === undefined) return word;
  const verb = word.slice(0, -pronoun.length);
  const ending = endingOf(verb, BEFORE_PRONOUN);
  if (ending === undefined || verb.length - ending.length < rv) return word;
  if (ending === "yendo") return verb.charAt(verb.length - 6) === "u" ? verb : word;
  return verb.slice(0, -ending.length) + withoutAcute(ending);
}

/** The word without `ending` where that lies at or behind `region`, else the word. */
const cut = (word: string, ending: string, region: number) =>
  word.endsWith(ending) && word.length - ending.length >= region ? word.slice(0, word.length - ending.length) : word;

/** The word without the first of `endings` that it has, if that lies in the region. */
function cutFirst(word: string, endings: readonly string[], region: number): string {
  const ending = endingOf(word, endings);
  return ending === undefined ? word : cut(word, ending, region);
}

/** `undefined`: no standard ending was removed. */
function withoutStandardEnding(word: string, r1: number, r2: number): string | undefined {
  const ending = endingOf(word, STANDARD);
  if (ending === undefined || word.length - ending.length < (ending === "amente" ? r1 : r2)) return undefined;
  const rest = word.slice(0, -ending.length);
  if (ending === "amente") {
    const other = cutFirst(rest, ["iv", "os", "ic", "ad"], r2);
    return rest.endsWith("iv") && other !== rest ? cut(other, "at", r2) : other;
  }
  if (ending === "mente") return cutFirst(rest, ["ante", "able", "ible"], r2);
  if (IDAD.includes(ending)) return cutFirst(rest, ["abil", "ic", "iv"], r2);
  if (IVA.includes(ending)) return cut(rest, "at", r2);
  if (AFTER_IC.includes(ending)) return cut(rest, "ic", r2);
  return rest + (REPLACED[ending] ?? "");
}

function withoutVerbEnding(word: string, rv: number): string {
  const region = word.slice(rv);
  const yEnding = endingOf(region, Y_VERB);
  if (yEnding !== undefined && word.charAt(word.length - yEnding.length - 1) === "u") return word.slice(0, -yEnding.length);
  const ending = endingOf(region, VERB);
  if (ending === undefined) return word;
  const rest = word.slice(0, -ending.length);
  return SOFT_VERB.has(ending) && rest.endsWith("gu") ? rest.slice(0, -1) : rest;
}

function withoutResidue(word: string, rv: number): string {
  const ending = endingOf(word, ["os", "a", "o", "á", "í", "ó", "e", "é"]);
  if (ending === undefined || word.length - ending.length < rv) return word;
  const rest = word.slice(0, -ending.length);
  return (ending === "e" || ending === "é") && rest.endsWith("gu") && rest.length - 1 >= rv ? rest.slice(0, -1) : rest;
}

/**
 * The stem of a lower-case Spanish word, without acute accents. `configuraciones` → `configur`, `corriendo` → `corr`, `niños` → `niñ`.
 */
export function spanishStem(word: string): string {
  const rv = verbRegion(word);
  const r1 = regionAfter(word, 0);
  const r2 = regionAfter(word, r1);
  const bare = withoutPronoun(word, rv);
  const stem = withoutStandardEnding(bare, r1, r2) ?? withoutVerbEnding(bare, rv);
  return withoutAcute(withoutResidue(stem, rv));
}
