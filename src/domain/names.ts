/** Entity names: what is accepted, what counts as the same name, and which names a question mentions (`tools-graph.md` §3.3, `retrieval.md` §2.4). */
import { invalid } from "../kernel/errors.ts";
import { charCount, firstChars, isBlank, isStorable } from "../kernel/text.ts";
import { hasDenseScript } from "./words.ts";

/** Longest entity name, in code points. */
export const MAX_NAME_CHARS = 200;

/** Control characters, and the marks that turn the writing direction: a name that cannot be seen cannot be typed again. */
const INVISIBLE = /[\p{Cc}\u202a-\u202e\u2066-\u2069\ufeff]/u;
/** Break hints that text copied from a page brings along; unlike joiners they mean nothing in any script. */
export const BREAK_HINTS = /[\u00ad\u200b\u2060]/gu;
const UNFIT_FOR_LABELS = /[\p{Cc}\p{Surrogate}\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/**
 * The form in which a name from a caller or a model is stored: Unicode NFC, trimmed, inner white space one blank.
 * @param field what the error calls it (`entity_name`, `items[3].entity_name`).
 * @throws MemoryError `invalid` for an empty name, one over 200 code points, control characters or a lone surrogate.
 */
export function cleanName(raw: string, field = "name"): string {
  const name = raw.normalize("NFC").replace(/\s+/gu, " ").trim();
  if (isBlank(name)) throw invalid(`${field} is blank. Give a name of 1 to ${MAX_NAME_CHARS} characters. Nothing was written.`, { field });
  if (INVISIBLE.test(name) || !isStorable(name))
    throw invalid(`${field} holds a control character or half a character. Send the name without it. Nothing was written.`, { field });
  const length = charCount(name);
  if (length > MAX_NAME_CHARS)
    throw invalid(`${field} has ${length} characters; at most ${MAX_NAME_CHARS} fit. Shorten it. Nothing was written.`, { field });
  return name;
}

/** True for a name that is stored exactly as it stands. */
export const isCleanName = (raw: string): boolean =>
  !isBlank(raw) && !INVISIBLE.test(raw) && isStorable(raw) && charCount(raw) <= MAX_NAME_CHARS && cleanName(raw) === raw;

/** What a client or a person calls something, made fit to be kept and shown: for labels that are never refused. Empty where nothing visible is left. */
export function cleanLabel(raw: string): string {
  const label = raw.normalize("NFC").replace(/\s+/gu, " ").replace(UNFIT_FOR_LABELS, "").trim();
  return isBlank(label) ? "" : firstChars(label, MAX_NAME_CHARS).trim();
}

const SEPARATOR_BETWEEN_DIGITS = /(?<=\p{Nd})[\s\-_/]+(?=\p{Nd})/gu;
const SEPARATOR_ELSEWHERE = /(?<!\p{Nd})[\s\-_/]+|[\s\-_/]+(?![\p{Nd}\s\-_/])/gu;
const DOT_BETWEEN_LETTERS = /(?<=\p{L}\p{M}*)\.(?=\p{L})/gu;

/**
 * The key under which two spellings are one name: lower case without white space, `-`, `_`, `/`, and without `.` between letters.
 * `Mapupita-Web` = `mapupita web`, `Node.js` = `nodejs`. `+`, `#`, a leading `.` and any separator between two digits stay, so that
 * `C`, `C++`, `C#` are three names, `.NET` is not `net` and `1.0` not `10`. Soft hyphens and zero-width spaces do not count. Empty for a name of separators alone: that never matches by key.
 */
export function nameKey(name: string): string {
  return name
    .normalize("NFC")
    .toLowerCase()
    .replace(BREAK_HINTS, "")
    .replace(SEPARATOR_BETWEEN_DIGITS, (run) => run.replace(/\s+/gu, "") || " ")
    .replace(SEPARATOR_ELSEWHERE, "")
    .replace(DOT_BETWEEN_LETTERS, "");
}

/** A name shorter than this in code points is an ordinary word too often to count as mentioned. */
const MIN_MENTION_CHARS = 4;
/** Most mentions that a search follows. */
const MAX_MENTIONS = 8;

/** The looser form for "is it mentioned": lower case, `-`, `_`, `/`, `.` as blanks. Never for identity: `1.0` and `1 0` become one. */
export function mentionForm(text: string): string {
  return text
    .normalize("NFC")
    .toLowerCase()
    .replace(/[\s\-_/.]+/gu, " ")
    .trim();
}

const isWordChar = /[\p{L}\p{M}\p{N}]/u;
/** Whether a word may begin or end between two characters: beside a blank or sign, and anywhere in scripts without spaces. */
const isBoundary = (left: string, right: string) =>
  !isWordChar.test(left) || !isWordChar.test(right) || hasDenseScript(left) || hasDenseScript(right);

/** True where `name` stands in `query` as whole words; both in one form. */
export function standsIn(query: string, name: string): boolean {
  for (let at = query.indexOf(name); at !== -1; at = query.indexOf(name, at + 1)) {
    const end = at + name.length;
    if (isBoundary(query.slice(0, at).slice(-1), name.slice(0, 1)) && isBoundary(name.slice(-1), query.slice(end, end + 1))) return true;
  }
  return false;
}

/** True where a text, already in {@link mentionForm}, mentions one name by the rule of {@link createMentionFinder}. */
export function mentions(form: string, name: string): boolean {
  const wanted = mentionForm(name);
  return charCount(wanted) >= MIN_MENTION_CHARS && standsIn(form, wanted);
}

/** Finds mentions among names that were prepared once; the name list of a project changes less often than it is asked. */
export type MentionFinder = (query: string) => string[];

/**
 * @param names entity names (and aliases, which the caller maps back). Of names equal but for case the first in code-point order is kept.
 * @returns a function from a question to at most 8 of these names that stand in it as whole words, longest first, then in code-point order.
 */
export function createMentionFinder(names: readonly string[]): MentionFinder {
  const prepared = new Map<string, { readonly name: string; readonly form: string }>();
  for (const name of [...names].sort(byCodePoint)) {
    const form = mentionForm(name);
    const key = name.toLowerCase();
    if (charCount(form) >= MIN_MENTION_CHARS && !prepared.has(key)) prepared.set(key, { name, form });
  }
  const ordered = [...prepared.values()].sort((a, b) => charCount(b.name) - charCount(a.name) || byCodePoint(a.name, b.name));
  /** Places in `ordered` by how a name begins, so that a question meets a few names and not all of ten thousand. */
  const byHead = Map.groupBy(ordered.keys(), (at) => ordered[at]?.form.slice(0, MIN_MENTION_CHARS) ?? "");
  return (query) => {
    const asked = mentionForm(query);
    const places = new Set<number>();
    for (let at = 0; at < asked.length; at++)
      for (const place of byHead.get(asked.slice(at, at + MIN_MENTION_CHARS)) ?? []) places.add(place);
    const found: string[] = [];
    for (const place of [...places].sort((a, b) => a - b)) {
      if (found.length === MAX_MENTIONS) break;
      const { name, form } = ordered[place] ?? { name: "", form: "" };
      if (standsIn(asked, form)) found.push(name);
    }
    return found;
  };
}

/** {@link createMentionFinder} for one question. */
export const findMentions = (query: string, names: readonly string[]): string[] => createMentionFinder(names)(query);

const byCodePoint = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
