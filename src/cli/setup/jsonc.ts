/**
 * Edits of JSON text that keep every other byte: comments, BOM, line endings, indentation, trailing commas. Pure: text in, text out.
 * An edit inserts or cuts one piece; nothing is ever printed anew.
 */
import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { refused } from "../../kernel/errors.ts";

const BOM = "\uFEFF";

/** jsonc-parser's token numbers (its enum is declared for other build settings than ours). */
const TOKEN = { comma: 5, lineComment: 12, blockComment: 13, lineBreak: 14, blank: 15, end: 17 } as const;

/** A document that parsed. Offsets of `root` count in `body`. */
export interface Document {
  readonly bom: string;
  readonly body: string;
  readonly root: Node;
}

/**
 * Parses JSON with comments and trailing commas.
 * @param file named in the refusal
 * @throws MemoryError `refused` where the text is not JSON, or its root is no object; the caller has written nothing
 */
export function parseDocument(text: string, file: string): Document {
  const bom = text.startsWith(BOM) ? BOM : "";
  const body = text.slice(bom.length);
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(body, errors, { allowTrailingComma: true });
  } catch {
    throw refused(`${file} is nested too deeply to be a configuration; it was left as it is.`, { field: file });
  }
  const [first] = errors;
  if (first !== undefined || root === undefined) {
    const where = lineAndColumn(body, first?.offset ?? 0);
    const what = first === undefined ? "it holds no value" : printParseErrorCode(first.error);
    throw refused(`${file} is not valid JSON (${what} at ${where}); it was left as it is. Repair it, then run the command again.`, {
      field: file,
    });
  }
  if (root.type !== "object") throw refused(`${file} holds no JSON object at its top; it was left as it is.`, { field: file });
  return { bom, body, root };
}

function lineAndColumn(body: string, offset: number): string {
  const before = body.slice(0, offset).split("\n");
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** The member of an object under `key`. Of several, the last: that is the one JSON readers see. */
export function member(parent: Node | undefined, key: string): { readonly property: Node; readonly value: Node } | undefined {
  if (parent?.type !== "object") return undefined;
  const property = parent.children?.findLast(({ children }) => children?.[0]?.value === key);
  const value = property?.children?.[1];
  return property === undefined || value === undefined ? undefined : { property, value };
}

/** The plain value of a node. */
export function plainValue(node: Node): unknown {
  switch (node.type) {
    case "object":
      return Object.fromEntries(
        (node.children ?? []).map(({ children }) => [
          String(children?.[0]?.value),
          children?.[1] === undefined ? undefined : plainValue(children[1]),
        ]),
      );
    case "array":
      return (node.children ?? []).map(plainValue);
    default:
      return node.value;
  }
}

const endOf = (node: Node): number => node.offset + node.length;

const lineEndingOf = (body: string): string => (/\r\n|\n/.exec(body)?.[0] === "\r\n" ? "\r\n" : "\n");

/** Blanks in front of the first character of the line that `offset` is in. */
const indentAt = (body: string, offset: number): string => /^[ \t]*/.exec(body.slice(lineStart(body, offset)))?.[0] ?? "";

const lineStart = (body: string, offset: number): number => body.lastIndexOf("\n", offset - 1) + 1;

/** True where only blanks stand between the start of the line and `offset`. */
const beginsLine = (body: string, offset: number): boolean => /^[ \t]*$/.test(body.slice(lineStart(body, offset), offset));

/** How the document indents: what its first member has in front of it, else two blanks. */
function indentUnit({ body, root }: Document): string {
  const first = root.children?.[0];
  const found = first !== undefined && beginsLine(body, first.offset) ? indentAt(body, first.offset) : "";
  return found === "" ? "  " : found;
}

/** Prints a value (with its key, for an object) the way the document is written, at depth 0. */
function print(document: Document, key: string | undefined, value: unknown, compact: boolean): string {
  const label = key === undefined ? "" : `${JSON.stringify(key)}:${compact ? "" : " "}`;
  return `${label}${compact ? JSON.stringify(value) : JSON.stringify(value, null, indentUnit(document))}`;
}

/** Gives a text of several lines the indentation and the line ending of the place where it will stand. */
const place = (printed: string, indent: string, ending: string): string => printed.replaceAll("\n", `${ending}${indent}`);

/** The token behind `offset` that is no blank or comment: a comma's offset, or undefined. */
function commaBehind(body: string, offset: number): number | undefined {
  const scanner = createScanner(body, true);
  scanner.setPosition(offset);
  return Number(scanner.scan()) === TOKEN.comma ? scanner.getTokenOffset() : undefined;
}

/** End of the line of `offset`, if only blanks, one comma and comments stand before it; else undefined. */
function restOfLineEnd(body: string, offset: number): number | undefined {
  const scanner = createScanner(body, false);
  scanner.setPosition(offset);
  for (;;) {
    const token = Number(scanner.scan());
    if (token === TOKEN.lineBreak || token === TOKEN.end) return scanner.getTokenOffset();
    if (token !== TOKEN.blank && token !== TOKEN.comma && token !== TOKEN.lineComment && token !== TOKEN.blockComment) return undefined;
    if (token === TOKEN.blockComment && /\n/.test(body.slice(scanner.getTokenOffset(), scanner.getPosition()))) return undefined;
  }
}

/** Adds a member to an object (`key`), or an element to an array, behind what is there. Answers the new text. */
export function append(document: Document, parent: Node, key: string | undefined, value: unknown): string {
  const { bom, body } = document;
  const ending = lineEndingOf(body);
  const children = parent.children ?? [];
  const last = children.at(-1);
  if (last === undefined) {
    const outer = indentAt(body, parent.offset);
    const inner = outer + indentUnit(document);
    const opens = parent.offset + 1;
    const inside = body.slice(opens, endOf(parent) - 1);
    // What is inside (blanks, comments) stays behind the new child; a line break there already puts the bracket on its own line.
    const closing = /^[ \t]*\r?\n/.test(inside) ? "" : ending + outer;
    return bom + insert(body, opens, `${ending}${inner}${place(print(document, key, value, false), inner, ending)}${closing}`);
  }
  const first = children[0] ?? last;
  const trailing = commaBehind(body, endOf(last));
  if (!beginsLine(body, first.offset)) {
    const gap = /:\s/.test(body.slice(first.offset, endOf(first))) || children.length > 1 ? " " : "";
    const printed = print(document, key, value, true);
    return (
      bom + (trailing === undefined ? insert(body, endOf(last), `,${gap}${printed}`) : insert(body, trailing + 1, `${gap}${printed},`))
    );
  }
  const indent = indentAt(body, first.offset);
  const line = `${ending}${indent}${place(print(document, key, value, false), indent, ending)}`;
  // A comment behind the last child speaks of that child: the new one goes below it, the comma in front of it.
  const below = restOfLineEnd(body, trailing ?? endOf(last)) ?? (trailing === undefined ? endOf(last) : trailing + 1);
  if (trailing !== undefined) return bom + insert(body, below, `${line},`);
  return bom + insert(insert(body, below, line), endOf(last), ",");
}

/** Puts another value in the place of a node. */
export function replace(document: Document, node: Node, value: unknown): string {
  const { bom, body } = document;
  const indent = indentAt(body, node.offset);
  const compact = !body.slice(node.offset, endOf(node)).includes("\n") && !body.includes("\n");
  const printed = place(print(document, undefined, value, compact), indent, lineEndingOf(body));
  return bom + body.slice(0, node.offset) + printed + body.slice(endOf(node));
}

/** Takes a member or element out, with the comma and the line that were its own. */
export function remove(document: Document, parent: Node, child: Node): string {
  const { bom, body } = document;
  const children = parent.children ?? [];
  const at = children.indexOf(child);
  const previous = children[at - 1];
  const comma = commaBehind(body, endOf(child));
  let start = child.offset;
  let end = comma === undefined ? endOf(child) : comma + 1;
  if (beginsLine(body, start)) {
    // The line break in front goes with it; the one behind stays for what follows.
    start = lineStart(body, start);
    start = body.slice(0, start).endsWith("\r\n") ? start - 2 : start - 1;
  } else if (children[at + 1] !== undefined) {
    end += /^[ \t]*/.exec(body.slice(end))?.[0].length ?? 0;
  } else if (previous !== undefined) {
    start -= /[ \t]*$/.exec(body.slice(0, start))?.[0].length ?? 0;
  }
  let cut = body.slice(0, start) + body.slice(end);
  const orphan = comma === undefined && previous !== undefined ? commaBehind(body, endOf(previous)) : undefined;
  if (orphan !== undefined) cut = cut.slice(0, orphan) + cut.slice(orphan + 1);
  if (children.length === 1) cut = closeEmpty(cut, parent.offset);
  return bom + cut;
}

/** `{` and `}` with only blanks between them become `{}`. */
function closeEmpty(body: string, opens: number): string {
  const blanks = /^\s*(?=[}\]])/.exec(body.slice(opens + 1));
  return blanks === null ? body : body.slice(0, opens + 1) + body.slice(opens + 1 + blanks[0].length);
}

const insert = (body: string, at: number, piece: string): string => body.slice(0, at) + piece + body.slice(at);
