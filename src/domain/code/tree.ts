/** What a source tree says of itself: who is defined where, who calls whom, who imports what (`cli-daemon.md` §3.16). */
import type { CodeLanguage } from "./languages.ts";

/** Between the parts of a qualified name: `src/auth/session.ts::Session::renew`. */
export const NAME_JOINT = "::";
const MODULE = "<module>";

export const moduleName = (file: string): string => `${file}${NAME_JOINT}${MODULE}`;

/** The file of a qualified name. */
export const fileOf = (qualified: string): string => qualified.slice(0, Math.max(0, qualified.indexOf(NAME_JOINT)));

/** One definition. Lines count from 1, both ends belong to it. */
export interface CodeSymbol {
  readonly kind: string;
  readonly name: string;
  /** The type that it belongs to. */
  readonly container: string | undefined;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly signature: string;
}

/** What one file says. A call names its caller by index into `symbols`, and what it calls by simple name. */
export interface ParsedSource {
  readonly symbols: readonly CodeSymbol[];
  readonly calls: readonly { readonly caller: number; readonly callee: string }[];
  readonly imports: readonly string[];
}

export interface ParsedFile extends ParsedSource {
  readonly path: string;
  readonly language: CodeLanguage;
}

/** A definition as it is stored. */
export interface TreeSymbol {
  readonly name: string;
  readonly kind: string;
  readonly file: string;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly signature: string;
}

export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** The graph of a batch of files: each symbol once, each edge once. */
export interface CodeTree {
  readonly files: readonly string[];
  readonly symbols: readonly TreeSymbol[];
  /** Between symbols, by qualified name. */
  readonly calls: readonly Edge[];
  /** From a module to a module of the batch, or to something outside of it. */
  readonly imports: readonly (Edge & { readonly external: boolean })[];
}

const qualified = (file: string, { container, name }: CodeSymbol): string =>
  [file, ...(container === undefined ? [] : [container]), name].join(NAME_JOINT);

/** Extensions that an import of TypeScript or JavaScript may leave out, in the order in which they are tried. */
const IMPLIED = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];

/** `a/b/../c/./d` → `a/c/d`; undefined where it leaves the root. */
function normalPath(path: string): string | undefined {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join("/");
}

/** A relative import is a file of the tree where there is one; every other import keeps the name that it was written with. */
function importTarget({ path, language }: ParsedFile, written: string, files: ReadonlySet<string>): { to: string; external: boolean } {
  const isRelative = (language === "typescript" || language === "javascript") && /^\.\.?(?:\/|$)/.test(written);
  if (!isRelative) return { to: written, external: true };
  const target = normalPath(`${path.slice(0, path.lastIndexOf("/") + 1)}${written}`);
  if (target === undefined) return { to: written, external: true };
  // TypeScript names the file that the compiler will make.
  const bare = target.replace(/\.[mc]?jsx?$/, "");
  const candidates = [target, ...[target, bare, `${target}/index`].flatMap((base) => IMPLIED.map((extension) => `${base}${extension}`))];
  const found = candidates.find((candidate) => files.has(candidate));
  return found === undefined ? { to: target === "" ? written : target, external: true } : { to: moduleName(found), external: false };
}

/** Edges without repetition, in order. */
function distinct<E extends Edge>(edges: Iterable<E>): E[] {
  const seen = new Map<string, E>();
  for (const edge of edges) if (edge.from !== edge.to) seen.set(`${edge.from}\n${edge.to}`, edge);
  return [...seen.values()];
}

/**
 * The graph of files that were read together. A call becomes an edge only where exactly one symbol of the batch has that simple name, and it is
 * not the caller: an ambiguous name is dropped, not guessed. Of symbols with one qualified name the first stands.
 * @param isName what can be the name of an entity; a symbol or an import with another one is left out.
 */
export function treeOf(files: readonly ParsedFile[], isName: (name: string) => boolean): CodeTree {
  const paths = new Set(files.map(({ path }) => path));
  const symbols = new Map<string, TreeSymbol>();
  const bySimpleName = new Map<string, string[]>();
  for (const { path, symbols: found } of files)
    for (const symbol of found) {
      const name = qualified(path, symbol);
      if (symbols.has(name) || !isName(name)) continue;
      const { kind, firstLine, lastLine, signature } = symbol;
      symbols.set(name, { name, kind, file: path, firstLine, lastLine, signature });
      bySimpleName.set(symbol.name, [...(bySimpleName.get(symbol.name) ?? []), name]);
    }
  const calls = files.flatMap(({ path, symbols: found, calls: made }) =>
    made.flatMap(({ caller, callee }) => {
      const from = found[caller];
      const [to, another] = bySimpleName.get(callee) ?? [];
      if (from === undefined || to === undefined || another !== undefined) return [];
      const name = qualified(path, from);
      return symbols.has(name) ? [{ from: name, to }] : [];
    }),
  );
  const imports = files.flatMap((file) =>
    file.imports.flatMap((written) => {
      const { to, external } = importTarget(file, written, paths);
      const from = moduleName(file.path);
      return isName(to) && isName(from) ? [{ from, to, external }] : [];
    }),
  );
  return {
    files: [...paths].filter((path) => isName(moduleName(path))),
    symbols: [...symbols.values()],
    calls: distinct(calls),
    imports: distinct(imports),
  };
}
