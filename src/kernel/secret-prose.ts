/**
 * Secrets that a sentence tells: `La contraseña del servidor es …`, `生产环境的密码是…`, `the API key: …`. Prose about credentials must stay storable
 * (`the password is hashed with Argon2id`), so what follows a verb must look like a credential and like nothing else.
 */
import { chineseNames, secretKey } from "./secret-keys.ts";

/** Words that join what a thing is called to what it is. */
const copulas = new Set(["is", "was", "es", "era", "fue", "será", "son", "是", "为", "為"]);
export const isCopula = (word: string): boolean => copulas.has(word.toLowerCase());

/** UTF-16 units and words before a verb in which the sentence names what it is about (`la contraseña del servidor de correo es`). */
const LONGEST_SUBJECT = 100;
const MOST_WORDS = 7;

/** The words of the sentence before `at`, the nearest first, each with where it ends in `text`. */
export function sentenceBefore(text: string, at: number): { readonly word: string; readonly end: number }[] {
  const start = Math.max(0, at - LONGEST_SUBJECT);
  const before = text.slice(start, at);
  const found = Array.from(before.matchAll(/\S+/g), ({ 0: word, index }) => ({ word, end: start + index + word.length })).reverse();
  const ended = found.findIndex(({ word }) => /[.;!?。；！？]["')\]]?$/.test(word));
  return found.slice(0, ended === -1 ? MOST_WORDS : Math.min(ended, MOST_WORDS));
}

/** UTF-16 units before a word in which the rest of its name stands (`clave de acceso:`). */
const LONGEST_NAME = 40;
const wordNames: readonly (readonly [name: RegExp, label: string])[] = [
  [/\b(?:api|access|secret|private|signing|encryption)\s+key$/i, "api key field"],
  [/\b(?:clave|llave)\s+(?:de\s+)?(?:la\s+)?(?:api|acceso|secreta|privada|cifrado)$/i, "api key field"],
];

/** The label of a name of several words that ends at `end`, or undefined. */
export function nameOfWords(text: string, end: number): string | undefined {
  const before = text.slice(Math.max(0, end - LONGEST_NAME), end);
  return /(?:key|api|acceso|secreta|privada|cifrado)$/i.test(before) ? wordNames.find(([name]) => name.test(before))?.[1] : undefined;
}

const chineseName = `(${chineseNames})(?:是|为|為)`;
const nameAndVerb = new RegExp(`${chineseName}$`);
/** The label where a Chinese word ends in a secret's name and a verb. */
export const chineseSays = (word: string): string | undefined => secretKey(nameAndVerb.exec(word)?.[1] ?? "");

const nameVerbAndValue = new RegExp(String.raw`${chineseName}[“"'「『\`]?([\x21-\x7e]{8,200})`);
/** What a Chinese sentence without blanks says the secret is, as a range inside `text`, and of what kind. */
export function chineseSaid(text: string): { readonly from: number; readonly to: number; readonly label: string } | undefined {
  const found = nameVerbAndValue.exec(text);
  const [whole = "", name = "", value = ""] = found ?? [];
  const label = secretKey(name);
  if (found === null || label === undefined || !isSaid(value)) return undefined;
  const to = found.index + whole.length;
  return { from: to - value.length, to, label };
}

/** UTF-16 units of a password with signs in it, and of the longest value that is looked at. */
const SHORTEST_PASSWORD = 8;
const LONGEST_VALUE = 200;
/**
 * Letters and digits of a key, and how often they change between the two: `PBKDF2WithHmacSHA256` does three times in 20, random ones five times and more in all
 * but few. With signs between them (`base64-encoded-32-bytes`) it takes more.
 */
const SHORTEST_KEY = 16;
const FEWEST_CHANGES = 4;
const SHORTEST_SIGNED_KEY = 20;
const FEWEST_SIGNED_CHANGES = 6;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** A value with the quotes before it and what a sentence puts behind it, a Chinese one without a blank. */
const unquoted = /^["'`“‘«「『（(]*([\x21-\x7e]*)/;

/** True for what no sentence would have behind its verb but a credential. */
export function isSaid(raw: string): boolean {
  const value = (unquoted.exec(raw.slice(0, LONGEST_VALUE))?.[1] ?? "").replace(/["'`).,:;]+$/, "");
  // Addresses, paths, calls, templates and ids have these signs and forms.
  if (/[(){}<>[\]`\\]|:\/\/|^[./~]|^[\w.+-]+@[\w-]+\.[\w-]/.test(value) || UUID.test(value)) return false;
  const isMixed = /[a-z]/.test(value) && /[A-Z]/.test(value) && /[0-9]/.test(value);
  if (value.length >= SHORTEST_PASSWORD && isMixed && /[!@#$%^&*?+]/.test(value) && !/[/=]/.test(value)) return true;
  const changes = value.match(/[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])/g)?.length ?? 0;
  if (/^[A-Za-z0-9]+$/.test(value)) return value.length >= SHORTEST_KEY && changes >= FEWEST_CHANGES;
  return value.length >= SHORTEST_SIGNED_KEY && /^[A-Za-z0-9+/_=-]+$/.test(value) && changes >= FEWEST_SIGNED_CHANGES;
}

const element = /<([\w.:-]{1,64})>([^<>]{1,300})<\/\1>/g;
/** Elements of XML inside of one word, with the place of their text. */
export const elementsOf = (text: string): { readonly name: string; readonly value: string; readonly from: number }[] =>
  text.includes("</")
    ? Array.from(text.matchAll(element), ({ 0: whole, 1: name = "", 2: value = "", index }) => ({
        name,
        value,
        from: index + whole.indexOf(">") + 1,
      }))
    : [];
