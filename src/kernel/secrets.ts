/**
 * One scanner for what looks like a live credential, two views of it: `findSecret` (the write gate refuses on the first hit) and
 * `redact` (texts on their way to a log, a model or a person). Both read the same spans, so what the gate refuses the redactor changes.
 * Rules and labels: `tools-graph.md` §3.4.
 */
import { readValue } from "./secret-expressions.ts";
import { isDate, isQuantity, isReference, type SecretWords } from "./secret-references.ts";

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

/** Names of keys whose value is a secret. A key matches when it ends in one, possibly continued (`aws_secret_access_key`). */
const secretNames: readonly (readonly [name: string, label: string])[] = [
  ["api_key", "api key field"],
  ["apikey", "api key field"],
  ["api-key", "api key field"],
  ["password", "password field"],
  ["passwd", "password field"],
  ["pwd", "password field"],
  ["token", "token field"],
  ["secret", "secret field"],
  ["passphrase", "password field"],
  ["contraseña", "password field"],
  ["密码", "password field"],
  ["口令", "password field"],
];
/** Between a key and its value; Chinese has wide ones. */
const separators = "=:：＝";
const separator = new RegExp(`[${separators}]`);
const assignment = /^(?::=|=>|(?:\|\||\?\?|&&|[+?])=)$/;
const isSeparator = (text: string) => (text.length === 1 && separators.includes(text)) || assignment.test(text);
const continuation = /(?:[_-]access)?[_-](?:key|value)$/;

interface Prefix {
  readonly text: string;
  readonly label: string;
  /** Matches only where no letter, digit or `-` stands before it. */
  readonly boundary?: boolean;
  /** What must follow directly, instead of the usual "more than eight characters". */
  readonly follows?: RegExp;
}

/** Characters after a provider's prefix below which it is taken for prose (`sk-1`). */
const SHORTEST_TAIL = 9;
const upperOrDigit = /^[A-Z0-9]{9,}/;
const providerKey = "provider api key";
const github = "github token";

const prefixes: readonly Prefix[] = [
  { text: "sk-ant-", label: providerKey },
  { text: "sk-proj-", label: providerKey },
  { text: "sk-live-", label: providerKey },
  // `sk-` alone stands inside ordinary words (task-scheduler, risk-based): it needs an edge and a tail that no word has.
  { text: "sk-", label: providerKey, boundary: true, follows: /^(?=[A-Za-z0-9_-]*[0-9A-Z])[A-Za-z0-9_-]{16,}/ },
  { text: "sk_live_", label: providerKey },
  { text: "rk_live_", label: providerKey },
  { text: "sk_test_", label: providerKey, follows: /^[A-Za-z0-9]{16,}/ },
  { text: "rk_test_", label: providerKey, follows: /^[A-Za-z0-9]{16,}/ },
  { text: "whsec_", label: "webhook secret", boundary: true, follows: /^(?=[A-Za-z0-9+/]*[0-9A-Z])[A-Za-z0-9+/]{16,}/ },
  { text: "ghp_", label: github },
  { text: "gho_", label: github },
  { text: "ghs_", label: github },
  { text: "ghu_", label: github },
  { text: "ghr_", label: github },
  { text: "github_pat_", label: github },
  { text: "glpat-", label: "gitlab token" },
  { text: "npm_", label: "npm token", boundary: true, follows: /^(?=[A-Za-z0-9]*[0-9A-Z])[A-Za-z0-9]{16,}/ },
  { text: "hf_", label: "model hub token", boundary: true, follows: /^(?=[A-Za-z0-9]*[0-9A-Z])[A-Za-z0-9]{16,}/ },
  { text: "xoxb-", label: "slack token" },
  { text: "xoxp-", label: "slack token" },
  { text: "xoxa-", label: "slack token" },
  { text: "xapp-", label: "slack token" },
  { text: "hooks.slack.com/services/", label: "slack webhook", follows: /^T[A-Z0-9]+\/B[A-Z0-9]+\/[A-Za-z0-9]{16,}/ },
  { text: "AKIA", label: "aws access key id", follows: upperOrDigit },
  { text: "ASIA", label: "aws access key id", boundary: true, follows: upperOrDigit },
  { text: "AIza", label: "google api key", boundary: true, follows: /^[A-Za-z0-9_-]{20,}/ },
  { text: "dop_v1_", label: "digitalocean token" },
];

const trimOuter = (text: string) => text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");

/** A value that reads like a credential rather than like prose: at least 6 characters with a digit, or at least 16. */
function isOpaque(value: string): boolean {
  // Chinese has no blanks: what stands between its characters is judged, a sentence of sixteen of them is none.
  return value.split(/\p{Script=Han}+/u).some((part) => {
    const core = trimOuter(part);
    return (core.length >= 6 && /[0-9]/.test(core)) || core.length >= 16;
  });
}

/** Our own switch ends in a secret's name and is none: our refusals tell people to pass it. */
const GATE_SWITCH = "allow_secret";

const bareKey = (raw: string) => raw.replace(/^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu, "").toLowerCase();

/** The label of a key whose value is secret, or undefined. */
function secretKey(raw: string): string | undefined {
  const key = bareKey(raw);
  if (key === GATE_SWITCH) return undefined;
  const whole = secretNames.find(([name]) => key.endsWith(name));
  if (whole !== undefined) return whole[1];
  const stem = key.replace(continuation, "");
  return stem === key ? undefined : secretNames.find(([name]) => stem.endsWith(name))?.[1];
}

function words(text: string): Word[] {
  const found: Word[] = [];
  for (const match of text.matchAll(/(\S+)(\s*)/g)) found.push({ text: match[1] ?? "", at: match.index, gap: match[2] ?? "" });
  return found;
}

/** Earliest provider prefix with enough behind it: where it starts inside `text`, and its label. */
function providerToken(text: string): { readonly at: number; readonly label: string } | undefined {
  let best: { at: number; label: string } | undefined;
  for (const prefix of prefixes) {
    for (let at = text.indexOf(prefix.text); at !== -1; at = text.indexOf(prefix.text, at + 1)) {
      if (best !== undefined && best.at <= at) break;
      const tail = text.slice(at + prefix.text.length);
      if (prefix.boundary && at > 0 && /[\p{L}\p{N}-]/u.test(text.charAt(at - 1))) continue;
      if (prefix.follows === undefined ? tail.length < SHORTEST_TAIL : !prefix.follows.test(tail)) continue;
      best = { at, label: prefix.label };
      break;
    }
  }
  return best;
}

/** A user part of a URL this long with a digit is a token by itself (`https://<token>@host`). */
const SHORTEST_URL_TOKEN = 20;

/** The credential part of `scheme://user:password@host`, as a range inside `text`. */
function urlCredential(text: string): { readonly from: number; readonly to: number } | undefined {
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

const range = String.raw`(?:[\^~]|[<>]=?|={1,3}|!=|workspace:[\^~]?)`;
const release = String.raw`v?[0-9]{1,5}(?:\.[0-9]{1,5}){1,3}(?:-?(?:alpha|beta|rc|pre|preview|next|canary|dev|nightly)[.-]?[0-9]{0,8})?`;
/** A version or a range of versions. Three dotted numbers can be a birthday as well, so a password needs the operator of a range. */
const versionOf = (label: string) => new RegExp(`^${range}${label === "password field" ? "+" : "*"}${release}$`);
const packageAtVersion = new RegExp(`^(?:npm:|jsr:)?(@?[a-z0-9][a-z0-9._/-]{0,100})@${range}?${release}$`);
/** Digests as lock files and pages write them, with exactly the length that their bytes have in base64. */
const digest = /^(?:sha1-[A-Za-z0-9+/]{27}=|sha256-[A-Za-z0-9+/]{43}=|sha384-[A-Za-z0-9+/]{64}|sha512-[A-Za-z0-9+/]{86}==)$/;

/**
 * True where a key only sounds like a credential's: a package called `js-tiktoken`, with its version, itself at a version, or its digest as the value.
 * Lock files and manifests are full of them.
 */
function isPackageFact(rawKey: string, label: string, rawValue: string): boolean {
  const value = rawValue.replace(/^[\s"'[({]+|[\s"'\])},;]+$/g, "");
  if (providerToken(value) !== undefined) return false;
  if (versionOf(label).test(value)) return true;
  const named = packageAtVersion.exec(value)?.[1]?.replace(/^@/, "");
  const key = bareKey(rawKey);
  if (named !== undefined) return /^(?:npm|jsr):/.test(value) || key === named || key.endsWith(`/${named}`);
  return label !== "password field" && digest.test(value);
}

const secretWords: SecretWords = { isOpaque, isSecretName: (name) => secretKey(name) !== undefined };

/** A date, a quantity, a package's version: what a key of a secret may hold without being one. */
const isPlainFact = (rawKey: string, label: string, value: string): boolean =>
  (label !== "password field" && isDate(value)) ||
  (label === "token field" && isQuantity(bareKey(rawKey), value)) ||
  isPackageFact(rawKey, label, value);

/** A value of a secret's key that is certain enough to refuse: opaque, and no reference to code, no path, no date, no quantity. */
function isCertain(text: string, word: Word, from: number, rawKey: string, label: string): boolean {
  const to = word.at + word.text.length;
  const value = text.slice(from, to);
  if (!isOpaque(value)) return false;
  if (providerToken(value) !== undefined || jwtInside.test(value)) return true;
  if (isPlainFact(rawKey, label, value)) return false;
  const literal = /^[A-Z0-9_]+$/.test(rawKey) && text.charAt(from - 1) === "=";
  return !isReference({ text, from, to, key: bareKey(rawKey), literal }, secretWords);
}

/**
 * The span of the value that starts at `from`, inside of `word`. Where it is refused, or has a literal in it that is (a default, the other branch), all of
 * it is hidden, to the end of the expression; else its first word or its first literal.
 */
function valueSpan(text: string, word: Word, from: number, rawKey: string, label: string, inner: boolean): Span {
  const isSecretLiteral = (value: string): boolean => {
    const first = /^\S*/.exec(value.trim())?.[0] ?? "";
    if (!isOpaque(first)) return false;
    if (providerToken(first) !== undefined || jwtInside.test(first)) return true;
    const place = { text: `"${first}"`, from: 0, to: first.length + 2, key: bareKey(rawKey), literal: false };
    return !isPlainFact(rawKey, label, first) && !isReference(place, secretWords);
  };
  const certain = isCertain(text, word, from, rawKey, label);
  const value = readValue(text, from, inner, { isSecretLiteral, isSecretName: secretWords.isSecretName });
  const quoted = /^\\?(["'`])(?:(?!\\?\1)[^\n])*\\?\1/.exec(text.slice(from, from + LONGEST_LITERAL));
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

/** UTF-16 units of a quoted value of several words that are hidden with its first. */
const LONGEST_LITERAL = 300;

/** Every `"key":"value"` pair inside one word whose key names a secret (compact JSON). */
function jsonPairs(word: Word): Span[] {
  const spans: Span[] = [];
  for (const pair of word.text.matchAll(/"([^"\\]+)"\s*:\s*"((?:[^"\\]|\\.)*)/g)) {
    const label = secretKey(pair[1] ?? "");
    const value = pair[2] ?? "";
    if (label === undefined || value === "" || isPackageFact(pair[1] ?? "", label, value)) continue;
    const from = word.at + pair.index + pair[0].length - value.length;
    // From quote to quote: only a template alone is a reference here.
    const start = from - word.at - 1;
    const place = { text: word.text, from: start, to: start + value.length + 2, key: pair[1] ?? "", literal: false };
    const certain = isOpaque(value) && (providerToken(value) !== undefined || !isReference(place, secretWords));
    spans.push({ from, to: from + value.length, label, certain, wordAt: word.at });
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
}

/** A whole token inside of a word: a path, a web address, a cookie. Header and claims are JSON objects, so both begin alike. */
const jwtInside = /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/;

/** Judges one word on its own (`inner`: it lies in a value that was read); a pair or a joined continuation is the caller's business. */
function spansOf(whole: string, word: Word, expected: Expectation | undefined, inner: boolean): Span[] {
  const { text, at } = word;
  const span = (from: number, to: number, label: string, certain: boolean): Span => ({
    from: at + from,
    to: at + to,
    label,
    certain,
    wordAt: at,
  });
  if (expected !== undefined && !expected.bearer && !isPackageFact(expected.key, expected.label, text))
    return [valueSpan(whole, word, at, expected.key, expected.label, inner)];
  const credential = urlCredential(text);
  if (credential !== undefined) return [span(credential.from, credential.to, "credentials in a url", true)];
  const json = jsonPairs(word);
  if (json.length > 0) return json;
  const split = text.search(separator);
  if (split > 0) {
    const label = secretKey(text.slice(0, split));
    const value = text.slice(split + 1);
    if (label !== undefined && !isPackageFact(text.slice(0, split), label, value)) {
      return value === "" ? [] : [valueSpan(whole, word, at + split + 1, text.slice(0, split), label, inner)];
    }
  }
  const provider = providerToken(text);
  if (provider !== undefined) return [span(provider.at, text.length, provider.label, true)];
  const inside = jwtInside.exec(text);
  if (inside !== null) return [span(inside.index, inside.index + inside[0].length, "jwt bearer token", true)];
  const core = text.replace(/^[^\p{L}\p{N}]+/u, "");
  if (core.startsWith("eyJ") && core.split(".").length === 3) return [span(0, text.length, "jwt bearer token", true)];
  if (expected?.bearer && trimOuter(text).length >= SHORTEST_BEARER) return [span(0, text.length, expected.label, true)];
  return [];
}

/** What a word announces about the one after it. `key:` and `key=` do, and so does a bare key before a lone `=`. */
function announces(word: Word, next: Word | undefined): Expectation | undefined {
  // An arrow joins a quoted key to its value; behind another name it begins a function.
  const bare = isSeparator(next?.text ?? "") && (next?.text !== "=>" || /^:|["'\]]$/.test(word.text));
  const key = separators.includes(word.text.slice(-1)) ? word.text.slice(0, -1) : bare ? word.text : undefined;
  const label = key === undefined || key === "" ? undefined : secretKey(key);
  if (key !== undefined && label !== undefined) return { key, label };
  // `--password hunter2`: the value of an option of a command.
  const option = /^--[a-z][a-z-]*$/.test(word.text) ? secretKey(word.text) : undefined;
  if (option !== undefined) return { key: word.text, label: option };
  return /^["']?(?:bearer|basic)$/i.test(word.text) ? { key: word.text, label: "bearer token", bearer: true } : undefined;
}

const privateKey = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)/g;

/** Behind a line break, or behind the blank that a name makes of one: characters of a token and no word of prose. */
const isRest = (gap: string, text: string): boolean =>
  /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) &&
  /[0-9]/.test(text) &&
  (/^\r?\n$/.test(gap) ? text.length >= 6 : gap === " " && text.length >= 16);

/** All spans of a text, in order, not overlapping. */
function scan(text: string): Span[] {
  const spans: Span[] = [];
  for (const block of text.matchAll(privateKey))
    spans.push({ from: block.index, to: block.index + block[0].length, label: "private key", certain: true, wordAt: block.index });
  const list = words(text);
  let expected: Expectation | undefined;
  let readTo = 0;
  for (let i = 0; i < list.length; i++) {
    const word = list[i];
    if (word === undefined) continue;
    if (expected !== undefined && isSeparator(word.text)) continue;
    const found = spansOf(text, word, expected, word.at < readTo);
    readTo = found.reduce((end, span) => Math.max(end, span.readTo ?? 0), readTo);
    const next = list[i + 1];
    // A token broken by a line break: the two halves are judged as one.
    if (found.length === 0 && next !== undefined && /^\r?\n$/.test(word.gap)) {
      const joined = providerToken(word.text + next.text);
      if (joined !== undefined && joined.at < word.text.length && providerToken(next.text) === undefined)
        found.push({ from: word.at + joined.at, to: next.at + next.text.length, label: joined.label, certain: true, wordAt: word.at });
    }
    // A token that was cut where it was long enough already: its rest is hidden with it.
    const cut = found.at(-1);
    if (cut?.certain && cut.to === word.at + word.text.length && next !== undefined && isRest(word.gap, next.text))
      found[found.length - 1] = { ...cut, to: next.at + next.text.length };
    spans.push(...found);
    expected = announces(word, next);
  }
  spans.sort((a, b) => a.from - b.from || b.to - a.to);
  const kept: Span[] = [];
  for (const span of spans) {
    const last = kept.at(-1);
    if (last !== undefined && span.from < last.to) {
      if (span.certain && !last.certain)
        kept[kept.length - 1] = { ...last, label: span.label, certain: true, to: Math.max(last.to, span.to) };
      else if (span.to > last.to) kept[kept.length - 1] = { ...last, to: span.to };
    } else kept.push(span);
  }
  // An empty value, and one that is masked already, give nothing away.
  return kept.filter((span) => span.from < span.to && text.slice(span.from, span.to) !== MASK);
}

/** A credential that was found: its kind, and the code point at which the word that gave it away starts. */
export interface SecretFinding {
  readonly label: string;
  readonly offset: number;
}

/** The first credential that is certain enough to refuse a write; undefined where there is none. */
export function findSecret(text: string): SecretFinding | undefined {
  const hit = scan(text).find((span) => span.certain);
  return hit === undefined ? undefined : { label: hit.label, offset: Array.from(text.slice(0, hit.wordAt)).length };
}

/** The text with the value of everything that looks like a credential replaced by `***`; keys and separators stay. Idempotent. */
export function redact(text: string): string {
  let masked = text;
  // A mask can bring a second reading of the same word to light (`password=a://b:c@d`), so it goes on until nothing is found.
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const spans = scan(masked);
    if (spans.length === 0) break;
    let out = "";
    let at = 0;
    for (const span of spans) {
      out += masked.slice(at, span.from) + MASK;
      at = span.to;
    }
    masked = out + masked.slice(at);
  }
  return masked;
}

/** Two are enough for all that was tried; the bound only keeps a strange text from holding a call up. */
const MOST_PASSES = 8;
