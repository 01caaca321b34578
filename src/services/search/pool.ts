/** From fused ids to rows: reading them without repetitions, lifting what the session is about, choosing what is answered. */
import { diversityWords, jaccard, pickDiverse, withoutRepetitions } from "../../domain/retrieval/diversity.ts";
import type { FusedRow } from "../../domain/retrieval/fusion.ts";
import { byId, type Hit } from "../../domain/retrieval/hits.ts";
import { sessionBoost } from "../../domain/retrieval/session-boost.ts";
import { byAge } from "../../domain/retrieval/ties.ts";
import type { Tx } from "../../store/port.ts";
import { type Filters, kindOf, rowKinds } from "../../store/queries/search-filters.ts";
import { chunkTexts, type FoundRow, foundRows } from "../../store/queries/search-rows.ts";
import type { Ages } from "./ages.ts";
import type { Gathered } from "./gather.ts";
import type { Found, HybridRequest } from "./request.ts";

/** Rows looked at for each row that is diversified over, and where a session may lift one from behind. */
const DIVERSIFY_POOL = 5;
const SESSION_POOL = 2;
/** Rows read beyond the pool, so that a repetition dropped from it costs no second round. */
const SPARE_ROWS = 5;

/** Rows of the pool. */
export const poolSize = ({ limit, diversify }: HybridRequest, hasSession: boolean): number =>
  limit * (diversify ? DIVERSIFY_POOL : hasSession ? SESSION_POOL : 1);

const noShares = { text: 0, vector: 0, bm25: 0, entity: 0 } as const;

/** The fused rows and, with their small scores, those that only the graph brought. */
export function withAssociated(fused: readonly FusedRow[], { associated }: Gathered): FusedRow[] {
  const known = new Set(fused.map(({ id }) => id));
  const added = associated
    .filter(({ id }) => !known.has(id))
    .map(({ id, score }): FusedRow => ({ id, fusedScore: score, shares: noShares }));
  return added.length === 0 ? [...fused] : [...fused, ...added].sort((a, b) => b.fusedScore - a.fusedScore || byId(a, b));
}

/** Fused rows with equal scores: the newest first. */
export async function newestFirst(tx: Tx, fused: readonly FusedRow[], { kinds }: Gathered, ages: Ages): Promise<FusedRow[]> {
  const rows = new Map(fused.map((row) => [row.id, row]));
  const hits = fused.map(({ id, fusedScore }): Hit => ({ id, score: fusedScore }));
  const [ordered = []] = await ages.first(tx, [{ kindOf: (id) => kinds.get(id) ?? "observation", hits }], fused.length);
  return ordered.flatMap(({ id }) => rows.get(id) ?? []);
}

const asMap = (hits: readonly Hit[]) => new Map(hits.map(({ id, score }) => [id, score]));

/** Reads rows in fused order until the pool is full, without repetitions. */
export async function readPool(tx: Tx, fused: readonly FusedRow[], gathered: Gathered, filters: Filters, pool: number): Promise<Found[]> {
  let kept: Found[] = [];
  const raw = { text: asMap(gathered.raw.text), cosine: asMap(gathered.raw.cosine), bm25: asMap(gathered.raw.bm25) };
  const associated = new Set(gathered.associated.map(({ id }) => id));
  for (let at = 0; kept.length < pool && at < fused.length; ) {
    const batch = fused.slice(at, at + pool - kept.length + SPARE_ROWS);
    at += batch.length;
    const ids = Object.fromEntries(
      rowKinds.map((kind) => [kind, batch.flatMap(({ id }) => ((gathered.kinds.get(id) ?? "observation") === kind ? [id] : []))]),
    );
    const rows = new Map((await tx.all(foundRows({ ids, filters }))).map((row) => [row.id, row]));
    const pieces = await readChunks(tx, batch, gathered.chunks);
    const found = batch.flatMap((each): Found[] => {
      const row = rows.get(each.id);
      if (row === undefined) return [];
      const armless = each.shares === noShares && associated.has(each.id);
      return [{ ...toFound(row, each, raw, pieces.get(each.id)), entityFactoid: gathered.mentioned.has(each.id), associative: armless }];
    });
    kept = withoutRepetitions([...kept, ...found], ({ row }) => ({ content: row.content ?? undefined, entity: row.entity ?? undefined }));
  }
  return kept.slice(0, pool);
}

/** Those of the rows that stand as they were read, and may still be seen: a model took its time over them. */
export async function stillStanding(tx: Tx, found: readonly Found[], filters: Filters): Promise<Found[]> {
  const ids = Object.fromEntries(rowKinds.map((kind) => [kind, found.flatMap((each) => (each.kind === kind ? [each.row.id] : []))]));
  const now = new Map((await tx.all(foundRows({ ids, filters }))).map((row) => [row.id, row]));
  return found.flatMap((each) => {
    const row = now.get(each.row.id);
    return row?.content === each.row.content && row.solution === each.row.solution ? [{ ...each, row }] : [];
  });
}

/** Reads rows that no arm found, with scores of their own. */
export async function readExtras(tx: Tx, rows: readonly Hit[], filters: Filters): Promise<Found[]> {
  if (rows.length === 0) return [];
  const found = new Map((await tx.all(foundRows({ ids: { observation: rows.map(({ id }) => id) }, filters }))).map((row) => [row.id, row]));
  const none = { text: new Map(), cosine: new Map(), bm25: new Map() };
  return rows.flatMap(({ id, score }): Found[] => {
    const row = found.get(id);
    return row === undefined ? [] : [{ ...toFound(row, { id, fusedScore: score, shares: noShares }, none, undefined), pprExpanded: true }];
  });
}

async function readChunks(tx: Tx, batch: readonly FusedRow[], chunks: Gathered["chunks"]): Promise<ReadonlyMap<string, string>> {
  const wanted = batch.flatMap(({ id }) => {
    const index = chunks.get(id);
    return index === undefined ? [] : [{ id, index }];
  });
  if (wanted.length === 0) return new Map();
  const rows = await tx.all(chunkTexts({ ids: wanted.map(({ id }) => id), indices: wanted.map(({ index }) => index) }));
  return new Map(rows.map(({ id, content }) => [id, content]));
}

type RawScores = Readonly<Record<"text" | "cosine" | "bm25", ReadonlyMap<string, number>>>;

function toFound(row: FoundRow, { fusedScore, shares }: FusedRow, raw: RawScores, chunk: string | undefined): Found {
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
    entityFactoid: false,
    associative: false,
    pprExpanded: false,
  };
}

/** Rows that a session's texts are about, lifted. @param texts goals and notes; without any nothing changes. */
export function boostBySession(rows: readonly Found[], texts: readonly string[]): Found[] {
  const boost = sessionBoost(texts);
  return rows.map((found) => {
    const factor = boost({ entity: found.row.entity ?? undefined, content: found.row.content ?? undefined });
    return factor > 1 ? { ...found, total: found.total * factor, sessionBoosted: true } : found;
  });
}

/** The rows of the answer: diversified on request, else the first ones. */
export function chooseRows(rows: readonly Found[], request: HybridRequest): Found[] {
  const ordered = [...rows].sort((a, b) => b.total - a.total || byAge(a.row, b.row));
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
