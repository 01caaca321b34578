/** Names of keys whose value is a secret, and what stands between a key and its value. */
import { trimmedTo } from "./text.ts";

export const PASSWORD = "password field";

/** A key matches when it ends in one of these, possibly continued (`aws_secret_access_key`). */
const secretNames: readonly (readonly [name: string, label: string])[] = [
  ["api_key", "api key field"],
  ["apikey", "api key field"],
  ["api-key", "api key field"],
  ["password", PASSWORD],
  ["passwd", PASSWORD],
  ["pwd", PASSWORD],
  ["token", "token field"],
  ["secret", "secret field"],
  ["passphrase", PASSWORD],
  ["contraseña", PASSWORD],
  ["contrasena", PASSWORD],
  ["密码", PASSWORD],
  ["密碼", PASSWORD],
  ["口令", PASSWORD],
  ["密钥", "secret field"],
  ["密鑰", "secret field"],
  ["令牌", "token field"],
];
/** The Chinese ones, as the alternatives of a pattern: they end without a blank, so a sentence is searched for them. */
export const chineseNames = secretNames.flatMap(([name]) => (/^\p{Script=Han}+$/u.test(name) ? [name] : [])).join("|");
/** Between a key and its value; Chinese has wide ones. */
export const separators = "=:：＝";
export const separator = new RegExp(`[${separators}]`);
const assignment = /^(?::=|=>|(?:\|\||\?\?|&&|[+?])=)$/;
export const isSeparator = (text: string): boolean => (text.length === 1 && separators.includes(text)) || assignment.test(text);
export const isComparison = (text: string): boolean => /^[!=]==?$/.test(text);
/** True for a word between a key and its value that is no part of either. */
export const isSignBehindKey = (text: string): boolean => isSeparator(text) || isComparison(text);
const continuation = /(?:[_-]access)?[_-](?:key|value)$/;

/** Our own switch ends in a secret's name and is none: our refusals tell people to pass it. */
const GATE_SWITCH = "allow_secret";

/** UTF-16 units of a key that are looked at, from its end: no name is longer, and what is done with a key may cost more than one look. */
const LONGEST_KEY = 256;

/** A key without the signs around it, in lower case. */
export const bareKey = (raw: string): string => trimmedTo(raw.slice(-LONGEST_KEY), /[\p{L}\p{N}_]/u).toLowerCase();

/** The label of a key whose value is secret, or undefined. */
export function secretKey(raw: string): string | undefined {
  const key = bareKey(raw);
  if (key === GATE_SWITCH) return undefined;
  const whole = secretNames.find(([name]) => key.endsWith(name));
  if (whole !== undefined) return whole[1];
  const stem = key.replace(continuation, "");
  return stem === key ? undefined : secretNames.find(([name]) => stem.endsWith(name))?.[1];
}
