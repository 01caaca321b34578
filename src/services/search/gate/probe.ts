/** What a search finds for a question that a threshold is measured on, as the memory stands and with the rows that answer it left out. */
import { type Distribution, distanceFrom } from "../../../domain/retrieval/abstention/shrinkage.ts";
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
import { type GateStatistics, readEvidence } from "./statistics.ts";

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
}

export function createProbe({
  db,
  embedder,
}: {
  readonly db: Database;
  readonly embedder: Embedder;
}): (ctx: CallContext, question: Asked, options: ProbeOptions) => Promise<Probe> {
  return async (ctx, question, { alive, distribution, withMeaning }) => {
    const [vector] = withMeaning ? await embedder.embed([question.query], "query", ctx.signal) : [];
    const filters = { scope: ctx.scope, includeUnscoped: false, after: undefined, before: undefined, tag: undefined };
    const ages = createAges(filters);
    return await db.read(ctx, async (tx) => {
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
      const answers = given.length > 0 ? given : first === undefined ? [] : [first];
      const evidence = await readEvidence(tx, words, near, answers);
      return {
        question,
        present: evidence.statistics(),
        absent: question.abstain ? undefined : evidence.statistics(new Set(answers)),
        distance: distribution && vector && distanceFrom(distribution, vector),
      };
    });
  };
}
