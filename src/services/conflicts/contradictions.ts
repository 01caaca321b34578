/** Memories of one entity that may deny each other (`tools-cognition.md` §11): a heuristic that reads and judges nothing. */
import { negationDiffers } from "../../domain/negation.ts";
import type { CallContext } from "../../kernel/context.ts";
import type { Database, Tx } from "../../store/port.ts";
import { comparableCount, mostComparable, type ObservationPair, observationPairs } from "../../store/queries/conflicts.ts";
import { findEntity } from "../entities/resolve.ts";

export interface Contradiction {
  readonly entity: string;
  readonly a: { readonly id: string; readonly content: string };
  readonly b: { readonly id: string; readonly content: string };
  readonly cosine: number;
  readonly hasNegation: boolean;
  /** 0–1 */
  readonly score: number;
  /** What a judge once said of the two texts as they stand. */
  readonly verdict: { readonly verdict: string; readonly confidence: number } | undefined;
}

export interface ContradictionScan {
  /** Canonical name of the entity; undefined for the scan over all. */
  readonly entity: string | undefined;
  /** Most likely first. */
  readonly found: readonly Contradiction[];
  /** One of them has no verdict yet: a judge could decide it. */
  readonly hasUnjudged: boolean;
  /** Why nothing could be compared. */
  readonly note: string | undefined;
}

export interface Contradictions {
  /** @param minScore undefined shows pairs with a negation or a verdict against them; a number shows every pair from there on. */
  scan(
    ctx: CallContext,
    wanted: { readonly entity: string | undefined; readonly minScore: number | undefined },
  ): Promise<ContradictionScan>;
}

/** Above it is a duplicate, below another subject. */
const BAND = { low: 0.3, high: 0.85 };
const DEFAULT_SCORE = 0.5;
const WITH_NEGATION = 1.5;
const WITHOUT = 0.7;
/** Newest observations that are compared: of one entity, and of each in a scan over all. */
const NEWEST = { one: 500, all: 100 };
const MOST_ENTITIES = 20;
const PAIRS_PER_ENTITY = 5;
const MOST_FOUND = 20;
/** Pairs read; the heuristic looks at their words. */
const MOST_PAIRS = 20_000;

/** clamp(cosine × 1.5) with a negation in one of the two texts, cosine × 0.7 without. .60 and a negation → .90; .70 without → .49. */
export const contradictionScore = (cosine: number, hasNegation: boolean): number =>
  Math.min(1, Math.max(0, cosine * (hasNegation ? WITH_NEGATION : WITHOUT)));

export function createContradictions({
  db,
  embedder,
}: {
  readonly db: Database;
  readonly embedder: { readonly label: string };
}): Contradictions {
  const { label } = embedder;
  const pairsOf = (tx: Tx, ctx: CallContext, entityIds: readonly string[], newest: number) =>
    tx.all(observationPairs({ entityIds, label, scope: ctx.scope, ...BAND, near: BAND.high, newest, limit: MOST_PAIRS }));

  return {
    scan: (ctx, { entity, minScore }) =>
      db.read(ctx, async (tx) => {
        const known = entity === undefined ? undefined : await findEntity(tx, entity, ctx.scope);
        if (entity !== undefined && known === undefined) {
          return { ...NOTHING, entity, note: `Entity '${entity}' is not known here. cuba_faro scope=entities finds names.` };
        }
        const subjects = known === undefined ? await tx.all(mostComparable({ label, scope: ctx.scope, limit: MOST_ENTITIES })) : [known];
        const nameOf = new Map(subjects.map(({ id, name }) => [id, name]));
        const pairs = await pairsOf(tx, ctx, [...nameOf.keys()], known === undefined ? NEWEST.all : NEWEST.one);
        const likely = pairs
          .map((pair) => asContradiction(pair, nameOf.get(pair.entityId) ?? ""))
          .filter((each) => isShown(each, minScore))
          .sort((x, y) => y.score - x.score || (x.a.id < y.a.id ? -1 : x.a.id > y.a.id ? 1 : x.b.id < y.b.id ? -1 : 1));
        const found = (known === undefined ? atMostPerEntity(likely, PAIRS_PER_ENTITY) : likely).slice(0, MOST_FOUND);
        return {
          entity: known?.name,
          found,
          hasUnjudged: found.some(({ verdict }) => verdict === undefined),
          note: found.length > 0 ? undefined : await whyNothing(tx, ctx, [...nameOf.keys()], label),
        };
      }),
  };
}

const NOTHING = { found: [], hasUnjudged: false } as const;

function asContradiction(pair: ObservationPair, entity: string): Contradiction {
  const hasNegation = negationDiffers(pair.aContent, pair.bContent);
  return {
    entity,
    a: { id: pair.a, content: pair.aContent },
    b: { id: pair.b, content: pair.bContent },
    cosine: pair.cosine,
    hasNegation,
    score: contradictionScore(pair.cosine, hasNegation),
    verdict: pair.verdict === null ? undefined : { verdict: pair.verdict, confidence: pair.confidence ?? 0 },
  };
}

/** A judge that read the two texts overrules the heuristic either way. */
function isShown({ hasNegation, score, verdict }: Contradiction, minScore: number | undefined): boolean {
  const isAgainst = verdict?.verdict === "contradicts" || verdict?.verdict === "supersedes";
  if (minScore !== undefined) return isAgainst || score >= minScore;
  return isAgainst || (verdict === undefined && hasNegation && score >= DEFAULT_SCORE);
}

function atMostPerEntity(found: readonly Contradiction[], most: number): Contradiction[] {
  const seen = new Map<string, number>();
  return found.filter(({ entity }) => {
    const count = (seen.get(entity) ?? 0) + 1;
    seen.set(entity, count);
    return count <= most;
  });
}

async function whyNothing(tx: Tx, ctx: CallContext, entityIds: readonly string[], label: string): Promise<string | undefined> {
  const count = await tx.first(comparableCount({ entityIds, label, scope: ctx.scope }));
  if (count === undefined || count.withVector >= 2) return undefined;
  return count.total < 2 && entityIds.length > 0
    ? "There are fewer than two observations to compare."
    : "No two observations have vectors of the running model, so nothing could be compared. 'memory-industry models embed' installs one; vectors follow by themselves.";
}
