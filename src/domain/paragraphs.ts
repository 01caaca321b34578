/** A raw text as memories: its paragraphs, and what kind of memory each one is (`tools-graph.md` §4.4, parse). No model, same text, same answer. */
import type { Steps } from "../kernel/steps.ts";
import { charCount } from "../kernel/text.ts";
import { pieceSteps } from "./chunks.ts";
import { hasDenseScript } from "./words.ts";

/** What a paragraph turns out to be; a subset of the observation types. */
export type ParagraphKind = "decision" | "lesson" | "error" | "solution" | "preference" | "fact";

/** A paragraph of up to so many characters says nothing by itself. */
const SHORT_CHARS = 10;
/** What a sign of a script without spaces counts: `我们用Redis缓存` says as much as a sentence of letters, `小王：早上好` as little as `Hi, Bob!`. */
const DENSE_WEIGHT = 1.5;
/** Share of plain words below which lines are taken for a program's: prose has nine of ten, the entry of a lock file or a stack trace half. */
const PROSE_SHARE = 2 / 3;
/** Lines from which on a paragraph can be the output of a program; shorter ones are taken as they are. */
const MACHINE_LINES = 3;
/** Neighbours of fewer lines from which on they are one output: frames of a stack, lines of a log or a lock file that somebody double-spaced. Nine are notes. */
const MACHINE_RUN = 10;

const BLANK_LINE = /^[ \t]*\r?$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** A sign inside of a word has a letter behind it, else it is one of the end: in one reading, or a row of dashes is tried at each of them. */
const PLAIN_WORD = /^\p{P}*\p{L}(?:['’-]*[\p{L}\p{M}])*\p{P}*$/u;
const FENCE_ONLY = /^[`~]+$/;

/** Words like a program's: no script without spaces, and too few of the tokens are plain words. */
function looksMachineMade(paragraph: string): boolean {
  if (hasDenseScript(paragraph)) return false;
  const tokens = paragraph.split(/\s+/u).filter((token) => token !== "");
  return tokens.filter((token) => PLAIN_WORD.test(token)).length < PROSE_SHARE * tokens.length;
}

/** Lines or paragraphs of which only the beginning counts, looked at in one step: together about a millisecond. */
const AT_ONCE = 1_000;
/** UTF-16 units whose words are looked at in one step: about a millisecond. Of a longer paragraph it is the beginning that is judged. */
const CHARS_AT_ONCE = 10_000;

/** Lines without their ends, `\n` or `\r\n`. */
function* linesOf(text: string): Steps<string[]> {
  const lines: string[] = [];
  for (let at = 0; at <= text.length; ) {
    const found = text.indexOf("\n", at);
    const end = found === -1 ? text.length : found;
    lines.push(text.slice(at, found > at && text[found - 1] === "\r" ? found - 1 : end));
    at = end + 1;
    if (lines.length % AT_ONCE === 0) yield;
  }
  return lines;
}

interface Part {
  readonly text: string;
  readonly isFenced: boolean;
}

/** The text cut at blank lines, no part empty; a fenced block stays whole, however many blank lines it holds. */
function* cutAtBlankLines(text: string): Steps<Part[]> {
  const parts: Part[] = [];
  let prose: string[] = [];
  const flush = () => {
    const whole = prose.join("\n").trim();
    if (whole !== "") parts.push({ text: whole, isFenced: false });
    prose = [];
  };
  const lines = yield* linesOf(text);
  /** Marks that nothing closes from some line on, and so no longer one either: the rest of the lines is not looked at again for each. */
  const open: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    if (at % AT_ONCE === 0) yield;
    const line = lines[at] ?? "";
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined && !open.some((unclosed) => mark.startsWith(unclosed))) {
      const end = yield* endOfFence(lines, at + 1, mark);
      if (end !== undefined) {
        flush();
        parts.push({ text: lines.slice(at, end + 1).join("\n"), isFenced: true });
        at = end;
        continue;
      }
      open.push(mark);
    }
    if (BLANK_LINE.test(line)) flush();
    else prose.push(line);
  }
  flush();
  return parts;
}

/** Index of the line that closes a block, from `from` on; undefined where nothing does. */
function* endOfFence(lines: readonly string[], from: number, mark: string): Steps<number | undefined> {
  for (let at = from; at < lines.length; at++) {
    if (at % AT_ONCE === 0) yield;
    const bare = (lines[at] ?? "").trim();
    if (bare.startsWith(mark) && FENCE_ONLY.test(bare)) return at;
  }
  return undefined;
}

export interface Paragraphs {
  readonly kept: readonly string[];
  /** Paragraphs too short to say anything by themselves. */
  readonly short: number;
}

/** True from the first characters on that weigh enough: the rest of a long paragraph is not looked at. */
function saysSomething(text: string): boolean {
  let weight = 0;
  for (const char of text) {
    weight += hasDenseScript(char) ? DENSE_WEIGHT : 1;
    if (weight > SHORT_CHARS) return true;
  }
  return false;
}

/** Which parts are a program's: those of several lines by themselves, shorter ones as a run of {@link MACHINE_RUN}. */
function* machineMade(parts: readonly Part[]): Steps<{ readonly text: string; readonly isMachineMade: boolean }[]> {
  const looks: boolean[] = [];
  let chars = 0;
  for (const { text, isFenced } of parts) {
    looks.push(!isFenced && looksMachineMade(text.slice(0, CHARS_AT_ONCE)));
    chars += text.length;
    if (chars < CHARS_AT_ONCE) continue;
    chars = 0;
    yield;
  }
  const runAt: number[] = looks.map(Number);
  for (let at = 1; at < runAt.length; at++) if (looks[at]) runAt[at] = (runAt[at - 1] ?? 0) + 1;
  for (let at = runAt.length - 2; at >= 0; at--) if (looks[at] && looks[at + 1]) runAt[at] = runAt[at + 1] ?? 0;
  return parts.map(({ text }, at) => ({
    text,
    isMachineMade: looks[at] === true && (text.split("\n").length >= MACHINE_LINES || (runAt[at] ?? 0) >= MACHINE_RUN),
  }));
}

/**
 * The paragraphs worth keeping, in order; in steps, since a text may have millions of characters. One over `mostChars` is cut between sentences, nothing
 * repeated; neighbours that a program wrote (the entries of a lock file) are kept together up to that length: they say nothing one by one.
 */
export function* paragraphSteps(text: string, mostChars: number): Steps<Paragraphs> {
  const parts = yield* cutAtBlankLines(text);
  const long: Part[] = [];
  for (const [at, part] of parts.entries()) {
    if (saysSomething(part.text)) long.push(part);
    if (at % AT_ONCE === 0) yield;
  }
  const kept: { text: string; isMachineMade: boolean; chars: number }[] = [];
  for (const [at, part] of (yield* machineMade(long)).entries()) {
    if (at % AT_ONCE === 0) yield;
    const { isMachineMade } = part;
    const before = kept.at(-1);
    // A code point has at most two units: what is certainly over the length is not counted.
    const chars = part.text.length > 2 * mostChars ? part.text.length : charCount(part.text);
    if (isMachineMade && before?.isMachineMade === true && before.chars + chars + 2 <= mostChars) {
      before.text += `\n\n${part.text}`;
      before.chars += chars + 2;
    } else kept.push({ text: part.text, isMachineMade, chars });
  }
  const pieces: string[] = [];
  for (const [at, part] of kept.entries()) {
    if (at % AT_ONCE === 0) yield;
    if (part.chars <= mostChars) pieces.push(part.text.trim());
    else pieces.push(...(yield* pieceSteps(part.text, { sizeChars: mostChars, overlapChars: 0 })));
  }
  return { kept: pieces, short: parts.length - long.length };
}

/** Whole words: `debug`, `prefix` and `terror` are no bug, fix and error. */
const anyOf = (words: string) => new RegExp(`(?<![\\p{L}\\p{M}\\p{N}_])(?:${words})(?![\\p{L}\\p{M}\\p{N}_])`, "u");

/** English and Spanish by whole words, Chinese by its characters; the first that fits wins. */
const RULES: readonly { readonly kind: ParagraphKind; readonly words: RegExp; readonly chinese: RegExp }[] = [
  {
    kind: "decision",
    words: anyOf("decided|decisions?|chose|chosen|decidimos|decidí|decidió|decidido|decisión|decisiones|elegimos|eligió|elegido"),
    chinese: /决定|決定|决策|選擇了|选择了|选定/u,
  },
  {
    kind: "lesson",
    words: anyOf("learned|learnt|lessons?|takeaways?|aprendimos|aprendí|aprendió|aprendido|lección|lecciones|moraleja"),
    chinese: /教训|教訓|学到|學到|吸取/u,
  },
  {
    kind: "error",
    words: anyOf("errors?|bugs?|failed|errores|falló|fallaron|fallos?"),
    chinese: /错误|錯誤|报错|故障|失败|失敗|缺陷/u,
  },
  {
    kind: "solution",
    words: anyOf(
      "fix|fixes|fixed|solutions?|resolved|solución|soluciones|solucionado|solucionó|resuelto|arreglo|arreglado|arregló|corregido",
    ),
    chinese: /修复|修復|解决|解決/u,
  },
  {
    kind: "preference",
    words: anyOf(
      "prefers?|preferred|preferences?|always use|prefiero|prefiere|preferimos|preferencias?|preferido|usar siempre|siempre usar|siempre usamos|siempre usa",
    ),
    chinese: /偏好|首选|首選|总是使用|总是用|始终使用|一律使用/u,
  },
];

/** `We decided X.` → decision; `Fixed the failing bug` → error, by order; `debug prefix` → fact. */
export function kindOfParagraph(paragraph: string): ParagraphKind {
  const lower = paragraph.normalize("NFC").toLowerCase();
  return RULES.find(({ words, chinese }) => words.test(lower) || chinese.test(lower))?.kind ?? "fact";
}
