/** What a search finds for a question that a threshold is measured on, as the memory stands and with the rows that answer it left out. */
import { type Distribution, distanceFrom } from "../../../domain/retrieval/abstention/shrinkage.ts";
import type { TokenSpace, TokenVectors } from "../../../domain/retrieval/abstention/word-match.ts";
import { FUSION_DEPTH } from "../../../domain/retrieval/fusion.ts";
import type { Embedder } from "../../../inference/port.ts";
import type { CallContext } from "../../../kernel/context.ts";
import type { Database } from "../../../store/port.ts";
import { rowKinds } from "../../../store/queries/search-filters.ts";
import type { Question } from "../../evaluation/dataset.ts";
import { createAges } from "../ages.ts";
import { analyse } from "../analyse.ts";
import { searchVectors } from "../arms/vector.ts";
import { searchWords } from "../arms/words.ts";
import { bestMatch, nearestIds, type ReadTokens, readTexts } from "./matching.ts";
import { type Evidence, type GateStatistics, readEvidence } from "./statistics.ts";

/** The exact rank of a default search: what is measured is what a search will see. */
const EXACT_RANK = 20;

export type Asked = Pick<Question, "query" | "relevantIds" | "abstain">;

export interface Probe {
  readonly question: Asked;
  readonly present: GateStatistics;
  /** Undefined for a question marked `abstain`. */
  readonly absent: GateStatistics | undefined;
  readonly distance: number | undefined;
}

export interface ProbeOptions {
  /** Ids of answers that are stored; where none of a question is, the row found first stands for its answer. */
  readonly alive: ReadonlySet<string>;
  /** What distances are measured from; undefined = none is. */
  readonly distribution: Distribution | undefined;
  readonly withMeaning: boolean;
  /** What the model's token vectors have in common; undefined = no row is read token by token. */
  readonly space: TokenSpace | undefined;
}

/** Texts whose tokens are kept while a threshold is measured: many questions are near one row. 54 kB each at 35 tokens and 384 numbers. */
const TEXTS_KEPT = 500;

export function createProbe({
  db,
  embedder,
}: {
  readonly db: Database;
  readonly embedder: Embedder;
}): (ctx: CallContext, question: Asked, options: ProbeOptions) => Promise<Probe> {
  const kept = new Map<string, TokenVectors>();
  const tokensOf = async (read: ReadTokens, text: string, signal: AbortSignal): Promise<TokenVectors | undefined> => {
    const known = kept.get(text) ?? (await read([text], "passage", signal))[0];
    if (known === undefined) return undefined;
    kept.delete(text);
    kept.set(text, known);
    for (const oldest of kept.keys()) {
      if (kept.size <= TEXTS_KEPT) break;
      kept.delete(oldest);
    }
    return known;
  };

  return async (ctx, question, { alive, distribution, withMeaning, space }) => {
    const [vector] = withMeaning ? await embedder.embed([question.query], "query", ctx.signal) : [];
    const filters = { scope: ctx.scope, includeUnscoped: false, after: undefined, before: undefined, tag: undefined };
    const ages = createAges(filters);
    const found = await db.read(ctx, async (tx) => {
      const words = await searchWords(tx, {
        analysis: analyse(question.query),
        kinds: rowKinds,
        filters,
        depth: FUSION_DEPTH,
        exactRank: EXACT_RANK,
        ages,
      });
      const near =
        vector === undefined
          ? undefined
          : await searchVectors(tx, { vector, label: embedder.label, depth: FUSION_DEPTH, filters, withEpisodes: true, ages });
      const given = question.relevantIds.filter((id) => alive.has(id));
      const first = near?.hits[0]?.id ?? words.bm25[0]?.id;
      const answers = new Set(given.length > 0 ? given : first === undefined ? [] : [first]);
      const evidence = await readEvidence(tx, words, near, { also: [...answers] });
      const nearest = { present: nearestIds(near), absent: nearestIds(near, answers) };
      const texts =
        space === undefined
          ? new Map<string, string>()
          : await readTexts(tx, near, [...new Set(Object.values(nearest).flat())], evidence.weights());
      return { evidence, answers, nearest, texts };
    });

    const read = space === undefined ? undefined : embedder.tokens;
    const [asked] = read === undefined ? [] : await read([question.query], "query", ctx.signal);
    const withMatch = async (evidence: Evidence, ids: readonly string[], without?: ReadonlySet<string>): Promise<GateStatistics> => {
      const statistics = evidence.statistics(without);
      if (asked === undefined || read === undefined || space === undefined || ids.length === 0) return statistics;
      const rows: TokenVectors[] = [];
      for (const id of ids) {
        const tokens = await tokensOf(read, found.texts.get(id) ?? "", ctx.signal);
        if (tokens !== undefined) rows.push(tokens);
      }
      return { ...statistics, match: bestMatch(asked, rows, evidence.weights(without), space) };
    };
    const { evidence, answers, nearest } = found;
    return {
      question,
      present: await withMatch(evidence, nearest.present),
      absent: question.abstain ? undefined : await withMatch(evidence, nearest.absent, answers),
      distance: distribution && vector && distanceFrom(distribution, vector),
    };
  };
}
