/** Credentials that give themselves away, without a key: a provider's tokens, JSON Web Tokens, passwords in addresses, private keys. All in time linear in the text. */
import { isPlaceholder } from "./secret-placeholders.ts";
import { LONGEST_BEHIND, longTokens, type ProviderToken, SHORTEST_LONG, tokens } from "./secret-providers.ts";
import type { Steps } from "./steps.ts";
import { trimmedTo } from "./text.ts";

/** A part of a text: UTF-16 range [from, to). */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Characters after a provider's prefix below which it is taken for prose (`sk-1`). */
const SHORTEST_TAIL = 9;
/** Characters of the shortest prefix with the shortest tail: a shorter word holds no provider's token. */
const SHORTEST_TOKEN = 13;
/** UTF-16 units behind a prefix that are looked at: each place of a long word is read so far and no farther. */
const LONGEST_TAIL = 300;
/** The signs of a tail, as far as a text in its place is long. */
const tailWord = /^[\w*-]{0,80}/;

export const trimOuter = (text: string): string => trimmedTo(text, /[\p{L}\p{N}]/u);

/** UTF-16 units of a credential with a digit, and of one without. */
const SHORTEST_OPAQUE = 6;
const OPAQUE_ANYWAY = 16;

/** A value that reads like a credential rather than like prose: at least 6 characters with a digit, or at least 16. */
export function isOpaque(value: string): boolean {
  if (value.length < SHORTEST_OPAQUE) return false;
  // Chinese has no blanks: what stands between its characters is judged, a sentence of sixteen of them is none.
  return value.split(/\p{Script=Han}+/u).some((part) => {
    const core = trimOuter(part);
    return (core.length >= SHORTEST_OPAQUE && /[0-9]/.test(core)) || core.length >= OPAQUE_ANYWAY;
  });
}

/** Words of sentences and of forms: with one of them, a row of plain words says something and is no passphrase. */
const prose = new Set(
  (
    "a an the is are was be been to of in on at by for from with without and or not no nor if when then than that this it its you your my our we i me he she they do does did done has have had " +
    "must should shall can could may might will would need needs set get use used uses using please enter type choose keep kept store stored see ask note never always only " +
    "user users username name email mail login logon account password passwords passwd passphrase passphrases pwd secret secrets token tokens key keys pin code codes hash hashed " +
    "field fields value values default length long short min max minimum maximum least most more less characters chars letters digits numbers symbols letter digit number " +
    "new old current confirm confirmation reset change changed change expires expired rotate rotated days day hours minutes seconds times time version step section line page file part " +
    "el la los las un una de del al en con sin por para y o no su tu es son que se debe"
  ).split(" "),
);
const LONGEST_PASSPHRASE = 100;
const FEWEST_WORDS = 3;
const MOST_WORDS = 12;
/** Words from which on a row is a passphrase without a digit as well. */
const WORDS_WITHOUT_DIGIT = 4;

/** True for a row of plain words and numbers that no sentence would have (`correct horse battery 9 staple`). Only of a quoted value of a password's key. */
export function isPassphrase(value: string): boolean {
  if (value.length > LONGEST_PASSPHRASE) return false;
  const words = value.toLowerCase().split(" ");
  if (words.length < FEWEST_WORDS || words.length > MOST_WORDS) return false;
  if (!words.every((word) => /^(?:[a-z]{2,14}[0-9]{0,4}|[0-9]{1,6})$/.test(word) && !prose.has(word))) return false;
  return words.length >= WORDS_WITHOUT_DIGIT || /[0-9]/.test(value);
}

interface Found {
  readonly at: number;
  readonly label: string;
}

/** Earliest token of a provider in `text`: where it starts, and its label. */
export function providerToken(text: string): Found | undefined {
  if (text.length < SHORTEST_TOKEN) return undefined;
  const found = earliest(text, tokens, undefined);
  return text.length < SHORTEST_LONG ? found : earliest(text, longTokens, found);
}

function earliest(text: string, list: readonly ProviderToken[], known: Found | undefined): Found | undefined {
  let best = known;
  for (const token of list) {
    for (let at = text.indexOf(token.text); at !== -1; at = text.indexOf(token.text, at + 1)) {
      if (best !== undefined && best.at <= at) break;
      const start = at + token.text.length;
      const tail = text.slice(start, start + LONGEST_TAIL);
      if (token.boundary && at > 0 && /[\p{L}\p{N}-]/u.test(text.charAt(at - 1))) continue;
      if (token.follows === undefined ? tail.length < SHORTEST_TAIL : !token.follows.test(tail)) continue;
      const before = token.behind === undefined ? "" : token.behind.exec(text.slice(Math.max(0, at - LONGEST_BEHIND), at))?.[0];
      if (before === undefined || isPlaceholder(tailWord.exec(tail)?.[0] ?? "")) continue;
      best = { at: at - before.length, label: token.label };
      break;
    }
  }
  return best;
}

/** A user part of a URL this long with a digit is a token by itself (`https://<token>@host`). */
const SHORTEST_URL_TOKEN = 20;

/** The credential part of `scheme://user:password@host`, as a range inside `text`. */
export function urlCredential(text: string): Range | undefined {
  const scheme = text.indexOf("://");
  if (scheme === -1) return undefined;
  const end = text.slice(scheme + 3).search(/[/?#]/);
  const authority = scheme + 3;
  const whole = text.lastIndexOf("@", end === -1 ? undefined : authority + end);
  // A raw `/` inside a password puts the `@` behind the first slash; the last `@` of the word then ends it.
  const at = whole >= authority ? whole : text.lastIndexOf("@");
  if (at < authority) return undefined;
  const colon = text.indexOf(":", authority);
  if (colon !== -1 && colon < at) return { from: colon + 1, to: at };
  const user = text.slice(authority, at);
  return user.length >= SHORTEST_URL_TOKEN && isOpaque(user) && /[0-9]/.test(user) ? { from: authority, to: at } : undefined;
}

const tokenSign = /[\w-]/;
const claims = /\.eyJ[\w-]{8,}\.[\w-]{8,}/y;
/** Characters of a JSON Web Token's header at least, behind the first three. */
const SHORTEST_HEADER = 8;

/**
 * A whole JSON Web Token inside of a word: a path, a web address, a cookie. Header and claims are JSON objects, so both begin alike.
 * Looked for from the dot between them: each run of signs is read twice at most.
 */
export function jwtInside(text: string): Range | undefined {
  for (let dot = text.indexOf(".eyJ"); dot !== -1; dot = text.indexOf(".eyJ", dot + 1)) {
    claims.lastIndex = dot;
    if (!claims.test(text)) continue;
    const to = claims.lastIndex;
    let start = dot;
    while (start > 0 && tokenSign.test(text.charAt(start - 1))) start--;
    const from = text.slice(start, dot).indexOf("eyJ");
    if (from !== -1 && dot - start - from >= "eyJ".length + SHORTEST_HEADER) return { from: start + from, to };
  }
  return undefined;
}

/** True where the whole word has the shape of a JSON Web Token, however short. */
export function isJwtShaped(text: string): boolean {
  const start = text.search(/[\p{L}\p{N}]/u);
  return start !== -1 && text.startsWith("eyJ", start) && text.slice(start).split(".").length === 3;
}

const keyBegins = "-----BEGIN ";
const keyEnds = "-----END ";
const privateKeyLabel = /[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;

/** The blocks of private keys, begin to end; one without an end reaches to the end of the text. */
export function* privateKeys(text: string): Steps<Range[]> {
  const found: Range[] = [];
  /** Behind the next mark from `from` on that a private key's label follows: where the mark stands, where the label ends. */
  function* marked(mark: string, from: number): Steps<Range | undefined> {
    for (let at = text.indexOf(mark, from); at !== -1; at = text.indexOf(mark, at + mark.length)) {
      privateKeyLabel.lastIndex = at + mark.length;
      if (privateKeyLabel.test(text)) return { from: at, to: privateKeyLabel.lastIndex };
      yield;
    }
    return undefined;
  }
  for (let begin = yield* marked(keyBegins, 0); begin !== undefined; ) {
    const to = (yield* marked(keyEnds, begin.to))?.to ?? text.length;
    found.push({ from: begin.from, to });
    begin = yield* marked(keyBegins, to);
  }
  return found;
}
