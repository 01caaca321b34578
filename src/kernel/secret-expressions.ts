/**
 * How far the value of a secret's key goes where it is an expression (`ENV.P || "…"`, `os.environ.get("P", "…")`, `ok ? a : "…"`), and which of the
 * literals in it may be the secret itself. It reads on behind the first word, which `secret-references.ts` judges; what it can't read ends the expression.
 */
import { isArgumentKey, isPlainName, type Lookup, lookupOfSecret } from "./secret-references.ts";

/** What the scanner knows of the key's kind of value. */
export interface ValueWords {
  /** True for the text of a literal that would be refused as the key's quoted value. */
  readonly isSecretLiteral: (value: string) => boolean;
  /** True for the name of something secret (`password`, `API_KEY`). */
  readonly isSecretName: (name: string) => boolean;
}

export interface ValueExtent {
  /** UTF-16 offset behind the value. */
  readonly to: number;
  /** UTF-16 offset of the first literal behind the first operand that may be a secret. */
  readonly secretAt: number | undefined;
}

/** UTF-16 units of a value that are read at most; of one inside of another that was read already, fewer, so that nesting costs little. */
const LONGEST_VALUE = 600;
const LONGEST_INNER_VALUE = 100;
/** UTF-16 units in front of a literal in which its name is looked for. */
const LONGEST_NAME = 40;
/** Brackets inside of brackets that are followed at most. */
const DEEPEST = 8;

const prefix = /(?:(?:await|new|not|typeof|return|yield)[ \t]+|!+(?!=)|&(?!&))/y;
const symbol = /\s*(?:\|\||\?\?|&&|\?:|\?(?=[\s"'`])|\+|[=!]==?)\s*/y;
const wordOperator = /(?:[ \t]+|\s*\\\n\s*)(?:or|and|if|else|unless)(?:[ \t]+|(?=["'`]))/y;
const otherBranch = /\s*:\s*/y;
/** Behind the type of a parameter: `password: string = "…"`. */
const assigned = /(?:\[[\w., |]*\])?[ \t]*(?:\|[ \t]*(?:None|null|undefined)[ \t]*)?=[ \t]*(?![=>])/y;
const environment = /\benv(?:iron)?\b|getenv/i;
const lookupByName = /(?:^|[.:>])(?:get|fetch|read|lookup|config|setting|getOrDefault|dig)\(?$/i;
/** In a template only defaults are judged: everything else in it says what to look up. In an object only what is called the value. */
type Inside = Lookup | "template" | "object";
const lookupOf = (name: string): Lookup =>
  environment.test(name) ? "environment" : lookupByName.test(name) ? "name" : lookupOfSecret(name);
/** What stands before a default: the name of it, or an operator. */
const beforeDefault =
  /(?:(?:^|[\s,({|])(?:default|fallback|defaultValue|or_else|default_value)\s*[=:(]?\s*|(?:\|\||\?\?|\b(?:or|else))\s*)$/;
/** What stands before the value in an object that describes one: `password: { type: "text", value: "…" }`. */
const beforeValue =
  /(?:^|[\s,{"'])(?:value|default|defaultValue|initial|initialValue|plain|plaintext|current|stringValue)["']?\s*(?::|=>?)\s*$/i;
/** A pattern of characters, as code gives it to a check. */
const isPattern = (value: string) => /\[[^\]]*\w-\w[^\]]*\]|\\[dwsb]/.test(value);

/** A quote, what may stand before one, and what begins a name. */
const beginsLiteral = "\"'`\\bru";
const beginsName = /[A-Za-z_$]/;
const brackets: ReadonlyMap<string, string> = new Map([
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
]);

class ValueReader {
  at: number;
  secretAt: number | undefined;
  private readonly text: string;
  private readonly words: ValueWords;

  constructor(text: string, from: number, longest: number, words: ValueWords) {
    this.text = text.slice(0, from + longest);
    this.at = from;
    this.words = words;
  }

  /** Operands joined by operators, to the end of the value; inside of a group also over line ends. */
  expression(grouped: boolean, depth: number): void {
    let branches = 0;
    let leftIsCode = false;
    for (let first = !grouped; ; first = false) {
      while (this.take(prefix) !== undefined || (grouped && this.take(/\s+/y) !== undefined));
      const start = this.at;
      const kind = this.operand(first, leftIsCode, depth);
      if (kind === undefined) return;
      leftIsCode ||= kind === "code";
      const end = this.at;
      const typed = first && (kind === "name" || this.text.charAt(end - 1) === "]") && this.take(assigned) !== undefined;
      const prose = kind === "name" && !isPlainName(this.text.slice(start, end), this.words.isSecretName);
      const operator = typed ? "=" : this.operator(branches > 0, prose);
      if (operator === undefined) return;
      if (operator === "?") branches++;
      if (operator === ":") branches--;
      // An operator with nothing behind it belongs to what follows.
      if (this.at >= this.text.length || this.at === start) {
        this.at = end;
        return;
      }
      leftIsCode ||= operator === "||" || operator === "??";
    }
  }

  private operator(branched: boolean, prose: boolean): string | undefined {
    return (this.take(symbol) ??
      (prose ? undefined : this.take(wordOperator)) ??
      (branched ? this.take(otherBranch) : undefined))?.[0].trim();
  }

  /** Moves behind one operand. `first`: what the scanner judges by itself. */
  private operand(first: boolean, leftIsCode: boolean, depth: number): "literal" | "name" | "code" | undefined {
    if (depth > DEEPEST) return undefined;
    const start = this.at;
    const literal = this.literal();
    if (literal !== undefined) {
      if (!first) this.judge(start, literal);
      else this.templates(start, literal);
      return "literal";
    }
    if (this.take(/\(/y) !== undefined) {
      this.expression(true, depth + 1);
      this.close(")", "none", depth + 1);
      return "code";
    }
    if (this.take(/\$?\{\{/y) !== undefined) {
      this.close("}}", "template", depth + 1);
      return "code";
    }
    if (first && this.take(/\{/y) !== undefined) {
      this.close("}", "object", depth + 1);
      return "code";
    }
    if (this.take(/\$\{/y) !== undefined) {
      this.close("}", "template", depth + 1);
      return "code";
    }
    if (this.take(/[A-Za-z_$][\w$]*/y) !== undefined) return this.chain(start, first, leftIsCode, depth);
    const bare = this.take(/[^\s,;()[\]{}|?&]+/y)?.[0];
    if (bare === undefined) return undefined;
    if (!first && leftIsCode) this.judge(start, bare);
    return "name";
  }

  /** The templates inside of a quoted value that starts at `start`. */
  private templates(start: number, literal: string): void {
    const end = this.at;
    const base = this.text.indexOf(literal, start);
    this.at = base;
    for (const open of literal.matchAll(/\$?\{\{/g)) {
      // One inside of another was read with it.
      if (base + open.index < this.at) continue;
      this.at = base + open.index + open[0].length;
      this.close("}}", "template", 1);
    }
    this.at = end;
  }

  /** Members, calls and indices behind the name that starts at `start`. */
  private chain(start: number, first: boolean, leftIsCode: boolean, depth: number): "name" | "code" {
    let kind: "name" | "code" = "name";
    for (;;) {
      if (this.take(/(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*/y) !== undefined) kind = "code";
      else if (this.take(/(?:\?\.)?[([]/y) !== undefined) {
        const name = this.text.slice(start, this.at - 1);
        const close = this.text.charAt(this.at - 1) === "(" ? ")" : "]";
        const lookup = lookupOf(name);
        this.close(close, lookup === "none" && close === "]" ? "name" : lookup, depth + 1);
        kind = "code";
      } else break;
    }
    this.take(/!(?=[\s,;)}\]]|$)/y);
    // What goes on in signs that no name has was no name.
    const rest = this.take(/[^\s,;()[\]{}|?&"'`\\:=]+/y)?.[0] ?? "";
    const whole = this.text.slice(start, this.at);
    if (!first && leftIsCode && (kind === "name" || rest !== "") && !isPlainName(whole, this.words.isSecretName)) this.judge(start, whole);
    return kind;
  }

  /** Up to the closing bracket, judging the literals on the way. Behind a key that is looked up stands a default. */
  private close(bracket: string, lookup: Inside, depth: number): void {
    if (depth > DEEPEST) return;
    const from = this.at;
    const before = (at: number) => this.text.slice(Math.max(from, at - LONGEST_NAME), at);
    const isDefault = (at: number) => (lookup === "object" ? beforeValue : beforeDefault).test(before(at));
    for (let index = 0; this.at < this.text.length; ) {
      if (this.text.startsWith(bracket, this.at)) {
        this.at += bracket.length;
        return;
      }
      const start = this.at;
      // Most signs begin nothing: a look at the first saves five patterns.
      const char = this.text.charAt(start);
      const literal = beginsLiteral.includes(char) ? this.literal() : undefined;
      if (literal !== undefined) {
        const isKey =
          lookup === "template" || lookup === "object" ? !isDefault(start) : isArgumentKey(literal, index, lookup, this.words.isSecretName);
        if (!isKey && !/\s/.test(literal) && !isPattern(literal)) this.judge(start, literal);
        continue;
      }
      if (beginsName.test(char) && this.take(/[A-Za-z_$][\w$.]*(?:\?\.)?\(/y) !== undefined) {
        const name = this.text.slice(start, this.at - 1);
        const inside = lookup === "template" && /default|fallback|or_else/.test(name) ? "none" : lookup;
        this.close(")", inside === "template" || inside === "object" ? inside : lookupOf(name), depth + 1);
        continue;
      }
      const opened = brackets.get(char);
      if (opened !== undefined) {
        this.at++;
        this.close(opened, lookup === "object" ? lookup : "none", depth + 1);
        continue;
      }
      // Brackets that close something else: this is no expression.
      if (char === ")" || char === "]" || char === "}") return;
      const bare = this.take(/[\w$.-]+/y)?.[0];
      if (bare !== undefined) {
        const fallsBack = () => ((lookup === "environment" || lookup === "name") && index > 0) || isDefault(start);
        const name = bare.split(".").at(-1) ?? bare;
        if (this.words.isSecretLiteral(bare) && !isPlainName(name, this.words.isSecretName) && fallsBack()) this.judge(start, bare);
        continue;
      }
      if (char === ",") index++;
      this.at++;
    }
  }

  private literal(): string | undefined {
    return this.take(/(?:[bru]{1,2}(?=["']))?\\?(["'`])((?:(?!\\?\1)[^\n])*)\\?\1/y)?.[2];
  }

  private judge(at: number, value: string): void {
    const plain = this.text.charAt(at) === "`" ? value.replace(/\$\{[^}]*\}/g, " ").trim() : value;
    if (this.secretAt === undefined && this.words.isSecretLiteral(plain)) this.secretAt = at;
  }

  private take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return undefined;
    this.at = pattern.lastIndex;
    return found;
  }
}

/** The value that starts at `from`: where it ends, and whether something in it besides its first operand may be a secret. `inner`: it lies in one that was read. */
export function readValue(text: string, from: number, inner: boolean, words: ValueWords): ValueExtent {
  const reader = new ValueReader(text, from, inner ? LONGEST_INNER_VALUE : LONGEST_VALUE, words);
  reader.expression(false, 0);
  return { to: reader.at, secretAt: reader.secretAt };
}
