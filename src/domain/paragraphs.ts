/** A raw text as memories: its paragraphs, and what kind of memory each one is (`tools-graph.md` §4.4, parse). No model, same text, same answer. */
import { charCount } from "../kernel/text.ts";
import { splitText } from "./chunks.ts";
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

const BLANK_LINE = /\r?\n[ \t]*(?:\r?\n[ \t]*)+/;
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

/** The text cut at blank lines; a fenced block stays whole, however many blank lines it holds. */
function cutAtBlankLines(text: string): { readonly text: string; readonly isFenced: boolean }[] {
  const parts: { text: string; isFenced: boolean }[] = [];
  const prose: string[] = [];
  const flush = () => {
    for (const part of prose.join("\n").split(BLANK_LINE)) parts.push({ text: part.trim(), isFenced: false });
    prose.length = 0;
  };
  const lines = text.split(/\r?\n/);
  const ends = lines.map((line) => {
    const bare = line.trim();
    return FENCE_ONLY.test(bare) ? bare : "";
  });
  /** Marks that nothing closes from some line on, and so no longer one either: the rest of the lines is not looked at again for each. */
  const open: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const mark = FENCE.exec(line)?.[1];
    let end = -1;
    if (mark !== undefined && !open.some((unclosed) => mark.startsWith(unclosed))) {
      end = at + 1;
      while (end < ends.length && !ends[end]?.startsWith(mark)) end++;
      if (end === ends.length) open.push(mark);
    }
    if (end === -1 || end === ends.length) {
      prose.push(line);
      continue;
    }
    flush();
    parts.push({ text: lines.slice(at, end + 1).join("\n"), isFenced: true });
    at = end;
  }
  flush();
  return parts;
}

export interface Paragraphs {
  readonly kept: readonly string[];
  /** Paragraphs too short to say anything by themselves. */
  readonly short: number;
}

const weight = (text: string) => {
  const dense = hasDenseScript(text) ? Array.from(text).filter((char) => hasDenseScript(char)).length : 0;
  return charCount(text) + (DENSE_WEIGHT - 1) * dense;
};

/** Which parts are a program's: those of several lines by themselves, shorter ones as a run of {@link MACHINE_RUN}. */
function machineMade(parts: readonly { readonly text: string; readonly isFenced: boolean }[]) {
  const looks = parts.map((part) => !part.isFenced && looksMachineMade(part.text));
  const runAt: number[] = looks.map(Number);
  for (let at = 1; at < runAt.length; at++) if (looks[at]) runAt[at] = (runAt[at - 1] ?? 0) + 1;
  for (let at = runAt.length - 2; at >= 0; at--) if (looks[at] && looks[at + 1]) runAt[at] = runAt[at + 1] ?? 0;
  return parts.map(({ text }, at) => ({
    text,
    isMachineMade: looks[at] === true && (text.split("\n").length >= MACHINE_LINES || (runAt[at] ?? 0) >= MACHINE_RUN),
  }));
}

/**
 * The paragraphs worth keeping, in order. One over `mostChars` is cut between sentences, nothing repeated; neighbours that a program wrote (the entries
 * of a lock file) are kept together up to that length: they say nothing one by one.
 */
export function paragraphsOf(text: string, mostChars: number): Paragraphs {
  const parts = cutAtBlankLines(text).filter((part) => part.text !== "");
  const long = parts.filter((part) => weight(part.text) > SHORT_CHARS);
  const kept: { text: string; isMachineMade: boolean; chars: number }[] = [];
  for (const part of machineMade(long)) {
    const { isMachineMade } = part;
    const before = kept.at(-1);
    const chars = charCount(part.text);
    if (isMachineMade && before?.isMachineMade === true && before.chars + chars + 2 <= mostChars) {
      before.text += `\n\n${part.text}`;
      before.chars += chars + 2;
    } else kept.push({ text: part.text, isMachineMade, chars });
  }
  return {
    kept: kept.flatMap((part) => splitText(part.text, { sizeChars: mostChars, overlapChars: 0 })),
    short: parts.length - long.length,
  };
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
