/**
 * What happens when an entity has more observations than anybody reads (`tools-graph.md` §3.15): faded rows are retired with the write
 * that went over the limit, pairs of the same text afterwards. Hidden, never deleted.
 */

import { trigramSimilarity } from "../../domain/trigrams.ts";
import { isAtLeastAsTrusted } from "../../domain/trust.ts";
import type { CallContext, Scope } from "../../kernel/context.ts";
import type { Database, RowOf, Tx } from "../../store/port.ts";
import { COUNTED_ROWS, countLive, retireFaded, retireFor, sameMarkRows } from "../../store/queries/observations.ts";
import type { Background } from "../background.ts";
import { addsNothing } from "../duplicates/gate.ts";
import type { FactMirror } from "../facts.ts";

/** Live observations that an entity may have before the consolidation looks at it. */
export const OVERLOAD_ROWS = 50;
/** Pairs retired in one go, and how similar they must be besides having the same words. */
const MAX_PAIRS = 10;
const PAIR_SIMILARITY = 0.9;
/** Rows looked at for pairs. */
const PAIR_ROWS = 200;
/** Entities whose writes are counted since their pairs were last looked for. */
const REMEMBERED_ENTITIES = 1_000;

/** An entity over the limit after a write. */
export interface Overload {
  readonly entityId: string;
  /** Live rows left, counted up to 100; `atLeast` where there are more. */
  readonly live: number;
  readonly atLeast: boolean;
  /** Rows retired by this write. */
  readonly retired: number;
}

export interface Overloads {
  /** Retires faded rows of those of these entities that are over the limit, in the transaction of the write. Call it once an entity, after the inserts. */
  check(tx: Tx, ctx: CallContext, entityIds: readonly string[]): Promise<Overload[]>;
  /** Looks for pairs of the same text in these entities, after the commit and behind the answer. */
  afterwards(ctx: CallContext, overloads: readonly Overload[]): void;
}

type PairRow = RowOf<typeof sameMarkRows>;
const isKept = (row: PairRow) => row.observationType === "decision" || row.observationType === "lesson";

/** Which of two rows of one text stays: what may not be retired, then the more trusted, the more important, the newer. */
export function keeperOf(a: PairRow, b: PairRow): { readonly keeper: PairRow; readonly loser: PairRow } {
  const order =
    Number(isKept(b)) - Number(isKept(a)) ||
    Number(b.trust === "trusted") - Number(a.trust === "trusted") ||
    b.importance - a.importance ||
    (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : a.id < b.id ? 1 : -1);
  return order <= 0 ? { keeper: a, loser: b } : { keeper: b, loser: a };
}

/** Pairs of the same text among rows, each loser once. */
export function repeatedPairs(rows: readonly PairRow[]): { readonly keeper: PairRow; readonly loser: PairRow }[] {
  const gone = new Set<string>();
  const pairs: { keeper: PairRow; loser: PairRow }[] = [];
  for (const [at, a] of rows.entries())
    for (const b of rows.slice(at + 1)) {
      if (pairs.length === MAX_PAIRS) return pairs;
      if (gone.has(a.id) || gone.has(b.id) || a.projectId !== b.projectId || !addsNothing(a.content, b.content)) continue;
      if (trigramSimilarity(a.content, b.content) <= PAIR_SIMILARITY) continue;
      const { keeper, loser } = keeperOf(a, b);
      if (isKept(loser) || !isAtLeastAsTrusted(keeper.trust, loser.trust)) continue;
      gone.add(loser.id);
      pairs.push({ keeper, loser });
    }
  return pairs;
}

export function createOverloads({ db, facts, background }: { db: Database; facts: FactMirror; background: Background }): Overloads {
  /** Writes to an overloaded entity since its pairs were looked for, and how many the next look waits for; doubling keeps the sum linear. */
  const looks = new Map<string, { since: number; wait: number }>();

  const isDue = (entityId: string): boolean => {
    const look = looks.get(entityId) ?? { since: 0, wait: 1 };
    look.since++;
    const due = look.since >= look.wait;
    looks.delete(entityId);
    looks.set(entityId, due ? { since: 0, wait: look.wait * 2 } : look);
    const oldest = looks.size > REMEMBERED_ENTITIES ? looks.keys().next().value : undefined;
    if (oldest !== undefined) looks.delete(oldest);
    return due;
  };

  const consolidate = async (scope: Scope, entityId: string) => {
    const ctx = { principal: { kind: "system", id: "consolidation" }, scope, signal: new AbortController().signal } as const;
    const rows = await db.read(ctx, (tx) => tx.all(sameMarkRows({ entityId, scope, groups: MAX_PAIRS, limit: PAIR_ROWS })));
    const pairs = repeatedPairs(rows);
    if (pairs.length === 0) return;
    await db.write(ctx, async (tx) => {
      for (const { keeper, loser } of pairs) {
        const retired = await tx.run(retireFor({ id: loser.id, content: loser.content, keeper: keeper.id, keeperContent: keeper.content }));
        if (retired > 0) await facts.close(tx, [loser.id], "superseded", keeper.id);
      }
    });
  };

  return {
    async check(tx, ctx, entityIds) {
      if (entityIds.length === 0) return [];
      const counts = await tx.all(countLive({ entityIds, scope: ctx.scope }));
      const over = counts.filter((count) => count.live > OVERLOAD_ROWS);
      if (over.length === 0) return [];
      const retired = await tx.all(retireFaded({ entityIds: over.map((count) => count.entityId), scope: ctx.scope }));
      await facts.close(
        tx,
        retired.map((row) => row.id),
        "superseded",
      );
      return over.map(({ entityId, live }) => {
        const gone = retired.filter((row) => row.entityId === entityId).length;
        const atLeast = live === COUNTED_ROWS;
        return { entityId, live: atLeast ? COUNTED_ROWS - 1 : live - gone, atLeast, retired: gone };
      });
    },
    afterwards(ctx, overloads) {
      for (const { entityId } of overloads)
        if (isDue(entityId)) background.run("overload consolidation", () => consolidate(ctx.scope, entityId));
    },
  };
}
