/**
 * `cuba_faro` (`retrieval.md` §2): question → arms → fusion → rows. Reads in one transaction; what a question needs of the model is
 * computed before it, what is remembered about the answer is written after it.
 */
import { diversityWords, jaccard, pickDiverse, withoutRepetitions } from "../../domain/retrieval/diversity.ts";
import { type Arm, FUSION_DEPTH, type FusedRow, type FusionMode, fuse } from "../../domain/retrieval/fusion.ts";
import { byId, type Hit } from "../../domain/retrieval/hits.ts";
import { sessionBoost } from "../../domain/retrieval/session-boost.ts";
import type { Embedder } from "../../inference/port.ts";
import type { CallContext } from "../../kernel/context.ts";
import { causeChain, present } from "../../kernel/errors.ts";
import type { Database, Tx } from "../../store/port.ts";
import { sessionTexts } from "../../store/queries/search-context.ts";
import { type Filters, kindOf, type RowKind, rowKinds } from "../../store/queries/search-filters.ts";
import { chunkTexts, type FoundRow, foundRows, recordAccess } from "../../store/queries/search-rows.ts";
import { type Analysis, analyse } from "./analyse.ts";
import { createMentionCache, type Mention, type MentionCache, searchMentioned } from "./arms/mentions.ts";
import { CHECK, embedQuestion, type QuestionVector, searchVectors, type VectorHits } from "./arms/vector.ts";
import { scoreTexts, searchWords, type WordSearch } from "./arms/words.ts";
import { neighboursAround, peerNotices, writtenAfter } from "./context.ts";
import { type FailedLeg, type RunLeg, runLegs } from "./legs.ts";
import type { Ablation, Degradation, Found, HybridAnswer, HybridRequest, SearchScope } from "./request.ts";

export interface Search {
  /** @throws MemoryError where the database does not answer at all; everything less is in `degraded`. */
  hybrid(ctx: CallContext, request: HybridRequest, ablation?: Ablation): Promise<HybridAnswer>;
  /** Waits until what earlier answers were used for is written down. */
  settled(): Promise<void>;
}

export interface SearchParts {
  readonly db: Database;
  readonly embedder: Embedder;
  readonly fusion: FusionMode;
  /** The leg that brings observations of the entities a question names (`MEMORY_INDUSTRY_ENTITY_FACTOID`). */
  readonly entityLeg: boolean;
}

const kindsOf: Readonly<Record<SearchScope, readonly RowKind[]>> = {
  all: ["observation", "entity", "error", "episode"],
  observations: ["observation"],
  entities: ["entity"],
  errors: ["error"],
};
/** Scopes in which something has vectors. */
const hasVectors = (scope: SearchScope) => scope === "all" || scope === "observations";

/** Rows looked at for each row that is diversified over, and where a session may lift one from behind. */
const DIVERSIFY_POOL = 5;
const SESSION_POOL = 2;
/** Rows read beyond the pool, so that a repetition dropped from it costs no second round. */
const SPARE_ROWS = 5;
/** Notes of a session that say what it is about. */
const SESSION_NOTES = 20;

interface Gathered {
  readonly arms: readonly Arm[];
  readonly kinds: ReadonlyMap<string, RowKind>;
  readonly chunks: VectorHits["chunks"];
  readonly mentioned: ReadonlySet<string>;
  readonly raw: { readonly text: readonly Hit[]; readonly cosine: readonly Hit[]; readonly bm25: readonly Hit[] };
}

const NO_RERANKER =
  "The order is that of the fused arms: no reranker is installed, so none was applied. 'memory-industry models rerank' installs one.";

export function createSearch({ db, embedder, fusion, entityLeg }: SearchParts): Search {
  const mentionCache = createMentionCache();
  const writing = new Set<Promise<void>>();

  /** The testing effect, after the answer. A failure costs nobody an answer. */
  const reinforce = (ctx: CallContext, found: readonly Found[]) => {
    const ids = found.filter(({ kind }) => kind === "observation").map(({ row }) => row.id);
    if (ids.length === 0) return;
    const scope = { principal: ctx.principal, scope: ctx.scope, signal: new AbortController().signal };
    const written = db
      .write(scope, async (tx) => {
        await tx.run(recordAccess(ids));
      })
      .catch((cause: unknown) => ctx.log.warn("an access could not be recorded", { cause: causeChain(cause) }))
      .finally(() => writing.delete(written));
    writing.add(written);
  };

  return {
    async hybrid(ctx, request, ablation = {}) {
      const analysis = analyse(request.query);
      const wantsVector = hasVectors(request.scope) && ablation.noVector !== true;
      const question: QuestionVector | undefined = wantsVector ? await embedQuestion(ctx, embedder, request.query) : undefined;
      const filters: Filters = {
        scope: ctx.scope,
        includeUnscoped: request.includeUnscoped,
        after: request.after,
        before: request.before,
        tag: request.tag,
      };
      const { value, failed } = await runLegs(db, ctx, async (run, tx) => {
        const gathered = await gather(run, {
          analysis,
          request,
          ablation,
          filters,
          question,
          label: embedder.label,
          mentionCache,
          entityLeg,
        });
        const fused = fuse(fusion, gathered.arms, analysis.weights);
        const texts =
          ctx.session === undefined
            ? []
            : ((await run("session", (t) => t.all(sessionTexts({ sessionId: ctx.session?.id ?? "", notes: SESSION_NOTES })))) ?? []);
        const boost = sessionBoost(texts.map(({ text }) => text));
        const pool = request.limit * (request.diversify ? DIVERSIFY_POOL : texts.length > 0 ? SESSION_POOL : 1);
        const rows = await readPool(tx, fused, gathered, filters, pool);
        const found = select(
          rows.map((row) => boosted(row, boost)),
          request,
        );
        const neighbours = (await run("neighbours", (t) => neighboursAround(t, found, filters))) ?? [];
        const peers = (await run("peers", peerNotices)) ?? [];
        return { found, neighbours, peers };
      });
      if (request.trackAccess) reinforce(ctx, value.found);
      for (const { leg, cause } of failed) ctx.log.warn("a part of a search failed", { leg, cause: causeChain(cause) });
      return {
        queryClass: analysis.class,
        ...value,
        connections: undefined,
        newSinceStart: ctx.session === undefined ? undefined : writtenAfter(value.found, ctx.session.startedAt),
        degraded: degradation(failed, question, request),
        gate: request.abstainOod ? gateState(question) : undefined,
      };
    },
    settled: async () => {
      await Promise.all(writing);
    },
  };
}

interface Gathering {
  readonly analysis: Analysis;
  readonly request: HybridRequest;
  readonly ablation: Ablation;
  readonly filters: Filters;
  readonly question: QuestionVector | undefined;
  readonly label: string;
  readonly mentionCache: MentionCache;
  readonly entityLeg: boolean;
}

/** Runs the arms. */
async function gather(run: RunLeg, g: Gathering): Promise<Gathered> {
  const { analysis, request, ablation, filters, question } = g;
  const depth = Math.max(2 * request.limit, FUSION_DEPTH);
  const kinds: readonly RowKind[] = filters.tag === undefined ? kindsOf[request.scope] : ["observation"];
  const search: WordSearch = { analysis, kinds, filters, depth, exactRank: Math.max(2 * request.limit, 20) };
  const arms: Arm[] = [];
  const kindOfId = new Map<string, RowKind>();

  const words = await run("words", (tx) => searchWords(tx, search));
  if (words !== undefined) for (const [id, kind] of words.kinds) kindOfId.set(id, kind);
  const wantsText = ablation.noText !== true;
  const texts =
    words !== undefined && (wantsText || ablation.coverDensity === true)
      ? await run("text", (tx) => scoreTexts(tx, words, search))
      : undefined;
  const coverage = words?.coverage ?? 0;
  if (texts !== undefined && wantsText) arms.push({ name: "text", hits: texts.hits, coverage });

  const near =
    question !== undefined && "vector" in question
      ? await run("vector", (tx) =>
          searchVectors(tx, { vector: question.vector, label: g.label, depth, filters, withEpisodes: kinds.includes("episode") }),
        )
      : undefined;
  if (near !== undefined) {
    for (const [id, kind] of near.kinds) kindOfId.set(id, kind);
    arms.push({ name: "vector", hits: near.hits });
  }

  const third = ablation.coverDensity === true ? (texts?.coverDensity ?? []) : (words?.bm25 ?? []);
  if (request.enableBm25 && words !== undefined) arms.push({ name: "bm25", hits: third, coverage });

  const mentioned = await searchNamed(run, g, kinds, words?.namesVersion, depth);
  if (mentioned !== undefined) {
    for (const { id } of mentioned) kindOfId.set(id, "observation");
    arms.push({ name: "entity", hits: mentioned });
  }
  return {
    arms,
    kinds: kindOfId,
    chunks: near?.chunks ?? new Map(),
    mentioned: new Set((mentioned ?? []).map(({ id }) => id)),
    raw: { text: texts?.hits ?? [], cosine: near?.hits ?? [], bm25: third },
  };
}

/** The entity leg; undefined where it does not apply. */
async function searchNamed(
  run: RunLeg,
  { entityLeg, analysis, filters, mentionCache, request }: Gathering,
  kinds: readonly RowKind[],
  namesVersion: number | undefined,
  depth: number,
): Promise<readonly Hit[] | undefined> {
  if (!entityLeg || analysis.class !== "factoid" || !kinds.includes("observation") || namesVersion === undefined) return undefined;
  return run("entity", async (tx) => {
    const mentions: readonly Mention[] = await mentionCache.find(tx, request.query, filters, namesVersion);
    return mentions.length === 0 ? [] : searchMentioned(tx, { mentions, analysis, limit: Math.min(depth, 2 * request.limit), filters });
  });
}

/** Reads rows in fused order until the pool is full, without repetitions. */
async function readPool(tx: Tx, fused: readonly FusedRow[], gathered: Gathered, filters: Filters, pool: number): Promise<Found[]> {
  let kept: Found[] = [];
  let at = 0;
  const scores = (hits: readonly Hit[]) => new Map(hits.map(({ id, score }) => [id, score]));
  const raw = { text: scores(gathered.raw.text), cosine: scores(gathered.raw.cosine), bm25: scores(gathered.raw.bm25) };
  while (kept.length < pool && at < fused.length) {
    const batch = fused.slice(at, at + pool - kept.length + SPARE_ROWS);
    at += batch.length;
    const ids = Object.fromEntries(
      rowKinds.map((kind) => [kind, batch.flatMap(({ id }) => ((gathered.kinds.get(id) ?? "observation") === kind ? [id] : []))]),
    );
    const rows = new Map((await tx.all(foundRows({ ids, filters }))).map((row) => [row.id, row]));
    const pieces = await readChunks(tx, batch, gathered.chunks);
    const found = batch.flatMap((each): Found[] => {
      const row = rows.get(each.id);
      return row === undefined ? [] : [toFound(row, each, gathered, raw, pieces.get(each.id))];
    });
    kept = withoutRepetitions([...kept, ...found], ({ row }) => ({ content: row.content ?? undefined, entity: row.entity ?? undefined }));
  }
  return kept.slice(0, pool);
}

async function readChunks(tx: Tx, batch: readonly FusedRow[], chunks: VectorHits["chunks"]): Promise<ReadonlyMap<string, string>> {
  const wanted = batch.flatMap(({ id }) => {
    const index = chunks.get(id);
    return index === undefined ? [] : [{ id, index }];
  });
  if (wanted.length === 0) return new Map();
  const rows = await tx.all(chunkTexts({ ids: wanted.map(({ id }) => id), indices: wanted.map(({ index }) => index) }));
  return new Map(rows.map(({ id, content }) => [id, content]));
}

type RawScores = Readonly<Record<"text" | "cosine" | "bm25", ReadonlyMap<string, number>>>;

function toFound(row: FoundRow, { fusedScore, shares }: FusedRow, gathered: Gathered, raw: RawScores, chunk: string | undefined): Found {
  const [text, cosine, bm25] = [raw.text.get(row.id), raw.cosine.get(row.id), raw.bm25.get(row.id)];
  return {
    kind: kindOf(row.kind),
    row,
    total: fusedScore,
    fusedScore,
    shares,
    raw: { ...(text === undefined ? {} : { text }), ...(cosine === undefined ? {} : { cosine }), ...(bm25 === undefined ? {} : { bm25 }) },
    ...(chunk === undefined ? {} : { chunk }),
    sessionBoosted: false,
    entityFactoid: gathered.mentioned.has(row.id),
    associative: false,
    pprExpanded: false,
  };
}

function boosted(found: Found, boost: ReturnType<typeof sessionBoost>): Found {
  const factor = boost({ entity: found.row.entity ?? undefined, content: found.row.content ?? undefined });
  return factor > 1 ? { ...found, total: found.total * factor, sessionBoosted: true } : found;
}

/** The rows of the answer: diversified on request, else the first ones. */
function select(rows: readonly Found[], request: HybridRequest): Found[] {
  const ordered = [...rows].sort((a, b) => b.total - a.total || byId(a.row, b.row));
  if (!request.diversify || ordered.length < 2) return ordered.slice(0, request.limit);
  const words = ordered.map(({ row }) => diversityWords(row.content ?? row.entity ?? ""));
  const none = new Set<string>();
  const similarity = (a: number, b: number) => jaccard(words[a] ?? none, words[b] ?? none);
  const picked = pickDiverse(
    ordered.map(({ total }) => total),
    similarity,
    request.mmrLambda,
    request.limit,
  );
  return picked.flatMap((at) => ordered[at] ?? []);
}

const lostBy: Readonly<Record<string, string>> = {
  words: "Words were not searched",
  text: "Full text did not score what was found",
  vector: "Meaning was not searched",
  entity: "Memories of the entities that the question names were not looked up",
  session: "What the session is about did not lift any row",
  neighbours: "Neighbours in the graph are missing",
};

function degradation(failed: readonly FailedLeg[], question: QuestionVector | undefined, request: HybridRequest): Degradation {
  const sentence = ({ leg, cause }: FailedLeg) => `${lostBy[leg]}: ${present(cause).text} Run '${CHECK}'.`;
  const search = failed.filter(({ leg }) => leg in lostBy).map(sentence);
  if (question !== undefined && "lost" in question) search.push(question.lost);
  const words = failed.find(({ leg }) => leg === "words");
  return {
    search,
    bm25: words === undefined || !request.enableBm25 ? undefined : sentence(words),
    reranker: request.rerank === true ? { code: "no_model", reason: NO_RERANKER } : undefined,
  };
}

const gateState = (question: QuestionVector | undefined) =>
  question !== undefined && "vector" in question
    ? {
        state: "uncalibrated" as const,
        reason:
          "No threshold was measured on this memory, so nothing was refused. 'memory-industry calibrate --dataset FILE --apply' measures one.",
      }
    : {
        state: "unavailable" as const,
        reason:
          "The gate needs the question's vector, which is missing, so nothing was refused. 'memory-industry models embed' installs a model.",
      };
