/**
 * One scanner for what looks like a live credential, two views of it: `findSecret` (the write gate refuses on the first hit) and
 * `redact` (texts on their way to a log, a model or a person). Both read the same spans, so what the gate refuses the redactor changes.
 * Rules and labels: `tools-graph.md` §3.4.
 */
import { readValue } from "./secret-expressions.ts";
import { isPackageFact, isPlainFact } from "./secret-facts.ts";
import { bareKey, isComparison, isSeparator, isSignBehindKey, PASSWORD, secretKey, separator, separators } from "./secret-keys.ts";
import { isPlaceholder } from "./secret-placeholders.ts";
import { chineseSaid, chineseSays, elementsOf, isCopula, isSaid, nameOfWords, sentenceBefore } from "./secret-prose.ts";
import { isReference, type SecretWords } from "./secret-references.ts";
import {
  isJwtShaped,
  isOpaque,
  isPassphrase,
  jwtInside,
  privateKeys,
  providerToken,
  type Range,
  trimOuter,
  urlCredential,
} from "./secret-tokens.ts";
import { type Steps, toEnd } from "./steps.ts";
import { charCount } from "./text.ts";

/** What a span hides: UTF-16 range [from, to), the kind of credential, and whether it is certain enough to refuse a write. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly certain: boolean;
  /** Start of the word that gave it away, which is what a person is pointed to. */
  readonly wordAt: number;
  /** Where the value ends as code reads it, which may be behind what is hidden. */
  readonly readTo?: number;
}

interface Word {
  readonly text: string;
  readonly at: number;
  /** White space between this word and the next. */
  readonly gap: string;
}

const MASK = "***";

const secretWords: SecretWords = { isOpaque, isSecretName: (name) => secretKey(name) !== undefined };

const hasToken = (value: string) => providerToken(value) !== undefined || jwtInside(value) !== undefined;

/** A value of a secret's key that is certain enough to refuse: opaque, and no reference to code, no path, no date, no quantity. */
function isCertain(text: string, word: Word, from: number, rawKey: string, label: string): boolean {
  const to = word.at + word.text.length;
  const value = text.slice(from, to);
  if (!isOpaque(value)) return false;
  if (hasToken(value)) return true;
  if (isPlainFact(rawKey, label, value)) return false;
  const literal = /^[A-Z0-9_]+$/.test(rawKey) && text.charAt(from - 1) === "=";
  return !isReference({ text, from, to, key: bareKey(rawKey), literal }, secretWords);
}

/** True for the text of a literal that would be refused as the quoted value of this key. */
function isSecretLiteral(value: string, rawKey: string, label: string): boolean {
  const first = /^\S*/.exec(value.trim())?.[0] ?? "";
  if (!isOpaque(first)) return false;
  if (hasToken(first)) return true;
  const place = { text: `"${first}"`, from: 0, to: first.length + 2, key: bareKey(rawKey), literal: false };
  return !isPlainFact(rawKey, label, first) && !isReference(place, secretWords);
}

/** UTF-16 units of a quoted value of several words that are hidden with its first. */
const LONGEST_LITERAL = 300;

/**
 * The span of the value that starts at `from`, inside of `word`. Where it is refused, or has a literal in it that is (a default, the other branch), all of
 * it is hidden, to the end of the expression; else its first word or its first literal.
 */
function valueSpan(text: string, word: Word, from: number, rawKey: string, label: string, inner: boolean): Span {
  const quoted = /^\\?(["'`])((?:(?!\\?\1)[^\n])*)\\?\1/.exec(text.slice(from, from + LONGEST_LITERAL));
  const certain = isCertain(text, word, from, rawKey, label) || (label === PASSWORD && isPassphrase(quoted?.[2] ?? ""));
  const value = readValue(text, from, inner, {
    isSecretLiteral: (literal) => isSecretLiteral(literal, rawKey, label),
    isSecretName: secretWords.isSecretName,
  });
  const end = certain || value.secretAt !== undefined ? value.to : from + (quoted?.[0].length ?? 0);
  const wordAt = certain || value.secretAt === undefined ? word.at : value.secretAt;
  return {
    from,
    to: Math.max(word.at + word.text.length, end),
    label,
    certain: certain || value.secretAt !== undefined,
    wordAt,
    readTo: value.to,
  };
}

const jsonPair = /"([^"\\]+)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;
const jsonRest = new RegExp(String.raw`(?:[^"\\\n]|\\.){0,${LONGEST_LITERAL}}`, "y");

/** Every `"key":"value"` pair inside one word whose key names a secret (compact JSON); a value of several words reaches to its closing quote. */
function jsonPairs(text: string, word: Word): Span[] {
  const spans: Span[] = [];
  for (const pair of word.text.matchAll(jsonPair)) {
    const [, key = "", value = ""] = pair;
    const label = secretKey(key);
    if (label === undefined || value === "" || isPackageFact(key, label, value)) continue;
    const from = word.at + pair.index + pair[0].length - value.length;
    // From quote to quote: only a template alone is a reference here.
    const start = from - word.at - 1;
    const place = { text: word.text, from: start, to: start + value.length + 2, key, literal: false };
    jsonRest.lastIndex = from;
    const rest = jsonRest.exec(text)?.[0] ?? "";
    const isValue = isOpaque(value) && (hasToken(value) || !(isPlaceholder(value) || isReference(place, secretWords)));
    const certain = isValue || (label === PASSWORD && isPassphrase(rest));
    spans.push({ from, to: from + Math.max(value.length, rest.length), label, certain, wordAt: word.at });
  }
  return spans;
}

/** An opaque text of at least this length behind the word `Bearer` is a token. */
const SHORTEST_BEARER = 20;

/** What the previous words say about the next one. */
interface Expectation {
  readonly key: string;
  readonly label: string;
  readonly bearer?: boolean;
  /** A comparison: only a literal can be the secret. */
  readonly compared?: boolean;
  /** A sentence: only what looks like nothing else can be. */
  readonly said?: boolean;
}

/** What stands behind a comparison (`password == "hunter2345"`): a literal without blanks and with a digit. */
const comparedLiteral = /^(["'`])(?=[^"'`\s]*[0-9])([^"'`\s]{6,100})\1/;

const isComparedSecret = (text: string, { key, label }: Expectation): boolean =>
  isSecretLiteral(comparedLiteral.exec(text)?.[2] ?? "", key, label);

/** Where the second and each later pair of a word begins (`a=1&token=…`, `user=ana;password=…`). */
const laterPair = /[?&;,](?=[\w.-]{1,64}[=:：＝])/g;

/** The pairs of one word that are joined by signs, behind the first. */
function laterPairs({ text, at }: Word): Word[] {
  const starts = Array.from(text.matchAll(laterPair), ({ index }) => index + 1);
  return starts.map((start, i) => ({ text: text.slice(start, (starts[i + 1] ?? text.length + 1) - 1), at: at + start, gap: "" }));
}

/** The text of every element inside one word that is called after a secret (`<password>…</password>`). */
function elementSpans(word: Word): Span[] {
  return elementsOf(word.text).flatMap(({ name, value, from }) => {
    const label = secretKey(name);
    if (label === undefined || isPackageFact(name, label, value)) return [];
    const at = word.at + from;
    return [{ from: at, to: at + value.length, label, certain: isSecretLiteral(value, name, label), wordAt: word.at }];
  });
}

/** The value of a `key=value` that a word is. */
function pairSpan(whole: string, word: Word, inner: boolean): Span | undefined {
  const { text, at } = word;
  const split = text.search(separator);
  const key = text.slice(0, split);
  const label = split > 0 ? secretKey(key) : undefined;
  if (label === undefined || isPackageFact(key, label, text.slice(split + 1))) return undefined;
  return valueSpan(whole, word, at + split + 1, key, label, inner);
}

/** Judges one word on its own (`inner`: it lies in a value that was read); a pair or a joined continuation is the caller's business. */
function spansOf(whole: string, word: Word, expected: Expectation | undefined, inner: boolean): Span[] {
  const { text, at } = word;
  const span = (range: Range, label: string, certain = true): Span => ({
    from: at + range.from,
    to: at + range.to,
    label,
    certain,
    wordAt: at,
  });
  const isValue =
    expected !== undefined &&
    !expected.bearer &&
    (!expected.compared || isComparedSecret(text, expected)) &&
    (!expected.said || isSaid(text));
  if (isValue && !isPackageFact(expected.key, expected.label, text))
    return [valueSpan(whole, word, at, expected.key, expected.label, inner)];
  const credential = urlCredential(text);
  if (credential !== undefined) return [span(credential, "credentials in a url")];
  const json = text.includes('"') ? jsonPairs(whole, word) : [];
  if (json.length > 0) return json;
  const elements = elementSpans(word);
  if (elements.length > 0) return elements;
  const said = chineseSaid(text);
  if (said !== undefined) return [span(said, said.label)];
  const pair = pairSpan(whole, word, inner);
  if (pair !== undefined) return pair.from < at + text.length ? [pair] : [];
  const later: Span[] = [];
  for (const each of laterPairs(word)) {
    const found = pairSpan(whole, each, inner || each.at < (later.at(-1)?.readTo ?? 0));
    if (found !== undefined) later.push(found);
  }
  const provider = providerToken(text);
  if (provider !== undefined) return [...later, span({ from: provider.at, to: text.length }, provider.label)].sort(inOrder);
  const jwt = jwtInside(text) ?? (isJwtShaped(text) ? { from: 0, to: text.length } : undefined);
  if (jwt !== undefined) return [...later, span(jwt, "jwt bearer token")].sort(inOrder);
  if (expected?.bearer && trimOuter(text).length >= SHORTEST_BEARER) {
    const place = { text: whole, from: at, to: at + text.length, key: "", literal: true };
    return [span({ from: 0, to: text.length }, expected.label, !isPlaceholder(text) && !isReference(place, secretWords))];
  }
  return later;
}

/** What a word announces about the one after it. `key:` and `key=` do, and so does a bare key before a lone `=`, and the verb of a sentence about a secret. */
function announces(text: string, word: Word, next: Word | undefined): Expectation | undefined {
  const subject = isCopula(word.text) ? subjectBefore(text, word.at) : undefined;
  if (subject !== undefined) return { ...subject, said: true };
  const says = chineseSays(word.text);
  if (says !== undefined) return { key: "", label: says, said: true };
  const sign = next?.text ?? "";
  // An arrow joins a quoted key to its value; behind another name it begins a function.
  const bare = isSeparator(sign) && (sign !== "=>" || /^:|["'\]]$/.test(word.text));
  const compared = isComparison(sign);
  const key = separators.includes(word.text.slice(-1)) ? word.text.slice(0, -1) : bare || compared ? word.text : undefined;
  const label = key === undefined || key === "" ? undefined : secretKey(key);
  const name = key === undefined || key === "" || label !== undefined || compared ? undefined : nameOfWords(text, word.at + key.length);
  if (key !== undefined && name !== undefined) return { key, label: name, said: true };
  // Parsers compare their tokens with words of all kinds.
  if (key !== undefined && label !== undefined)
    return !compared ? { key, label } : label === PASSWORD ? { key, label, compared } : undefined;
  // `--password hunter2`: the value of an option of a command.
  const option = /^--[a-z][a-z-]*$/.test(word.text) ? secretKey(word.text) : undefined;
  if (option !== undefined) return { key: word.text, label: option };
  return /^["']?(?:bearer|basic)$/i.test(word.text) ? { key: word.text, label: "bearer token", bearer: true } : undefined;
}

/** The secret that a sentence was about in the words before `at`. */
function subjectBefore(text: string, at: number): { readonly key: string; readonly label: string } | undefined {
  for (const { word, end } of sentenceBefore(text, at)) {
    const label = secretKey(word) ?? nameOfWords(text, end);
    if (label !== undefined) return { key: word, label };
  }
  return undefined;
}

/** UTF-16 units at the edges of two words that are looked at for a token which a line break cuts: more than any prefix with its shortest tail. */
const LONGEST_EDGE = 300;

/** A token broken by a line break: the two halves are judged as one. */
function brokenToken(word: Word, next: Word): Span | undefined {
  if (!/^\r?\n$/.test(word.gap)) return undefined;
  const [end, begin] = [word.text.slice(-LONGEST_EDGE), next.text.slice(0, LONGEST_EDGE)];
  const joined = providerToken(end + begin);
  if (joined === undefined || joined.at >= end.length || providerToken(begin) !== undefined) return undefined;
  const from = word.at + word.text.length - end.length + joined.at;
  return { from, to: next.at + next.text.length, label: joined.label, certain: true, wordAt: word.at };
}

/** Behind a line break, or behind the blank that a name makes of one: characters of a token and no word of prose. */
const isRest = (gap: string, text: string): boolean =>
  (gap === " " ? text.length >= 16 : /^\r?\n$/.test(gap) && text.length >= 6) &&
  /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) &&
  /[0-9]/.test(text);

const inOrder = (a: Span, b: Span) => a.from - b.from || b.to - a.to;

/** UTF-16 units of a word that are judged at once, and of what follows that is looked at with them: a longer word (an image in base64) goes piece by piece. */
const LONGEST_PIECE = 16_384;
const PIECE_OVERLAP = 4_096;

/** The spans of one word, in order. What reaches to the end of a piece reaches to the end of the word. */
function* judged(text: string, word: Word, expected: Expectation | undefined, readTo: number): Steps<Span[]> {
  if (word.text.length <= LONGEST_PIECE) return spansOf(text, word, expected, word.at < readTo);
  const found: Span[] = [];
  for (let start = 0; start < word.text.length; start += LONGEST_PIECE) {
    const piece = { text: word.text.slice(start, start + LONGEST_PIECE + PIECE_OVERLAP), at: word.at + start, gap: "" };
    const pieceTo = piece.at + piece.text.length;
    for (const span of spansOf(text, piece, start === 0 ? expected : undefined, piece.at < readTo))
      found.push(span.to < pieceTo ? span : { ...span, to: Math.max(span.to, word.at + word.text.length) });
    yield;
  }
  return found.sort(inOrder);
}

function* words(text: string): Generator<Word> {
  for (const match of text.matchAll(/(\S+)(\s*)/g)) yield { text: match[1] ?? "", at: match.index, gap: match[2] ?? "" };
}

/** UTF-16 units that are judged in one step: some milliseconds of the worst text. */
const STEP_UNITS = 4_096;

/** Gives `take` all spans of a text, in order, not overlapping, until it answers false. */
function* scan(text: string, take: (span: Span) => boolean): Steps<void> {
  const blocks = (yield* privateKeys(text)).map((block): Span => ({ ...block, label: "private key", certain: true, wordAt: block.from }));
  let open: Span | undefined;
  // An empty value, and one that is masked already, give nothing away.
  const close = (): boolean => open === undefined || open.from >= open.to || text.slice(open.from, open.to) === MASK || take(open);
  const add = (span: Span): boolean => {
    if (open === undefined || span.from >= open.to) {
      const goesOn = close();
      open = span;
      return goesOn;
    }
    const to = Math.max(open.to, span.to);
    open = span.certain && !open.certain ? { ...open, label: span.label, certain: true, to } : { ...open, to };
    return true;
  };
  let expected: Expectation | undefined;
  let readTo = 0;
  let pausedAt = 0;
  const list = words(text);
  for (let word = list.next().value, next: Word | undefined; word !== undefined; word = next) {
    next = list.next().value;
    if (expected !== undefined && isSignBehindKey(word.text)) continue;
    const found = yield* judged(text, word, expected, readTo);
    readTo = found.reduce((end, span) => Math.max(end, span.readTo ?? 0), readTo);
    const broken = found.length === 0 && next !== undefined ? brokenToken(word, next) : undefined;
    if (broken !== undefined) found.push(broken);
    // A token that was cut where it was long enough already: its rest is hidden with it.
    const cut = found.at(-1);
    if (cut?.certain && cut.to === word.at + word.text.length && next !== undefined && isRest(word.gap, next.text))
      found[found.length - 1] = { ...cut, to: next.at + next.text.length };
    while (blocks[0] !== undefined && blocks[0].from < word.at + word.text.length) found.push(...blocks.splice(0, 1));
    if (!found.sort(inOrder).every(add)) return;
    expected = announces(text, word, next);
    if (word.at < pausedAt + STEP_UNITS) continue;
    pausedAt = word.at;
    yield;
  }
  close();
}

/** A credential that was found: its kind, and the code point at which the word that gave it away starts. */
export interface SecretFinding {
  readonly label: string;
  readonly offset: number;
}

/** The first credential that is certain enough to refuse a write, looked for in steps; undefined where there is none. */
export function* secretSteps(text: string): Steps<SecretFinding | undefined> {
  let hit: Span | undefined;
  yield* scan(text, (span) => {
    if (span.certain) hit = span;
    return hit === undefined;
  });
  return hit === undefined ? undefined : { label: hit.label, offset: charCount(text.slice(0, hit.wordAt)) };
}

/** {@link secretSteps} at once, for a text of which the size is bounded. */
export const findSecret = (text: string): SecretFinding | undefined => toEnd(secretSteps(text));

/** Two are enough for all that was tried; the bound only keeps a strange text from holding a call up. */
const MOST_PASSES = 8;

/** The text with the value of everything that looks like a credential replaced by `***`; keys and separators stay. Idempotent. */
export function redact(text: string): string {
  let masked = text;
  // A mask can bring a second reading of the same word to light (`password=a://b:c@d`), so it goes on until nothing is found.
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    let out = "";
    let at = 0;
    toEnd(
      scan(masked, (span) => {
        out += masked.slice(at, span.from) + MASK;
        at = span.to;
        return true;
      }),
    );
    if (at === 0) break;
    masked = out + masked.slice(at);
  }
  return masked;
}

/** UTF-16 units behind what is shown that are judged with it: more than a web token or a key is long, so that no cut half of one is taken for prose. */
const CONTEXT_UNITS = 4_096;

/**
 * The start of the redacted text: what is left of its first `units` UTF-16 units. Costs no more for a text of megabytes. Where the cut goes through
 * something that is hidden when more of it is seen, the start ends in front of it.
 */
export function redactedStart(text: string, units: number): string {
  if (text.length <= units) return redact(text);
  const judged = redact(text.slice(0, units + CONTEXT_UNITS));
  const start = redact(text.slice(0, units));
  let same = 0;
  while (same < start.length && start.charAt(same) === judged.charAt(same)) same++;
  return start.slice(0, same);
}
