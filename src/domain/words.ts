/**
 * The words of a text, cut the same way for a stored text and for a question (`retrieval.md` §2.5, `design.md` §5 "words").
 *
 * A text is NFKC-normalised and cut into tokens of letters and digits, where an identifier hangs together: `src/auth/session.ts`,
 * `renewToken`, `Foo::bar`, `well-known`. Every token yields its plain words and, beside them, each whole that they make.
 * Scripts without spaces (Han, kana, Thai, Lao, Khmer, Myanmar) are cut by `Intl.Segmenter`; nothing else pays for it.
 */

/** A stretch of text that belongs together, in its own case. */
export interface Token {
  readonly text: string;
  /** True for a word of a script without spaces. */
  readonly isDense: boolean;
}

/** One word, lower case: letters, marks and digits only, so that the database's parser takes it as one lexeme. */
export interface Word {
  readonly text: string;
  /** True for a whole that stands beside its parts: `renewtoken` beside `renew` and `token`, `防守` beside `防` and `守`. */
  readonly isWhole: boolean;
}

/** Scripts that are written without spaces, with the marks that belong to them (`々`, `ー`). */
const DENSE = "[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}ー々〆]";
/** A letter of the other scripts with the marks on it, or a digit. Marks elsewhere (the rest of an emoji, a keycap) belong to no word. */
const SPACED = `(?:[\\p{L}--${DENSE}]\\p{M}*|\\p{Nd})`;
/** What may stand between two pieces of one identifier; a full stop, hyphen, slash … followed by a blank ends the token. */
const JOINT = "(?:['’._\\-\\/\\\\@]|::)";
/** `10,000` is one number; the comma joins nothing else. */
const THOUSANDS = "\\d{1,3}(?:,\\d{3})+(?![\\d.,]*\\d)";
/** Languages called after a letter and a symbol: `C++`, `F#`. */
const SIGN = "(?:\\+\\+|#)";

const tokenPattern = (letter: string) => `${THOUSANDS}|${letter}+(?:${SIGN}(?!${letter})|(?:${JOINT}${letter}+)*)`;
const densePattern = new RegExp(DENSE, "v");
const denseRun = new RegExp(`${DENSE}+`, "gv");
/** The stretches of a text in scripts written without spaces. */
export const denseRunsOf = (text: string): string[] => text.match(denseRun) ?? [];
/** True where the text holds a character of such a script. */
export const hasDenseScript = (text: string): boolean => densePattern.test(text);

const asciiToken = new RegExp(tokenPattern("[a-zA-Z0-9]"), "g");
const spacedToken = new RegExp(tokenPattern(SPACED), "gv");
const anyToken = new RegExp(`(${DENSE}+)|${tokenPattern(SPACED)}`, "gv");
const isAscii = /^[\0-\x7f]*$/;

/** One instance for the process: making one costs a millisecond, using it nothing. `zh` and `ja` cut alike, by one dictionary. */
const segmenter = new Intl.Segmenter("zh", { granularity: "word" });

/** Digits of every script as 0–9, so that `٣٤` is 34. */
const withAsciiDigits = (text: string) => text.replace(/[\p{Nd}--[0-9]]/gv, (digit) => String(digitValue(digit.codePointAt(0) ?? 0)));

/** Decimal digits stand in runs of ten that begin with the zero. */
function digitValue(code: number): number {
  let zero = code;
  while (zero > code - 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return (code - zero) % 10;
}

/** The tokens of a text in order. Empty for a text without a letter or digit. */
export function tokensOf(text: string): Token[] {
  if (isAscii.test(text)) return Array.from(text.match(asciiToken) ?? [], (token) => ({ text: token, isDense: false }));
  const plain = withAsciiDigits(text.normalize("NFKC"));
  if (!hasDenseScript(plain)) return Array.from(plain.match(spacedToken) ?? [], (token) => ({ text: token, isDense: false }));
  const found = [...plain.matchAll(anyToken)];
  const segmented = segmentRuns(found.flatMap(([, dense]) => dense ?? [])).values();
  const tokens: Token[] = [];
  for (const [token, dense] of found) {
    if (dense === undefined) tokens.push({ text: token, isDense: false });
    else for (const word of segmented.next().value ?? []) tokens.push({ text: word, isDense: true });
  }
  return tokens;
}

/** The words of each run. One call for all of them: a call costs as much as fifty characters. */
function segmentRuns(runs: readonly string[]): string[][] {
  const words: string[][] = [[]];
  for (const { segment } of segmenter.segment(runs.join("\n"))) {
    if (segment === "\n") words.push([]);
    else {
      const word = segment.replace(NOT_OF_A_WORD, "");
      if (word !== "") words.at(-1)?.push(word);
    }
  }
  return words;
}

/** Repetition and abbreviation characters of Thai, and marks without their letter: the database's parser cuts a word there. */
const NOT_OF_A_WORD = /^\p{M}+|[ฯๆ]/gu;

const notAlphanumeric = /[^\p{Alphabetic}\p{N}]+/u;

/** Maximal runs of letters and digits, case kept; text without spaces is cut into its words. The rule of density, entropy and overlap. */
export function alphanumericWords(text: string): string[] {
  const runs = text.split(notAlphanumeric).filter((run) => run !== "");
  if (!hasDenseScript(text)) return runs;
  // The separator keeps the runs apart, so that all are cut in one call.
  return segmentRuns(runs).flat();
}

/** A whole longer than this is no name that anybody types; a single word is cut to it, so that no lexeme exceeds what the database takes. */
const MAX_WORD_CHARS = 64;

const toWord = (raw: string, isWhole: boolean): Word => ({
  text: (raw.length > MAX_WORD_CHARS ? Array.from(raw).slice(0, MAX_WORD_CHARS).join("") : raw).toLowerCase(),
  isWhole,
});

const isMixed = /\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}|\p{L}\p{M}*\p{N}|\p{N}\p{L}/u;
const isPluralAcronym = /^\p{Lu}{2,}s$/u;
const hump = /\p{Lu}+(?!\p{Ll})\p{M}*|\p{Lu}?[\p{Ll}\p{M}]+|\p{N}+|[\p{L}\p{M}]+/gu;

/** `renewToken` → renew, Token; `HTMLParser2` → HTML, Parser, 2; `APIs` and `word` stay. */
function splitHumps(piece: string): readonly string[] {
  if (!isMixed.test(piece) || isPluralAcronym.test(piece)) return [piece];
  return piece.match(hump) ?? [piece];
}

/** Pieces as one run; a `p` keeps the digits of `1.0` apart from those of `10`. */
const join = (pieces: readonly string[]) =>
  pieces.reduce((whole, piece) => whole + (/\d/.test(whole.slice(-1)) && /^\d/.test(piece) ? "p" : "") + piece, "");

/** `don't` is one word, `Ana's` is Ana, `l'eau` is two. */
function splitApostrophes(piece: string): readonly string[] {
  if (!/['’]/.test(piece)) return [piece];
  const owner = piece.replace(/['’]s$/i, "");
  return /['’](?:t|re|ve|ll|d|m)$/i.test(owner) ? [owner.replace(/['’]/g, "")] : owner.split(/['’]/);
}

/** `12e4f7a`, the beginning of a hash: the database's parser reads 12e4 as a number and cuts there, unless a letter stands before it. */
const beginsAsNumber = /^\d+e\d+\p{L}/iu;

function pushWhole(words: Word[], pieces: readonly string[]): void {
  if (pieces.length < 2) return;
  const whole = join(pieces);
  if (whole.length <= MAX_WORD_CHARS) words.push(toWord(beginsAsNumber.test(whole) ? `x${whole}` : whole, true));
}

const isPlainWord = /^(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]+)$/;

/** A path holds names, a name holds pieces with dots, a piece holds words in humps: each level adds its whole. */
function pushSpaced(words: Word[], token: string): void {
  if (isPlainWord.test(token)) {
    words.push(toWord(token, false));
    return;
  }
  if (token.endsWith("#") || token.endsWith("++")) {
    const name = token.replace(/[+#]+$/, "");
    words.push(toWord(name, false), toWord(name + (token.endsWith("#") ? "sharp" : "plusplus"), true));
    return;
  }
  const names = token.split(/[/\\@]|::/).map((name) => {
    const pieces = name.split(".").map((piece) => {
      const atoms = piece
        .split(/[-_]/)
        .flatMap(splitApostrophes)
        .flatMap(splitHumps)
        .map((atom) => atom.replaceAll(",", ""));
      for (const atom of atoms) words.push(toWord(atom, false));
      pushWhole(words, atoms);
      return join(atoms);
    });
    pushWhole(words, pieces);
    return join(pieces);
  });
  pushWhole(words, names);
}

const isHan = /\p{sc=Han}/u;

/** A Chinese word and its characters: dictionaries differ on where a name ends, characters do not (XQuAD-R zh .856 → .868). */
function pushDense(words: Word[], token: string): void {
  const isSplit = token.length > 1 && isHan.test(token);
  if (isSplit) for (const char of token) if (isHan.test(char)) words.push(toWord(char, false));
  words.push(toWord(token, isSplit));
}

/** Every word of a text in order, wholes behind their parts. Empty for a text without a letter or digit. */
export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  for (const token of tokensOf(text)) token.isDense ? pushDense(words, token.text) : pushSpaced(words, token.text);
  return words;
}

/** Letters that carry a stroke or are two in one, which Unicode does not decompose. */
const UNDECOMPOSED: Readonly<Record<string, string>> = { ß: "ss", ø: "o", ł: "l", æ: "ae", œ: "oe", đ: "d", ð: "d", þ: "th", ı: "i" };

/** Lower-case text without the accents of Latin, Greek and Cyrillic letters: `configuración` → `configuracion`. Other scripts keep their marks: they are vowels there. */
export function withoutAccents(text: string): string {
  if (isAscii.test(text)) return text;
  return text
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .replace(/[ßøłæœđðþı]/g, (letter) => UNDECOMPOSED[letter] ?? letter);
}
