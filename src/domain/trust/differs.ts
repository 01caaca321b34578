/**
 * Where evidence says the claim's words with another number, name, date, version or negation. It decides nothing: without a judge the claim stays
 * `unknown`, and the reader sees at which word the memory says something else (the kinds of `possible_conflict`, `tools-graph.md` §3.9).
 */
import { type ComparedWord, comparedWords, type DifferenceKind, differenceKind, isSameWord } from "../same-words.ts";

export interface Differs {
  readonly kind: DifferenceKind;
  /** The claim's words that the memory does not have, as written; empty where the memory only says more (`not`). */
  readonly claim: string;
  /** What the memory has in their place. */
  readonly memory: string;
}

/** So much of the claim must stand in the memory, in order: `use PostgreSQL 15` / `use PostgreSQL 17` share two of three. */
const SHARED_FROM = 0.6;
/** Fewer words in common are a coincidence. */
const LEAST_SHARED = 2;
/** A difference longer than this is another statement: `is written in Rust` / `is running in Paris`. */
const LONGEST_WORDS = 3;
/** Longer texts are compared by their first words only; the alignment takes words × words steps. */
const MOST_WORDS = 400;

/** One place where two word sequences part: words of the claim, and what the memory has there. */
interface Hunk {
  readonly claim: readonly ComparedWord[];
  readonly memory: readonly ComparedWord[];
}

interface Alignment {
  readonly shared: number;
  readonly hunks: readonly Hunk[];
}

/**
 * `The API listens on port 8080` / `… port 9090 in production` → number, `8080`, `9090`; `Deploys are approved …` / `Deploys are not approved …` → negation;
 * `Ana approves releases for payments` / `Bea …` → word. A sentence of the memory that has all of the claim's words differs in nothing.
 */
export function differsFrom(claim: string, evidence: string): Differs | undefined {
  const wanted = comparedWords(claim).slice(0, MOST_WORDS);
  if (wanted.length < LEAST_SHARED + 1) return undefined;
  const told = statements(evidence).map((text) => comparedWords(text).slice(0, MOST_WORDS));
  if (told.some((words) => hasRun(words, wanted))) return undefined;
  const near = told
    .map((words) => align(wanted, words))
    .filter(({ shared }) => shared >= LEAST_SHARED && shared >= SHARED_FROM * wanted.length)
    .sort((a, b) => b.shared - a.shared || a.hunks.length - b.hunks.length);
  for (const { hunks } of near) {
    const found = differenceOf(hunks);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The sentences of a text. A full stop inside `15.2` or `a.ts` ends none. */
const statements = (text: string): string[] => text.split(/(?<=[.!?;:])\s+|(?<=[。！？；])|\n+/u).filter((part) => part.trim() !== "");

/** Whether all of `run` stands in `words`, one after the other. */
const hasRun = (words: readonly ComparedWord[], run: readonly ComparedWord[]): boolean =>
  words.some((_, from) =>
    run.every((word, i) => {
      const other = words[from + i];
      return other !== undefined && isSameWord(word, other);
    }),
  );

const words = (list: readonly ComparedWord[]): string => list.map(({ written }) => written).join(" ");

function differenceOf(hunks: readonly Hunk[]): Differs | undefined {
  const replaced = hunks.filter(({ claim, memory }) => claim.length > 0 && memory.length > 0);
  const claimed = hunks.flatMap(({ claim }) => claim);
  const stored = hunks.flatMap(({ memory }) => memory);
  if (hunks.some(({ claim, memory }) => claim.length > LONGEST_WORDS || memory.length > LONGEST_WORDS)) return undefined;
  const byText = differenceKind(words(claimed), words(stored));
  // Cut out of its sentence a quoted word has lost its quotes; that it was one, the word itself remembers.
  const kind = byText === "word" && [...claimed, ...stored].some(({ isExact }) => isExact) ? "identifier" : byText;
  const differs = (parts: readonly Hunk[]): Differs => ({
    kind,
    claim: words(parts.flatMap(({ claim }) => claim)),
    memory: words(parts.flatMap(({ memory }) => memory)),
  });
  // A negation may only be added; everything else must stand in the place of something.
  if (kind === "negation") return differs(hunks);
  const claimedOnly = hunks.filter(({ claim, memory }) => claim.length > 0 && memory.length === 0);
  return replaced.length > 0 && claimedOnly.length === 0 ? differs(replaced) : undefined;
}

/** Longest common subsequence; what the memory has before and after the claim's words is more, not other, and left out. */
function align(claim: readonly ComparedWord[], memory: readonly ComparedWord[]): Alignment {
  const width = memory.length + 1;
  const lengths = new Uint16Array((claim.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  const same = (i: number, j: number) => {
    const [left, right] = [claim[i], memory[j]];
    return left !== undefined && right !== undefined && isSameWord(left, right);
  };
  for (let i = claim.length - 1; i >= 0; i--)
    for (let j = memory.length - 1; j >= 0; j--)
      lengths[i * width + j] = same(i, j) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));

  const hunks: { claim: ComparedWord[]; memory: ComparedWord[] }[] = [{ claim: [], memory: [] }];
  const last = () => hunks[hunks.length - 1] ?? { claim: [], memory: [] };
  let [i, j] = [0, 0];
  while (i < claim.length || j < memory.length) {
    const [left, right] = [claim[i], memory[j]];
    if (left !== undefined && same(i, j)) {
      hunks.push({ claim: [], memory: [] });
      i++;
      j++;
    } else if (right !== undefined && (left === undefined || at(i, j + 1) >= at(i + 1, j))) {
      last().memory.push(right);
      j++;
    } else if (left !== undefined) {
      last().claim.push(left);
      i++;
    }
  }
  const first = hunks[0];
  const final = last();
  if (first !== undefined) first.memory.splice(0, Math.max(0, first.memory.length - first.claim.length));
  final.memory.splice(final.claim.length);
  return { shared: at(0, 0), hunks: hunks.filter((hunk) => hunk.claim.length > 0 || hunk.memory.length > 0) };
}
