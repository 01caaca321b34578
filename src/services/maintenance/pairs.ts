/** Finding and merging observations that say the same (`tools-maintenance.md` §5.3, §5.5). */
import { sameWords } from "../../domain/same-words.ts";
import { mergedImportance } from "../../domain/strength/reinforcement.ts";
import { isAtLeastAsTrusted } from "../../domain/trust.ts";
import type { CallContext } from "../../kernel/context.ts";
import { ANSWER_RESERVE_MS } from "../../kernel/deadline.ts";
import type { Database } from "../../store/port.ts";
import {
  entityPageEnd,
  type Mergeable,
  mergeable,
  nearPairs,
  nearPairsByMarks,
  type ObservationPair,
  pairableEntities,
  retireOne,
  saveImportance,
} from "../../store/queries/near-pairs.ts";
import { FIRST_ID } from "../../store/queries/windows.ts";
import type { FactMirror } from "../facts.ts";
import { inSlices, type PaceOfCall } from "../pace.ts";

/** Pairs merged by one call. */
const MOST_MERGED = 100;
/** Pairs weighed for it: one row may be in many. */
const MOST_WEIGHED = 1_000;
/** Pairs that a list may show, the most similar ones. */
const MOST_LISTED = 500;
/** Entities asked for at once. */
const ENTITY_PAGE = 200;
/** An entity with more live rows is not compared pair by pair: 61 rows are 1,830 pairs, some 30 ms. */
const MOST_COMPARED = 60;
/** Pairs compared in one slice. */
const SLICE = { first: 500, most: 5_000, least: 500 };

export interface Merged {
  readonly merged: number;
  /** Near pairs that differ in a word, so both stay. */
  readonly skippedDifferent: number;
  /** Pairs of the same words that the next call merges. */
  readonly left: number;
  readonly complete: boolean;
}

export interface Pairs {
  /** The most similar pairs of trusted rows, best first. `total` counts all that were found. */
  find(
    ctx: CallContext,
    above: number,
  ): Promise<{ readonly pairs: readonly ObservationPair[]; readonly total: number; readonly complete: boolean }>;
  /** Retires the one of each pair that has the same words; at most 100, the most similar first, in one transaction. */
  merge(ctx: CallContext, above: number): Promise<Merged>;
}

const isKept = (row: Mergeable) => row.observationType === "decision" || row.observationType === "lesson";

/** Rows of one text, the one that stays first: the trusted, then what is never retired for another type, then the more important, the older, the smaller id. */
const bySurvival = (a: Mergeable, b: Mergeable): number =>
  Number(b.trust === "trusted") - Number(a.trust === "trusted") ||
  Number(isKept(b)) - Number(isKept(a)) ||
  b.importance - a.importance ||
  (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : a.id < b.id ? -1 : 1);

/** Which of two rows of one text stays. */
export const survivorOf = (a: Mergeable, b: Mergeable): { readonly keeper: Mergeable; readonly loser: Mergeable } =>
  bySurvival(a, b) <= 0 ? { keeper: a, loser: b } : { keeper: b, loser: a };

const mayRetire = ({ keeper, loser }: ReturnType<typeof survivorOf>) =>
  keeper.projectId === loser.projectId &&
  isAtLeastAsTrusted(keeper.trust, loser.trust) &&
  (!isKept(loser) || keeper.observationType === loser.observationType);

export interface PairParts {
  readonly db: Database;
  readonly facts: FactMirror;
  readonly paceOf: PaceOfCall;
}

export function createPairs({ db, facts, paceOf }: PairParts): Pairs {
  /** Hands over near pairs slice by slice; false where the time was over before the last. */
  async function walk(
    ctx: CallContext,
    { above, onlyTrusted }: { readonly above: number; readonly onlyTrusted: boolean },
    take: (pairs: readonly ObservationPair[]) => void,
  ): Promise<boolean> {
    const { scope } = ctx;
    const pace = paceOf(ctx.id);
    const isOver = () => ctx.deadline.remainingMs() < ANSWER_RESERVE_MS;

    const compareSmall = async (entities: readonly { readonly id: string; readonly live: number }[]): Promise<void> => {
      let at = 0;
      await inSlices(pace, ctx.signal, SLICE, async (size) => {
        const entityIds: string[] = [];
        for (let pairs = 0; at < entities.length && (entityIds.length === 0 || pairs < size); at++) {
          const { id, live } = entities[at] ?? { id: FIRST_ID, live: 0 };
          entityIds.push(id);
          pairs += (live * (live - 1)) / 2;
        }
        if (entityIds.length > 0) take(await db.read(ctx, (tx) => tx.all(nearPairs({ entityIds, above, onlyTrusted, scope }))));
        return at < entities.length && !isOver();
      });
    };
    const compareLarge = async (entityId: string): Promise<void> => {
      let after: string | undefined = FIRST_ID;
      await inSlices(pace, ctx.signal, SLICE, async (size) => {
        // Thirty comparisons a row at most: ten neighbours by each of three marks.
        const page = { entityId, after: after ?? FIRST_ID, limit: Math.max(1, Math.ceil(size / 30)), above, onlyTrusted, scope };
        const { end, found } = await db.read(ctx, async (tx) => {
          const last = (await tx.first(entityPageEnd(page)))?.last ?? undefined;
          return { end: last, found: last === undefined ? [] : await tx.all(nearPairsByMarks(page)) };
        });
        take(found);
        after = end;
        return end !== undefined && !isOver();
      });
    };

    for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
      if (isOver()) return false;
      const from: string = after;
      const entities = await db.read(ctx, (tx) => tx.all(pairableEntities({ scope, after: from, limit: ENTITY_PAGE })));
      await compareSmall(entities.filter(({ live }) => live <= MOST_COMPARED));
      for (const { id } of entities.filter(({ live }) => live > MOST_COMPARED)) await compareLarge(id);
      after = entities.length < ENTITY_PAGE ? undefined : entities.at(-1)?.id;
    }
    return !isOver();
  }

  const bestFirst = (x: ObservationPair, y: ObservationPair) => y.similarity - x.similarity || (x.a + x.b < y.a + y.b ? -1 : 1);

  return {
    async find(ctx, above) {
      let pairs: ObservationPair[] = [];
      let total = 0;
      const complete = await walk(ctx, { above, onlyTrusted: true }, (found) => {
        total += found.length;
        pairs = [...pairs, ...found].sort(bestFirst).slice(0, MOST_LISTED);
      });
      return { pairs, total, complete };
    },

    async merge(ctx, above) {
      const same: ObservationPair[] = [];
      let skippedDifferent = 0;
      const complete = await walk(ctx, { above, onlyTrusted: false }, (found) => {
        for (const pair of found)
          if (sameWords(pair.contentA, pair.contentB)) same.push(pair);
          else skippedDifferent++;
      });
      same.sort(bestFirst);
      const { merged, left } = await db.write(ctx, async (tx) => {
        const weighed = same.slice(0, MOST_WEIGHED);
        const ids = [...new Set(weighed.flatMap(({ a, b }) => [a, b]))];
        const rows = new Map((await tx.all(mergeable({ ids, scope: ctx.scope }))).map((row) => [row.id, row]));
        /** The strongest keeper first, so that of many rows of one text all the others are retired for that one, not for each other. */
        const choices = weighed
          .flatMap(({ a, b, contentA, contentB }) => {
            const [first, second] = [rows.get(a), rows.get(b)];
            // Gone, or changed since it was compared.
            if (first?.content !== contentA || second?.content !== contentB) return [];
            const choice = survivorOf(first, second);
            return mayRetire(choice) ? [choice] : [];
          })
          .sort((x, y) => bySurvival(x.keeper, y.keeper));
        let done = 0;
        let later = same.length - weighed.length;
        for (const choice of choices) {
          const [keeper, loser] = [rows.get(choice.keeper.id), rows.get(choice.loser.id)];
          if (keeper === undefined || loser === undefined) continue;
          if (done === MOST_MERGED) {
            later++;
            continue;
          }
          await tx.run(retireOne({ id: loser.id, keeper: keeper.id }));
          await facts.close(tx, [loser.id], "superseded", keeper.id);
          rows.delete(loser.id);
          rows.set(keeper.id, { ...keeper, importance: mergedImportance(keeper.importance) });
          await tx.run(saveImportance({ id: keeper.id, importance: mergedImportance(keeper.importance) }));
          done++;
        }
        return { merged: done, left: later };
      });
      return { merged, skippedDifferent, left, complete };
    },
  };
}
