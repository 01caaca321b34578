/** One syntax tree in, its definitions, calls and imports out. A tree with errors in it gives what is readable. */
import type { Node, Tree } from "web-tree-sitter";
import type { CodeLanguage } from "../domain/code/languages.ts";
import type { CodeSymbol, ParsedSource } from "../domain/code/tree.ts";
import { redactedStart } from "../kernel/secrets.ts";
import { oneLine } from "../kernel/text.ts";
import { type Place, syntaxOf } from "./syntax.ts";

/** A declaration longer than this says no more. */
const SIGNATURE_CHARS = 200;
/** UTF-16 units of a line that are redacted for it: the one line of a minified file is in front of every symbol of it. */
const LONGEST_SIGNATURE_UNITS = 1_000;

/** The first line of a definition. A default value may be a credential: it is masked as it would be in a log. */
const signatureOf = (node: Node): string =>
  oneLine(redactedStart(node.text.split(/\r?\n/, 1)[0] ?? "", LONGEST_SIGNATURE_UNITS), SIGNATURE_CHARS);

interface Visit {
  readonly node: Node;
  readonly place: Place;
  /** Index of the function whose calls stand here. */
  readonly caller: number | undefined;
}

export function extract(tree: Tree, language: CodeLanguage): ParsedSource {
  const syntax = syntaxOf[language];
  const symbols: CodeSymbol[] = [];
  const calls: { caller: number; callee: string }[] = [];
  const imports: string[] = [];
  // A stack of our own: a chain of ten thousand additions is a tree as deep.
  const open: Visit[] = [{ node: tree.rootNode, place: { container: undefined, insideFunction: false }, caller: undefined }];
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { node, place } = visit;
    let { caller } = visit;
    let inner = place;
    const defined = syntax.define(node, place);
    if (defined !== undefined) {
      symbols.push({
        kind: defined.kind,
        name: defined.name,
        container: defined.container ?? place.container,
        firstLine: node.startPosition.row + 1,
        lastLine: node.endPosition.row + 1,
        signature: signatureOf(node),
      });
      // What a nested function calls is not what the outer one calls.
      caller = defined.calls === true ? symbols.length - 1 : undefined;
      inner = { container: defined.contains === true ? defined.name : undefined, insideFunction: defined.calls === true };
    } else {
      const owner = syntax.memberOf(node);
      if (owner !== undefined) inner = { container: owner, insideFunction: false };
      const callee = caller === undefined ? undefined : syntax.callee(node);
      if (caller !== undefined && callee !== undefined) calls.push({ caller, callee });
      imports.push(...syntax.imports(node));
    }
    const children = node.namedChildren;
    for (let at = children.length - 1; at >= 0; at--) {
      const child = children[at];
      if (child !== null && child !== undefined) open.push({ node: child, place: inner, caller });
    }
  }
  return { symbols, calls, imports };
}
