/** The parsers: compiled grammars in WebAssembly, loaded when the first file of a language comes. */
import { Language, Parser } from "web-tree-sitter";
import type { CodeLanguage, Grammar } from "../domain/code/languages.ts";
import type { ParsedSource } from "../domain/code/tree.ts";
import { unavailable } from "../kernel/errors.ts";
import { extract } from "./extract.ts";
import type { SourceParser } from "./port.ts";

/** The program's own files: the runtime of the parsers, and a grammar each. */
export interface GrammarFiles {
  runtime(): Promise<Uint8Array>;
  grammar(name: Grammar): Promise<Uint8Array>;
}

/** The program carries them, so a broken one is no fault of the source. */
const broken = (what: string) => (cause: unknown) => {
  throw unavailable(
    `${what} inside this program does not load, so no source can be read. Nothing was written. Install the program again.`,
    {
      cause,
    },
  );
};

/** @throws MemoryError `unavailable` where the runtime of the parsers does not load. */
export async function createSourceParser(files: GrammarFiles): Promise<SourceParser> {
  await files
    .runtime()
    .then((wasmBinary) => Parser.init({ wasmBinary }))
    .catch(broken("The runtime of the parsers"));
  const parser = new Parser();
  const known = new Map<Grammar, Language>();
  const languageOf = async (grammar: Grammar): Promise<Language> => {
    const loaded =
      known.get(grammar) ??
      (await files
        .grammar(grammar)
        .then(Language.load)
        .catch(broken(`The grammar of ${grammar}`)));
    known.set(grammar, loaded);
    return loaded;
  };
  const read = (source: string, language: CodeLanguage): ParsedSource => {
    const tree = parser.parse(source);
    if (tree === null) throw new Error("the parser gave no tree");
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
