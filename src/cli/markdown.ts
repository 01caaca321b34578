/**
 * Stored text as Markdown that reads the same and does nothing: no HTML, no link or picture of its own, no heading, no comment that swallows what follows.
 * Code stays code: fences and code spans are kept, and closed where the text leaves them open. Pure. The rules are CommonMark's (0.31.2) and Obsidian's.
 */

/** Languages that a viewer only colours. Any other word behind a fence may start a plug-in of the viewer, so it is left out. */
const COLOURED =
  /^(?:bash|c|clojure|console|cpp|csharp|css|csv|cs|dart|diff|dockerfile|elixir|erlang|fish|go|graphql|haskell|html|http|ini|java|javascript|js|json|jsonc|jsonl|jsx|julia|kotlin|less|lua|makefile|markdown|md|nix|objc|perl|php|plaintext|powershell|prolog|proto|ps1|py|python|r|rb|rs|ruby|rust|scala|scss|sh|shell|sql|svg|swift|text|toml|ts|tsx|txt|typescript|vim|xml|yaml|yml|zig|zsh)$/i;
/** Indentation, the marks of lists and quotes, the fence, its language. */
const FENCE = /^(\s*)((?:(?:[-*+>]|\d{1,9}[.)])\s+)*)(`{3,}|~{3,})(.*)$/;
/** What Dataview, a plug-in of Obsidian, runs although it stands in a code span. */
const RUN_SPAN = /^\s*\$?=/;

interface Fence {
  readonly marks: string;
  /** Blanks in front of the marks, which are no part of the code. */
  readonly indent: number;
}

interface Opening extends Fence {
  /** Marks of lists and quotes that stood before it. */
  readonly before: string;
  readonly language: string;
}

/** Whether the line opens a fence; one of backticks has none behind its marks. */
function opening(line: string): Opening | undefined {
  const [, indent = "", before = "", marks, behind = ""] = FENCE.exec(line) ?? [];
  if (marks === undefined || (marks.startsWith("`") && behind.includes("`"))) return undefined;
  const language = behind.trim().split(/\s/)[0] ?? "";
  return { marks, indent: indent.length + before.length, before: before.trim(), language: COLOURED.test(language) ? language : "" };
}

const closes = (line: string, { marks }: Fence): boolean => {
  const found = line.trim();
  return found.length >= marks.length && found === marks.charAt(0).repeat(found.length);
};

const plain = (text: string): string =>
  text
    .replace(/\\(?=[!-/:-@[-`{-~]|$)/g, "\\\\")
    .replaceAll("`", "\\`")
    .replaceAll("<", "\\<")
    .replaceAll("[[", "\\[\\[")
    .replaceAll("]]", "\\]\\]")
    .replaceAll("![", "\\![")
    .replace(/\](?=[(:])/g, "\\]")
    .replaceAll("%%", "\\%\\%")
    .replaceAll("$$", () => "\\$\\$")
    .replace(/(?<![\p{L}\p{N}_\\])#(?=\p{L})/gu, "\\#");

/** One line without line breaks: code spans that end in it stay, everything else is plain. */
export function inertLine(line: string): string {
  let out = "";
  let rest = line;
  for (;;) {
    const run = /`+/.exec(rest);
    if (run === null) return out + plain(rest);
    const marks = run[0];
    const behind = rest.slice(run.index + marks.length);
    const end = [...behind.matchAll(/`+/g)].find((other) => other[0].length === marks.length)?.index;
    const code = end === undefined ? undefined : behind.slice(0, end);
    out += plain(rest.slice(0, run.index));
    if (code === undefined || end === undefined) {
      out += plain(marks);
      rest = behind;
    } else {
      out += RUN_SPAN.test(code) ? plain(`${marks}${code}${marks}`) : `${marks}${code}${marks}`;
      rest = behind.slice(end + marks.length);
    }
  }
}

/** A heading, and the rule under a line that makes it one. */
const atStart = (line: string): string =>
  line
    .replace(/^(\s*(?:(?:[-*+>]|\d+[.)])\s+)*)(#{1,6})(?=\s|$)/, (_, before: string, marks: string) => `${before}\\${marks}`)
    .replace(/^(\s*)([-=*_])(?=(?:\s*\2){1,}\s*$|\s*$)/, "$1\\$2");

/** A text of any number of lines. Fences begin at the margin: indented ones end where a list around them does, which no two viewers see alike. */
export function inertMarkdown(text: string): string {
  const lines: string[] = [];
  let fence: Fence | undefined;
  for (const line of text.split(/\r\n?|\n/)) {
    if (fence !== undefined) {
      const isEnd = closes(line, fence);
      lines.push(isEnd ? fence.marks : line.slice(Math.min(fence.indent, line.length - line.trimStart().length)));
      if (isEnd) fence = undefined;
      continue;
    }
    const start = opening(line);
    if (start === undefined) lines.push(atStart(inertLine(line)));
    else {
      if (start.before !== "") lines.push(atStart(start.before));
      lines.push(`${start.marks}${start.language}`);
      fence = start;
    }
  }
  if (fence !== undefined) lines.push(fence.marks);
  return lines.join("\n");
}

/** Whether the text begins with a fence, which has to begin a line. */
export const beginsWithFence = (text: string): boolean => opening(text.split(/\r\n?|\n/, 1)[0] ?? "") !== undefined;

const longestRun = (text: string): number => Math.max(0, ...Array.from(text.matchAll(/`+/g), (run) => run[0].length));

/** One line as code that says exactly this, backticks included. */
export function codeSpan(line: string): string {
  const marks = "`".repeat(longestRun(line) + 1);
  const pad = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${marks}${pad}${line}${pad}${marks}`;
}

/** Lines of a fenced block around the text. */
export function codeBlock(text: string): string[] {
  const marks = "`".repeat(Math.max(3, longestRun(text) + 1));
  return [marks, ...text.split(/\r\n?|\n/), marks];
}
