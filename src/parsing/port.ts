/** Source code: the text of a file in, what it defines, calls and imports out. */
import type { SourceKind } from "../domain/code/languages.ts";
import type { ParsedSource } from "../domain/code/tree.ts";

export interface SourceParser {
  /** @throws MemoryError `unavailable` where the grammar of the language does not load, which no other file of it would change; another error for a file that cannot be parsed. */
  parse(source: string, kind: SourceKind): Promise<ParsedSource>;
}
