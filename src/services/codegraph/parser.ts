/** The parsers: compiled grammars in WebAssembly, loaded when the first file of a language comes. */
import { Language, Parser } from "web-tree-sitter";
import type { CodeLanguage, Grammar, SourceKind } from "../../domain/code/languages.ts";
import type { ParsedSource } from "../../domain/code/tree.ts";
import { unavailable } from "../../kernel/errors.ts";
import { extract } from "./extract.ts";

/** The program's own files: the runtime of the parsers, and a grammar each. */
export interface GrammarFiles {
  runtime(): Promise<Uint8Array>;
  grammar(name: Grammar): Promise<Uint8Array>;
}

export interface SourceParser {
  parse(source: string, kind: SourceKind): Promise<ParsedSource>;
}

export async function createSourceParser(files: GrammarFiles): Promise<SourceParser> {
  await Parser.init({ wasmBinary: await files.runtime() });
  const parser = new Parser();
  const known = new Map<Grammar, Language>();
  const languageOf = async (grammar: Grammar): Promise<Language> => {
    const loaded = known.get(grammar) ?? (await Language.load(await files.grammar(grammar)));
    known.set(grammar, loaded);
    return loaded;
  };
  const read = (source: string, language: CodeLanguage): ParsedSource => {
    const tree = parser.parse(source);
    if (tree === null) throw unavailable("The parser gave no tree. Nothing was written.");
    try {
      return extract(tree, language);
    } finally {
      tree.delete();
    }
  };
  return {
    async parse(source, { language, grammar }) {
      parser.setLanguage(await languageOf(grammar));
      return read(source, language);
    },
  };
}
