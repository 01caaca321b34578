/** What a key of a secret may hold without being one: dates, quantities, the facts of a package, words that stand in a secret's place. */
import { bareKey, PASSWORD } from "./secret-keys.ts";
import { isPlaceholder } from "./secret-placeholders.ts";
import { isDate, isQuantity } from "./secret-references.ts";
import { providerToken } from "./secret-tokens.ts";

/** One operator at most: repeated, `={1,3}` and `<=` could be read in as many ways as there are signs, and a row of `=` would hold everything up. */
const range = String.raw`(?:[\^~]|[<>]=?|={1,3}|[!~]=)`;
const release = String.raw`v?[0-9]{1,5}(?:\.[0-9]{1,5}){1,3}(?:-?(?:alpha|beta|rc|pre|preview|next|canary|dev|nightly)[.-]?[0-9]{0,8})?`;
/** A version or a range of versions. */
const version = new RegExp(`^(?:workspace:)?${range}?${release}$`);
/** Three dotted numbers can be a birthday as well, so a password needs the operator of a range. */
const versionRange = new RegExp(`^(?:workspace:${range}?|${range})${release}$`);
const packageAtVersion = new RegExp(`^(?:npm:|jsr:)?(@?[a-z0-9][a-z0-9._/-]{0,100})@${range}?${release}$`);
/** Digests as lock files and pages write them, with exactly the length that their bytes have in base64. */
const digest = /^(?:sha1-[A-Za-z0-9+/]{27}=|sha256-[A-Za-z0-9+/]{43}=|sha384-[A-Za-z0-9+/]{64}|sha512-[A-Za-z0-9+/]{86}==)$/;
/** UTF-16 units of the longest of these with what stands around it: a package of 101 signs at a version. */
const LONGEST_FACT = 200;

/** UTF-16 units of the longest name that is compared with its key. */
const LONGEST_OWN_NAME = 80;

const unwrapped = (value: string): string => (value.length > LONGEST_FACT ? "" : value.replace(/^[\s"'[({]+|[\s"'\])},;]+$/g, ""));

/**
 * True where a key only sounds like a credential's: a package called `js-tiktoken`, with its version, itself at a version, or its digest as the value.
 * Lock files and manifests are full of them.
 */
export function isPackageFact(rawKey: string, label: string, rawValue: string): boolean {
  const value = unwrapped(rawValue);
  if (value === "" || providerToken(value) !== undefined) return false;
  if ((label === PASSWORD ? versionRange : version).test(value)) return true;
  const named = packageAtVersion.exec(value)?.[1]?.replace(/^@/, "");
  const key = bareKey(rawKey);
  if (named !== undefined) return /^(?:npm|jsr):/.test(value) || key === named || key.endsWith(`/${named}`);
  return label !== PASSWORD && digest.test(value);
}

/** The last name of a member or of what stands in front of it in the same word: `f(self.next_token` → `next_token`. */
const lastName = /[\p{L}_$][\p{L}\p{N}_$-]*$/u;
const sameLetters = (name: string) => name.replace(/[_-]/g, "").toLowerCase();

/**
 * True where the value is the key's own name: `self.next_token = next_token`, `masterUserPassword: master_user_password`. Whoever knows the key knows the
 * value. In a file of the environment it is the value itself, so there it must be written in the same way.
 */
function isOwnName(rawKey: string, rawValue: string): boolean {
  if (rawValue.length > LONGEST_FACT) return false;
  const value = unwrapped(rawValue.replace(/^`|[`)\]},;'"]{0,8}[.:]?$/g, ""));
  const name = lastName.exec(bareKey(rawKey))?.[0] ?? "";
  if (value === "" || name === "" || value.length > LONGEST_OWN_NAME) return false;
  return /^[A-Z0-9_]+$/.test(rawKey) ? value === rawKey : sameLetters(value) === sameLetters(name);
}

/** A date, a quantity, a package's version, a placeholder, the key's own name: what a key of a secret may hold without being one. */
export const isPlainFact = (rawKey: string, label: string, value: string): boolean =>
  (label !== PASSWORD && isDate(value)) ||
  (label === "token field" && isQuantity(bareKey(rawKey), value)) ||
  isPackageFact(rawKey, label, value) ||
  isOwnName(rawKey, value) ||
  isPlaceholder(value);
