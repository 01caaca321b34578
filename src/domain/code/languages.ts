/** Programming languages whose source can be read, and which file is in which. */

export const codeLanguages = ["typescript", "javascript", "go", "rust", "python"] as const;
export type CodeLanguage = (typeof codeLanguages)[number];

/** A grammar is a dialect: TypeScript with and without JSX cannot be one. */
export type Grammar = CodeLanguage | "tsx";

export const grammars = [...codeLanguages, "tsx"] as const satisfies readonly Grammar[];

export interface SourceKind {
  readonly language: CodeLanguage;
  readonly grammar: Grammar;
}

const kind = (language: CodeLanguage, grammar: Grammar = language): SourceKind => ({ language, grammar });

const kinds: ReadonlyMap<string, SourceKind> = new Map([
  ...["ts", "mts", "cts"].map((extension) => [extension, kind("typescript")] as const),
  ["tsx", kind("typescript", "tsx")],
  ...["js", "mjs", "cjs", "jsx"].map((extension) => [extension, kind("javascript")] as const),
  ["go", kind("go")],
  ["rs", kind("rust")],
  ["py", kind("python")],
  ["pyi", kind("python")],
]);

/** The language of a file by its extension; undefined for what is no source that can be read. */
export const sourceKind = (path: string): SourceKind | undefined => kinds.get(/\.([a-z]+)$/.exec(path)?.[1] ?? "");

/** Extensions of the files of a language, without the dot. */
export const extensionsOf = (language: CodeLanguage): string[] =>
  [...kinds].filter(([, found]) => found.language === language).map(([extension]) => extension);
