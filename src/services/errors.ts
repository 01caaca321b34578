/** Error memory (`tools-graph.md` §4.5–4.7): report with what is known about the like, resolve, search, and warn before a failed approach is repeated. */
import { lexicalText } from "../domain/lexical.ts";
import { byRelevance } from "../domain/retrieval/past-errors.ts";
import { type CallContext, projectOf, type Scope } from "../kernel/context.ts";
import { notFound } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { firstChars } from "../kernel/text.ts";
import type { Database, RowOf, Tx } from "../store/port.ts";
import {
  errorRows,
  errorToResolve,
  insertError,
  knownSolutions,
  pastErrors,
  resemblingErrors,
  resolveError,
  similarOpen,
  strengthenSimilar,
  type WordFound,
} from "../store/queries/errors.ts";
import type { FiredReminder } from "../store/queries/reminders.ts";
import type { Filters } from "../store/queries/search-filters.ts";
import type { Reminders } from "./reminders.ts";
import { createAges } from "./search/ages.ts";
import { analyse } from "./search/analyse.ts";
import { searchWords } from "./search/arms/words.ts";

/** Longest message that is kept, code points. */
export const MESSAGE_CHARS = 5_000;
/** Messages more similar than this are the same trouble. */
const SAME_TROUBLE = 0.5;
/** A message more similar than this to a question answers it, whatever its words. */
const ANSWERS = 0.3;
/** So many similar ones are a pattern, and gain weight. */
const PATTERN_FROM = 3;
const PATTERN_GAIN = 0.1;
const MOST_SOLUTIONS = 3;
const MOST_OPEN = 5;
/** Rows that words may find, a plan's resemblances among them; what is beyond shares nothing but frequent words. */
const WORD_DEPTH = 1_000;

export type KnownSolution = RowOf<typeof knownSolutions>;
export type OpenError = RowOf<typeof similarOpen>;
export type Resemblance = RowOf<typeof resemblingErrors>;
export type PastError = RowOf<typeof errorRows> & { readonly similarity: number };

export interface Report {
  readonly errorType: string;
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly label: string | undefined;
}

export interface Reported {
  readonly id: string;
  readonly label: string;
  /** The message was longer than what is kept. */
  readonly truncated: boolean;
  /** Others on file with a similar message and the same label. */
  readonly similar: number;
  readonly isPattern: boolean;
  readonly solutions: readonly KnownSolution[];
  readonly reminders: readonly FiredReminder[];
}

export interface Resolved {
  /** Another solution stood there; it is kept in the error's context. */
  readonly replaced: boolean;
  readonly open: readonly OpenError[];
}

export interface ErrorQuery {
  readonly query: string;
  readonly label: string | undefined;
  readonly resolvedOnly: boolean;
  readonly limit: number;
  readonly offset: number;
}

export interface Errors {
  report(ctx: CallContext, report: Report): Promise<Reported>;
  /** @throws MemoryError `not_found`, also for an error of another project. */
  resolve(ctx: CallContext, id: string, solution: string): Promise<Resolved>;
  search(ctx: CallContext, wanted: ErrorQuery): Promise<{ readonly rows: readonly PastError[]; readonly total: number }>;
  /** What is on file that a plan resembles, most similar first. */
  resembling(ctx: CallContext, plan: string, label: string | undefined): Promise<readonly Resemblance[]>;
}

/** What full text is made of. What was tried belongs to it, so that the same attempt is found by its words. */
const words = (...texts: readonly (string | null | undefined)[]) => lexicalText(texts.filter((text) => typeof text === "string").join(" "));

const textOf = (context: Report["context"], key: string) => (typeof context[key] === "string" ? context[key] : undefined);

const filtersOf = (scope: Scope): Filters => ({ scope, includeUnscoped: false, after: undefined, before: undefined, tag: undefined });

/** Errors by their words, each with the share of the question's weight that it has. */
async function byWords(tx: Tx, text: string, scope: Scope, exactRank: number): Promise<WordFound[]> {
  const filters = filtersOf(scope);
  const { bm25, coverage } = await searchWords(tx, {
    analysis: analyse(text),
    kinds: ["error"],
    filters,
    depth: WORD_DEPTH,
    exactRank: Math.min(exactRank, WORD_DEPTH),
    ages: createAges(filters),
  });
  const best = bm25[0]?.score ?? 1;
  return bm25.map(({ id, score }) => ({ id, rank: Math.min(1, (coverage * score) / best) }));
}

export function createErrors({ db, reminders }: { readonly db: Database; readonly reminders: Reminders }): Errors {
  return {
    async report(ctx, { errorType, message: whole, context, label: wanted }) {
      const id = newId();
      const { scope } = ctx;
      const message = firstChars(whole, MESSAGE_CHARS);
      const lexical = words(errorType, message, textOf(context, "attempted"), textOf(context, "action"));
      const stored = await db.write(ctx, async (tx) => {
        const made = await tx.first(insertError({ id, errorType, message, context, label: wanted, lexical, projectId: projectOf(scope) }));
        if (made === undefined) throw new Error("an insert returned no row");
        const like = { message, except: id, scope, leastSimilarity: SAME_TROUBLE };
        const counted = await tx.first(strengthenSimilar({ ...like, label: made.label, atLeast: PATTERN_FROM, by: PATTERN_GAIN }));
        const solutions = await tx.all(knownSolutions({ ...like, limit: MOST_SOLUTIONS }));
        return { label: made.label, similar: counted?.count ?? 0, solutions };
      });
      return {
        id,
        ...stored,
        truncated: message.length < whole.length,
        isPattern: stored.similar >= PATTERN_FROM,
        reminders: await reminders.onSubject(ctx, "on_error_match", errorType, message),
      };
    },

    resolve: (ctx, id, solution) =>
      db.write(ctx, async (tx) => {
        const { scope } = ctx;
        const known = await tx.first(errorToResolve({ id, scope }));
        if (known === undefined)
          throw notFound("error", id, {
            where: "(within current project scope)",
            next: "Nothing was written. cuba_expediente finds errors with their ids.",
          });
        const lexical = words(known.errorType, known.message, solution, known.attempted, known.action);
        await tx.run(resolveError({ id, solution, lexical, scope }));
        const open = await tx.all(
          similarOpen({ message: known.message, except: id, scope, leastSimilarity: SAME_TROUBLE, limit: MOST_OPEN }),
        );
        return { replaced: known.solution !== null && known.solution !== solution, open };
      }),

    search: (ctx, { query, label, resolvedOnly, limit, offset }) =>
      db.read(ctx, async (tx) => {
        const { scope } = ctx;
        const found = await byWords(tx, query, scope, offset + limit);
        const ranked = await tx.all(pastErrors({ words: found, text: query, leastSimilarity: ANSWERS, label, resolvedOnly, scope }));
        ranked.sort(byRelevance);
        const page = ranked.slice(offset, offset + limit);
        const rows = new Map((await tx.all(errorRows({ ids: page.map((row) => row.id), scope }))).map((row) => [row.id, row]));
        return {
          rows: page.flatMap(({ id, similarity }): PastError[] => {
            const row = rows.get(id);
            return row === undefined ? [] : [{ ...row, similarity }];
          }),
          total: ranked.length,
        };
      }),

    resembling: (ctx, plan, label) =>
      db.read(ctx, async (tx) => {
        const { scope } = ctx;
        const found = await byWords(tx, plan, scope, WORD_DEPTH);
        return await tx.all(
          resemblingErrors({ words: found, plan, candidateSimilarity: ANSWERS, leastSimilarity: SAME_TROUBLE, label, scope }),
        );
      }),
  };
}
