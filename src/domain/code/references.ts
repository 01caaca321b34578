/** Which files and symbols a text speaks of, as far as their form tells it: paths with a directory, and names of code beside such a path. */
import { type CodeLanguage, codeLanguages, extensionsOf, sourceKind } from "./languages.ts";

export interface References {
  /** As written, without a leading `./`. */
  readonly paths: readonly string[];
  /** Simple names; none in a text without a path: what a library brings has the same form. */
  readonly symbols: readonly string[];
  /** Languages of the paths. */
  readonly languages: readonly CodeLanguage[];
}

const extensions = codeLanguages.flatMap(extensionsOf).join("|");
/** `src/auth/session.ts`; no web address, no absolute path, and no `Node.js`, which needs no directory to be written. */
const pathForm = new RegExp(String.raw`(?<![\w@/.:\\-])(?:\./)?((?:[\w.@-]+/)+[\w.@-]+\.(?:${extensions}))(?![\w/\\-])`, "g");
/** Directories of others: what stands there is in no tree. */
const foreign = /(?:^|\/)(?:node_modules|target|dist|build|\.venv|__pycache__)\//;

const identifier = String.raw`[A-Za-z_$][\w$]*(?:(?:::|\.)[A-Za-z_$][\w$]*)*`;
const kindWord = "function|method|class|struct|interface|trait|enum|func|def|fn|función|método|clase|函数|方法|类";
const afterKindWord = new RegExp(String.raw`(?<!\w)(?:${kindWord})(?:\s+|(?=\x60))(\x60?)(${identifier})(\(\))?`, "giu");
const inBackticks = new RegExp(String.raw`\x60(${identifier})(\(\))?\x60`, "g");

/** `renewToken`, `renew_token`, `Session.renew`, `HTTPServer2`: no word of a sentence looks like that. */
const looksLikeCode = (name: string, called: boolean): boolean => called || /[a-z0-9][A-Z]|_|::|\.|\d/.test(name);
const lastPart = (name: string): string => name.split(/::|\./).at(-1) ?? name;
/** A name shorter than this is a variable of an example. */
const MIN_SYMBOL_CHARS = 3;

export function referencesIn(text: string): References {
  const paths = new Set<string>();
  for (const [, path = ""] of text.matchAll(pathForm)) if (!foreign.test(path) && !path.startsWith("..")) paths.add(path);
  if (paths.size === 0) return { paths: [], symbols: [], languages: [] };
  const symbols = new Set<string>();
  for (const [, quoted, name = "", called] of text.matchAll(afterKindWord))
    if (quoted !== "" || looksLikeCode(name, called !== undefined)) symbols.add(lastPart(name));
  for (const [, name = "", called] of text.matchAll(inBackticks))
    if (looksLikeCode(name, called !== undefined) && sourceKind(name) === undefined) symbols.add(lastPart(name));
  return {
    paths: [...paths],
    symbols: [...symbols].filter((name) => name.length >= MIN_SYMBOL_CHARS),
    languages: [...new Set([...paths].flatMap((path) => sourceKind(path)?.language ?? []))],
  };
}
