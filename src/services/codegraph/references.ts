/**
 * What a memory says of code that is not there any more. Judged by the last `codegraph build` of the project alone, and only for languages that it
 * found: where no tree is known, nothing is said. A mark hides no row, moves none, and asks no model.
 */
import { extensionsOf } from "../../domain/code/languages.ts";
import { referencesIn } from "../../domain/code/references.ts";
import { wordsOf } from "../../domain/words.ts";
import type { CallScope } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Database } from "../../store/port.ts";
import { extensionsInTree, pathsInTree, symbolsInTree } from "../../store/queries/code-references.ts";

export const NOT_IN_TREE_NOTE =
  "not_in_tree: code that the last 'codegraph build' of this project did not find; it may have been renamed or deleted since the row was written";

export interface CodeReferences {
  /** For each text the paths and symbols in it that the project's tree does not hold. Never throws: an answer is worth more than its marks. */
  missing(ctx: CallScope & { readonly log: Logger }, texts: readonly (string | null)[]): Promise<readonly (readonly string[])[]>;
}

/** The rarest word of a name for its look-up: the longest is a good guess. */
function keyWord(name: string): string {
  const words = wordsOf(name).map(({ text }) => text);
  const plain = wordsOf(name).flatMap(({ text, isWhole }) => (isWhole ? [] : [text]));
  return [...(plain.length > 0 ? plain : words)].sort((a, b) => b.length - a.length)[0] ?? "";
}
const stem = (path: string): string => (path.split("/").at(-1) ?? path).replace(/\.[^.]*$/, "");

export function createCodeReferences({ db }: { readonly db: Database }): CodeReferences {
  return {
    async missing(ctx, texts) {
      const found = texts.map((text) => referencesIn(text ?? ""));
      const none = texts.map(() => []);
      const paths = [...new Set(found.flatMap((each) => each.paths))];
      const { scope } = ctx;
      if (paths.length === 0 || scope.kind !== "project") return none;
      const symbols = [...new Set(found.flatMap((each) => each.symbols))];
      try {
        const there = await db.read(ctx, async (tx) => {
          const known = new Set((await tx.all(extensionsInTree({ scope }))).map(({ extension }) => extension));
          if (known.size === 0) return undefined;
          const word = (name: string) => ({ name, word: keyWord(name) });
          const inTree = await tx.all(
            pathsInTree({ scope, projectId: scope.id, paths: paths.map((path) => ({ name: path, word: keyWord(stem(path)) })) }),
          );
          const named = symbols.length === 0 ? [] : await tx.all(symbolsInTree({ scope, projectId: scope.id, symbols: symbols.map(word) }));
          return { known, names: new Set([...inTree, ...named].map(({ name }) => name)) };
        });
        if (there === undefined) return none;
        return found.map(({ paths: written, symbols: names, languages }) => {
          // Of a language that the build did not read nothing is known.
          if (!languages.every((language) => extensionsOf(language).some((extension) => there.known.has(extension)))) return [];
          return [...written, ...names].filter((name) => !there.names.has(name));
        });
      } catch (cause) {
        if (!ctx.signal.aborted) ctx.log.warn("memories could not be compared with the source tree", { cause: causeChain(cause) });
        return none;
      }
    },
  };
}
