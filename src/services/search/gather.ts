/** The arms of one search, run in its transaction; what each found, ready to be fused. */
import { type Arm, FUSION_DEPTH, type FusionMode } from "../../domain/retrieval/fusion.ts";
import type { Hit } from "../../domain/retrieval/hits.ts";
import type { Filters, RowKind } from "../../store/queries/search-filters.ts";
import { waitingOf } from "../../store/queries/search-vectors.ts";
import type { Ages } from "./ages.ts";
import type { Analysis } from "./analyse.ts";
import { associations, type GraphRow } from "./arms/graph.ts";
import { type Mention, type MentionCache, searchMentioned } from "./arms/mentions.ts";
import { scoreTexts } from "./arms/texts.ts";
import { type QuestionVector, searchVectors, type VectorHits } from "./arms/vector.ts";
import { searchWords, type WordHits, type WordSearch } from "./arms/words.ts";
import { type Waiting, wordShares } from "./gate/statistics.ts";
import type { RunLeg } from "./legs.ts";
import { isWhole, type MissingVectors, type Unseen } from "./missing-vectors.ts";
import type { Ablation, HybridRequest, SearchScope } from "./request.ts";

export interface Gathering {
  readonly analysis: Analysis;
  readonly request: HybridRequest;
  readonly ablation: Ablation;
  readonly filters: Filters;
  /** The question's vector, or why there is none; undefined where nothing has vectors. */
  readonly question: QuestionVector | undefined;
  /** Label of the running model. */
  readonly label: string;
  readonly mentionCache: MentionCache;
  readonly entityLeg: boolean;
  /** Rows that a later stage reads whatever the limit; 0 where none does. */
  readonly atLeast: number;
  readonly fusion: FusionMode;
  readonly ages: Ages;
  readonly missingVectors: MissingVectors;
}

export interface Gathered {
  /** What the vector arm could not see; undefined where it did not run. */
  readonly unseen: Unseen | undefined;
  /** Rows that were found and that meaning could not find, or not all of them. */
  readonly waiting: Waiting;
  /** What the two main arms found; undefined where one failed or was not asked. */
  readonly words: WordHits | undefined;
  readonly near: VectorHits | undefined;
  readonly arms: readonly Arm[];
  readonly kinds: ReadonlyMap<string, RowKind>;
  /** Pieces of long observations that were found. */
  readonly chunks: VectorHits["chunks"];
  readonly mentions: readonly Mention[];
  /** Rows of the entities that the question names. */
  readonly mentioned: ReadonlySet<string>;
  /** Rows that the graph adds on request. */
  readonly associated: readonly GraphRow[];
  /** Words of the question that were not searched, because it has too many. */
  readonly wordsLeftOut: number;
  /** Scores as the arms gave them. */
  readonly raw: { readonly text: readonly Hit[]; readonly cosine: readonly Hit[]; readonly bm25: readonly Hit[] };
}

const kindsOf: Readonly<Record<SearchScope, readonly RowKind[]>> = {
  all: ["observation", "entity", "error", "episode"],
  observations: ["observation"],
  entities: ["entity"],
  errors: ["error"],
};

/** The first rows that pruning must not change, for each row asked for, and at least. */
const EXACT_ROWS_PER_ROW = 2;
const LEAST_EXACT_ROWS = 20;

/** Runs the arms. */
export async function gather(run: RunLeg, g: Gathering): Promise<Gathered> {
  const { analysis, request, ablation, filters, question } = g;
  const depth = Math.max(EXACT_ROWS_PER_ROW * request.limit, FUSION_DEPTH);
  const kinds = filters.tag === undefined ? kindsOf[request.scope] : (["observation"] as const);
  const search: WordSearch = {
    analysis,
    kinds,
    filters,
    depth,
    exactRank: Math.max(EXACT_ROWS_PER_ROW * request.limit, LEAST_EXACT_ROWS, g.atLeast),
    ages: g.ages,
    coverDensity: ablation.coverDensity,
  };

  const wantsText = ablation.noText !== true;
  const byWords = async () => {
    const words = await run("words", (tx) => searchWords(tx, search));
    const texts =
      words !== undefined && (wantsText || ablation.coverDensity === true)
        ? await run("text", (tx) => scoreTexts(tx, words, search))
        : undefined;
    return { words, texts };
  };
  const byMeaning = async () => {
    if (question === undefined || !("vector" in question)) return { near: undefined, unseen: undefined };
    const { vector } = question;
    // Before the vectors are compared: one that is stored in between is then counted as missing, and never the other way round.
    const unseen = await run("unseen", (tx) => g.missingVectors.of(tx, filters, g.label));
    const near = await run("vector", (tx) =>
      searchVectors(tx, {
        vector,
        label: g.label,
        depth,
        filters,
        withEpisodes: kinds.some((kind) => kind === "episode"),
        ages: g.ages,
      }),
    );
    return { near, unseen: near === undefined ? undefined : unseen };
  };
  const [{ words, texts }, { near, unseen }] = await Promise.all([byWords(), byMeaning()]);
  const waiting = near === undefined || (unseen !== undefined && isWhole(unseen)) ? NONE : await waitingAmong(run, g, words, near);
  const mentions = await findMentions(run, g, kinds, words);
  const mentioned =
    mentions.length === 0 || !speaksForEntities(g)
      ? undefined
      : await searchNamed(run, { ...g, analysis: words?.analysis ?? analysis }, mentions, depth);
  const hasObservations = kinds.some((kind) => kind === "observation");
  const associated =
    request.associative && hasObservations
      ? ((await run("associative", (tx) => associations(tx, words?.found.entity ?? [], filters))) ?? [])
      : [];

  const third = ablation.coverDensity === true ? (texts?.coverDensity ?? []) : (words?.bm25 ?? []);
  const arms: Arm[] = [];
  if (texts !== undefined && wantsText) {
    // Ranks are compared inside a kind, scores across them.
    const lists = g.fusion === "rrf" ? [...texts.byKind.values()] : [texts.merged];
    for (const hits of lists) arms.push({ name: "text", hits, coverage: texts.coverage, beyond: texts.beyond });
  }
  if (near !== undefined) arms.push({ name: "vector", hits: near.hits, unmeasured: waiting });
  if (request.enableBm25 && words !== undefined) arms.push({ name: "bm25", hits: third, coverage: words.coverage });
  if (mentioned !== undefined) arms.push({ name: "entity", hits: mentioned });

  const ofGraph = [...(mentioned ?? []), ...associated].map(({ id }): [string, RowKind] => [id, "observation"]);
  return {
    unseen,
    waiting,
    words,
    near,
    arms,
    kinds: new Map([...ofGraph, ...(near?.kinds ?? []), ...(texts?.kinds ?? []), ...(words?.kinds ?? [])]),
    chunks: near?.chunks ?? new Map(),
    mentions,
    mentioned: new Set((mentioned ?? []).map(({ id }) => id)),
    associated,
    wordsLeftOut: words === undefined ? 0 : words.analysis.wordsAsked - words.analysis.words.length,
    raw: { text: [...(texts?.byKind.values() ?? [])].flat(), cosine: near?.hits ?? [], bm25: third },
  };
}

const NONE: Waiting = new Map();
/** Waiting rows whose words are looked at, the best by words first; the others have no share. */
const WAITING_READ = 30;

/** Rows of the lists that have no vector of the running model yet, or a piece without one. */
async function waitingAmong(run: RunLeg, g: Gathering, words: WordHits | undefined, near: VectorHits): Promise<Waiting> {
  const ids = new Set([...(words?.found.observation ?? []), ...(words?.found.episode ?? []), ...near.hits.map(({ id }) => id)]);
  if (ids.size === 0) return NONE;
  const found = await run("unseen", async (tx) => {
    const late = new Set((await tx.all(waitingOf({ ids: [...ids], label: g.label }))).map(({ id }) => id));
    const waiting = [...ids].filter((id) => late.has(id));
    const shares = words === undefined ? NONE : await wordShares(tx, words, waiting.slice(0, WAITING_READ));
    return new Map(waiting.map((id) => [id, shares.get(id) ?? 0]));
  });
  return found ?? NONE;
}

const speaksForEntities = ({ entityLeg, analysis }: Gathering) => entityLeg && analysis.class === "factoid";

/** The entities that the question names, where a leg asks for them. */
async function findMentions(
  run: RunLeg,
  g: Gathering,
  kinds: readonly RowKind[],
  words: WordHits | undefined,
): Promise<readonly Mention[]> {
  const isAsked = speaksForEntities(g) || g.analysis.class === "multi_hop";
  if (!isAsked || words === undefined || !kinds.includes("observation")) return [];
  return (await run("entity", (tx) => g.mentionCache.find(tx, g.request.query, g.filters, words.namesVersion))) ?? [];
}

const searchNamed = (run: RunLeg, { analysis, request, filters }: Gathering, mentions: readonly Mention[], depth: number) =>
  run("entity", (tx) => searchMentioned(tx, { mentions, analysis, limit: Math.min(depth, 2 * request.limit), filters }));
