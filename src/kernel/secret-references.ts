/**
 * Tells a value that only refers to a secret (code that reads it, a path to it) from one that may be the secret. Used by the scanner of
 * `secrets.ts` on unquoted values of keys such as `password`. What cannot be read to its end as one of the forms below is no reference:
 * in doubt the gate refuses.
 */

/** What the scanner knows and this reading needs. */
export interface SecretWords {
  /** True for a text that reads like a credential. */
  readonly isOpaque: (value: string) => boolean;
  /** True for the name of something secret (`password`, `API_KEY`, `clientSecret`). */
  readonly isSecretName: (name: string) => boolean;
}

/** Where a value stands. */
export interface ValuePlace {
  readonly text: string;
  /** UTF-16 offsets of the word that holds the value: where the value starts, where the word ends. */
  readonly from: number;
  readonly to: number;
  /** The key as written, without quotes. */
  readonly key: string;
  /** `KEY=value` of an environment file or a shell: what stands there is taken literally, so only lookups count as code. */
  readonly literal: boolean;
}

/** UTF-16 units of an expression that are read at most; a longer one is no reference. */
const LONGEST_EXPRESSION = 600;
/** Calls inside of calls that are followed at most. */
const DEEPEST_CALL = 8;
const LONGEST_NAME = 40;
/** Words of names have digits in the middle only where they are called so. */
const numberedWord =
  /base(?:32|58|64)|b64|sha(?:1|256|384|512)|md5|utf8|utf16|latin1|oauth2?|s3|ec2|k8s|i18n|http2|x509|argon2|pbkdf2|uuid[1-8]/gi;
/** Letters per word of a name below which it reads like chance (`MTk4NjIy`): names have words. */
const FEWEST_LETTERS_PER_WORD = 2.2;

/** True for an identifier as people choose them: words, numbered at most (`password1`, `TOKEN_V2`, `s3Client`). */
export function isName(name: string): boolean {
  if (name.length > LONGEST_NAME || !/^[A-Za-z_$][\w$]*$/.test(name)) return false;
  const plain = name.replace(numberedWord, (word) => word.replace(/[0-9]/g, ""));
  if (/[0-9]{3}|[0-9][a-z]/.test(plain) || plain.replace(/[^0-9]/g, "").length > 3) return false;
  const parts = plain.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  return parts.length < 3 || parts.join("").length / parts.length >= FEWEST_LETTERS_PER_WORD;
}

/** `password1` and `TOKEN_V2` name a secret as `password` and `TOKEN` do. */
const unnumbered = (name: string) => name.replace(/_?[vV]?[0-9]{1,2}$/, "");

export const isNumberedName = (name: string, isSecretName: (name: string) => boolean): boolean =>
  isName(name) && isSecretName(unnumbered(name));

/** What code numbers: a member of a known object with a number is one of these or named after a secret (`body.field2`), else it is a word and a digit (`config.horse9`). */
const numberedThing =
  /(?:^|[a-z_])(?:user|account|client|server|session|parser|next|body|field|login|header|store|arg|param|value|item|row|col|column|opt|option|input|form|query|data|db|env|key|pass|pw|auth|cred|hash|url|uri|host|id|entry|node|part|step|line|test|case|name|cookie|match|group|res|req|api|conn|v|p|s|x|y)s?_?[vV]?[0-9]{1,2}$/i;

/** A plain name that code may fall back on: without a digit, or called after a secret (`fallbackToken1`). */
export const isPlainName = (name: string, isSecretName: (name: string) => boolean): boolean =>
  isName(name) && (!/[0-9]/.test(name) || isNumberedName(name, isSecretName));

/** What a call or an index does with its first argument: a variable of the environment, the name of something, or anything. */
export type Lookup = "environment" | "name" | "keyring" | "none";

/** `get_password`, `getSecretValue`, `access_secret_version`: a call whose own name says that it looks a secret up. */
const secretLookup =
  /(?:^|[.:>])(?:get|fetch|read|access|load|lookup|find|retrieve)_?(?:[a-z0-9]+_)?(?:secret|password|credential|parameter)[a-z_]*$/i;
/** The store of the operating system, which takes a service and a user. */
const keyring = /(?:^|[.:>])(?:keyring|keytar)(?:\.|::)\w+$/i;
/** What a call of this name, with its members in front, looks up besides what the readers know themselves. */
export const lookupOfSecret = (chain: string): Lookup => (!secretLookup.test(chain) ? "none" : keyring.test(chain) ? "keyring" : "name");

/** Arguments of a keyring that are names: a service and a user. */
const KEYRING_NAMES = 2;

/** True for a quoted argument that says what to look up and with what: a key, the path of one, an algorithm. */
export function isArgumentKey(value: string, index: number, lookup: Lookup, isSecretName: (name: string) => boolean): boolean {
  if (/^[a-z0-9]+$/.test(value) && value.replace(numberedWord, "") === "") return true;
  if (lookup === "keyring" && index < KEYRING_NAMES) return isName(value) || value.split(/[./:@-]/).every(isPlainSegment);
  if (index > 0) return false;
  if (lookup === "environment" && isName(value)) return true;
  if (isNumberedName(value.replaceAll("-", "_"), isSecretName)) return lookup !== "none" || /^[A-Z0-9]+(?:_[A-Z0-9]+)+$/.test(value);
  // What a template in a path stands for is looked up with it: `projects/{project}/secrets/{name}/versions/latest`.
  const steps = value.replace(/\$?\{[A-Za-z_][\w.]*\}/g, "name").split(/[./:]/);
  const isPath = steps.length > 1 && steps.every((step) => step !== "" && isPlainSegment(step));
  return isPath && lookup !== "none" && (!/[0-9]/.test(value) || steps.some((step) => isNumberedName(step, isSecretName)));
}

const environment =
  /^(?:process\.env|Bun\.env|Deno\.env|import\.meta\.env|os\.environ|(?:os\.|System\.|std::)?(?:getenv|env)|ENV|std::env)(?![\w$])/i;
/** Objects that code reads values from; a member of another one counts when it is itself named after a secret. */
const knownRoot =
  /^(?:req|request|res|response|this|self|ctx|context|props|params|args|argv|opts|options|config|settings|cfg|credentials|secrets|env|process|os|event|body|state|session|sys)$/;
const ownersOfProse = /^(?:my|our|your|his|her|their|the|is|was)$/i;
const indexable = /(?:s|argv|match|row|result)$/;
/** Types that take other types, as Python, TypeScript and Rust write them: `password: Optional[HiddenText]`. */
const typeOfTypes = /^(?:Optional|Union|Annotated|Final|ClassVar|Type|List|Dict|Tuple|Sequence|Iterable|Mapping|Callable|Awaitable)$/;

/** A template alone, with a name and without a default: `${NAME}`, `${{ secrets.NAME }}`, `{{ vault.name }}`, `$DB_PASSWORD`. */
const template =
  /\$\{([A-Za-z_][\w.]*)\}|\$\{\{\s{0,3}([\w.]+)\s{0,3}\}\}|\{\{\s{0,3}\.?([\w.]+)\s{0,3}\}\}|\$([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?!\w)/y;

/** An address in a store of secrets; never with a user or a password in it. */
const storeAddress =
  /(?:(?:ref\+)?(?:vault|op|awssm|aws-?secretsmanager|aws-?ssm|awskms|gcp-?secretmanager|gcpsm|azure-?keyvault|keyvault|akv|keychain|secret-service|doppler|infisical|bitwarden|bw|pass|sops|gopass|secretref|secrets?):\/\/([\w.-]+(?:\/[\w. +-]*[\w+-])*\/?)((?:[?#][\w.=&/-]+)*)|arn:aws[a-z-]{0,10}:(?:secretsmanager|ssm):[a-z0-9-]*:[0-9]{12}:(?:secret|parameter)[:/]([\w/.+=-]+?)(?:-[A-Za-z0-9]{6})?)(?=$|[\s,;)}\]"'`])/y;

const rootedPath =
  /(?:\/(?:home|srv|etc|var|usr|opt|tmp|root|run|mnt|media|proc|dev|sys|app|data|work|workspace|workspaces|Users|Library|Applications|Volumes)|~|\.{1,2}|[A-Za-z]:)(?:[/\\]{1,2}[\w.@-]+)+[/\\]{0,2}/y;
const workingDirectory = /(?:\/[a-z][\w.@-]*){2,}\/?/y;

const isPlainSegment = (segment: string) =>
  segment.split(/[-_.@]/).every((part) => part === "" || /^[0-9]{1,8}$/.test(part) || isName(part));

/** The words of a check's message to people, where a call of a schema carries one. */
const isMessage = (value: string) => /\s/.test(value) && /\b(?:must|at least|at most|characters|required|invalid|too short)\b/i.test(value);
/** The words that explain an option, where a call declares one: plain ones, and they name what it is (`database password`). */
const isDescription = (value: string, isSecretName: (name: string) => boolean) =>
  /^[A-Za-z]{1,15}(?: [A-Za-z]{1,15}){1,20}\.?$/.test(value) && value.split(/[ .]/).some((word) => word !== "" && isSecretName(word));

class Reader {
  at: number;
  private readonly text: string;
  private readonly words: SecretWords;

  constructor(text: string, from: number, words: SecretWords) {
    this.text = text;
    this.at = from;
    this.words = words;
  }

  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return undefined;
    this.at = pattern.lastIndex;
    return found;
  }

  template(): boolean {
    const withDefault = this.take(/\$\{([A-Za-z_]\w*):?[-=?+]([^{}\n]*)\}/y);
    if (withDefault !== undefined) {
      const [, name = "", value = ""] = withDefault;
      return isName(name) && !value.split(/\s+/).some(this.words.isOpaque);
    }
    const found = this.take(template);
    const name = found?.slice(1).find((part) => part !== undefined);
    return name?.split(".").every(isName) ?? false;
  }

  /** Where a store of secrets keeps it: `vault://kv/prod/db#password`. */
  stored(): boolean {
    const found = this.take(storeAddress);
    return found?.slice(1).every((part) => part === undefined || part.split(/[/?&=#:]+/).every(isPlainSegment)) ?? false;
  }

  path(key: string): boolean {
    const found = this.take(rootedPath) ?? (/(?:^|[^\p{L}\p{N}])(?:old)?pwd$/iu.test(key) ? this.take(workingDirectory) : undefined);
    // A path ends its word: signs of other kinds behind it are no path's.
    if (found === undefined || !/^[,;)}\]"'`]*(?:\s|\\|$)/.test(this.text.slice(this.at))) return false;
    return found[0]
      .replace(/^(?:[A-Za-z]:|~)/, "")
      .split(/[/\\]+/)
      .every(isPlainSegment);
  }

  /** The content of a quoted literal that starts here, its quotes escaped or not. */
  quoted(): string | undefined {
    return this.take(/\\?(["'`])((?:(?!\\?\1)[^\n])*)\\?\1/y)?.[2];
  }

  /** Names joined by members, calls and indices. `inside`: an argument, where a plain name will do. */
  chain(literal: boolean, inside: boolean, depth: number): boolean {
    if (depth > DEEPEST_CALL) return false;
    const start = this.at;
    const root = this.take(/[A-Za-z_$][\w$]*/y)?.[0];
    if (root === undefined || !isName(root)) return false;
    let last = root;
    let members = 0;
    let calls = 0;
    const isLookup = () => environment.test(this.text.slice(start, this.at));
    for (;;) {
      const member = this.take(/(?:\?\.|\.|::|->)([A-Za-z_$][\w$]*)/y)?.[1];
      if (member !== undefined) {
        if (!isName(member)) return false;
        last = member;
        members++;
      } else if (this.take(/(?:\?\.)?\(/y)) {
        // Three letters at least and one digit at most: `Vw(x)` and `hunter22(x)` are more likely chance than a function that somebody wrote.
        if (last.length < 3 || /[0-9]{2}$/.test(last.replace(numberedWord, ""))) return false;
        const chain = this.text.slice(start, this.at - 1);
        const lookup = isLookup() ? "environment" : /^(?:get|fetch|read)$/.test(last) ? "name" : lookupOfSecret(chain);
        if (!this.items(")", lookup, depth)) return false;
        calls++;
      } else if (this.take(/(?:\?\.)?\[/y)) {
        const holds =
          members > 0 ||
          calls > 0 ||
          knownRoot.test(root) ||
          indexable.test(root) ||
          typeOfTypes.test(root) ||
          this.words.isSecretName(unnumbered(root));
        if (!(holds || isLookup()) || !this.items("]", isLookup() ? "environment" : "name", depth)) return false;
        calls++;
      } else break;
    }
    // TypeScript's `!`, and Rust's `?` in front of what ends an expression: before a blank it begins the branches of a condition.
    this.take(/!(?=[\s,;)}\]]|$)|\?(?=[,;)}\]]|$)/y);
    if (inside) return true;
    if (isLookup() && members + calls > 0) return true;
    if (literal) return false;
    if (calls > 0) return true;
    if (members === 0) return false;
    if (this.words.isSecretName(unnumbered(last))) return knownRoot.test(root) || !ownersOfProse.test(root);
    return knownRoot.test(root) && (!/[0-9]/.test(last) || numberedThing.test(last));
  }

  /** The items of a call or an index up to its closing bracket; false when one of them may be a secret. */
  items(close: string, lookup: Lookup, depth: number): boolean {
    for (let index = 0; this.at < this.text.length; ) {
      if (this.take(/[\s:=>+*?!|{}<]+/y)) continue;
      if (this.take(/,/y)) {
        index++;
        continue;
      }
      if (this.text.startsWith(close, this.at)) {
        this.at += close.length;
        return true;
      }
      const value = this.quoted();
      if (value !== undefined) {
        const isKey = isArgumentKey(value, index, lookup, this.words.isSecretName);
        if (!isKey && this.words.isOpaque(value) && !isMessage(value) && !isDescription(value, this.words.isSecretName)) return false;
        continue;
      }
      // An index may count from the end: `token[:-1]`.
      if (this.take(/-?[0-9]{1,6}(?:\.[0-9]{1,3})?(?![\w.])/y)) continue;
      if (!this.chain(false, true, depth + 1)) return false;
    }
    return false;
  }

  /** What an operator joins to a reference (a default, the other branch): another reference, or nothing that may be a secret. */
  operands(literal: boolean): boolean {
    while (this.take(/\s*(?:\|\||\?\?|&&|\?(?=\s)|\+)\s*|[ \t]+(?:or|and|if|else|:)[ \t]+/y)) {
      const value = this.quoted();
      if (value !== undefined) {
        if (this.words.isOpaque(value)) return false;
        continue;
      }
      const start = this.at;
      if (this.chain(literal, false, 0)) continue;
      this.at = start;
      const name = literal ? undefined : this.take(/[A-Za-z_$][\w$]*(?![^\s,;)\]}])/y)?.[0];
      if (name !== undefined && isPlainName(name, this.words.isSecretName)) continue;
      this.at = start;
      if (this.words.isOpaque(this.take(/[^\s|?+]+/y)?.[0] ?? "")) return false;
    }
    return true;
  }
}

/**
 * True when the value at `place` only refers to something: a template without default, a path, a lookup in the environment, a member, call
 * or index of code. Quoted values are none, but for a template alone. What follows in the same word must not look like a secret either.
 */
export function isReference(place: ValuePlace, words: SecretWords): boolean {
  const { text, from, to, key, literal } = place;
  const source = text.slice(from, from + LONGEST_EXPRESSION);
  const reading = (read: (reader: Reader) => boolean, start = 0): Reader | undefined => {
    const reader = new Reader(source, start, words);
    return read(reader) ? reader : undefined;
  };
  const quote = /^["'`]/.exec(source)?.[0];
  const done =
    quote === undefined
      ? (reading((reader) => reader.template()) ??
        reading((reader) => reader.stored()) ??
        reading((reader) => reader.path(key)) ??
        reading((reader) => reader.chain(literal, false, 0) && reader.operands(literal)))
      : reading((reader) => (reader.template() || reader.stored()) && reader.take(new RegExp(quote, "y")) !== undefined, 1);
  if (done === undefined) return false;
  const rest = source.slice(done.at, Math.max(done.at, to - from));
  return /^(?:$|[\s,;)}\]"'`]|[.:!?](?:\s|$)|\\[nrt"'])/.test(rest) && !words.isOpaque(rest);
}

const day = `[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])`;
const date = new RegExp(`^${day}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?[.,;)}\\]]*$`);
/** Grouped, or in whole thousands: a quantity. A code of six digits is neither, as a rule. */
const quantity = /^(?:[0-9]{1,3}(?:[,_][0-9]{3})+|[1-9][0-9]{0,8}000)(?:\.0+)?[.,;)}\]]*$/;
const plainNumber = /^[0-9]{1,12}(?:\.[0-9]{1,6})?[.,;)}\]]*$/;
const counted =
  /(?:^|[_-])(?:num|n|max|min|total|count|per|limit|avg|mean|first|last|bos|eos|pad|unk|sep|cls|mask|input|output|prompt|completion|cached|used|budget)[_-](?:\w+_)?tokens?$/i;

/** True for a date, and for a number of tokens as models count them. Both may be passwords, so keys of passwords are not asked here. */
export const isDate = (value: string): boolean => date.test(value);
export const isQuantity = (key: string, value: string): boolean => quantity.test(value) || (counted.test(key) && plainNumber.test(value));
