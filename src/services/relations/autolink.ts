/** Relations that sessions suggest: proposed for `link`, stored by the consolidation cycle or by a person. Changes no relation that is there. */
import { LINK_THRESHOLDS } from "../../domain/defaults.ts";
import { type Cooccurrence, createAppearances, type Thresholds } from "../../domain/graph/cooccurrence.ts";
import type { CallScope } from "../../kernel/context.ts";
import type { Steps } from "../../kernel/steps.ts";
import type { Database } from "../../store/port.ts";
import { insertPredicted, sessionEntities, unlinkedPairs } from "../../store/queries/cooccurrence.ts";
import { inSlices, inTurns, type Pace } from "../pace.ts";
import { walk } from "../walk.ts";

export interface Proposal extends Cooccurrence {
  readonly aName: string;
  readonly bName: string;
}

/** A scope, and the pace between two slices. */
export type LinkScope = CallScope & { readonly pace: Pace };

export interface Autolink {
  /** Hands over pairs above the thresholds that no relation joins, the strongest first, some at a time, until `take` answers false. */
  propose(ctx: LinkScope, thresholds: Partial<Thresholds>, take: (some: readonly Proposal[]) => Promise<boolean>): Promise<void>;
  /** All of them, in no order and in one go, some at a time. */
  each(ctx: LinkScope, thresholds: Partial<Thresholds>, take: (some: readonly Proposal[]) => Promise<void>): Promise<void>;
  /** @returns how many relations are new; one that somebody made meanwhile is left as it is. */
  store(ctx: LinkScope, proposals: readonly Proposal[]): Promise<number>;
}

/** Sessions read, pairs looked up and pairs stored in one transaction. */
const SESSIONS = { first: 10, most: 200 };
const LOOKED_UP = { first: 50, most: 1_000 };
const STORED = { first: 10, most: 100 };
/** Pairs in memory at once, some 10 MB with those that are weighed against them; for more all are gone through again from where they end. */
const PAGE_PAIRS = 50_000;

/** Goes on until so much has come up; true where the steps are at their end. */
function* until(steps: Steps<void>, enough: () => boolean): Steps<boolean> {
  while (!enough()) {
    if (steps.next().done === true) return true;
    yield;
  }
  return false;
}

/** @param pagePairs for tests, which need more than one page. */
export function createAutolink({ db, pagePairs = PAGE_PAIRS }: { readonly db: Database; readonly pagePairs?: number }): Autolink {
  const appearancesIn = async (ctx: LinkScope) => {
    const appearances = createAppearances();
    await walk(ctx, { db }, { table: "sessions", ...SESSIONS, writes: false }, async (tx, window) => {
      const seen = await tx.all(sessionEntities({ ...window, scope: ctx.scope }));
      return { committed: () => appearances.add(seen) };
    });
    return appearances;
  };

  /** Hands over those of the pairs that no relation joins, until `take` answers false. */
  const lookUp = async (ctx: LinkScope, pairs: readonly Cooccurrence[], take: (some: readonly Proposal[]) => Promise<boolean>) => {
    let wanted = true;
    let at = 0;
    await inSlices(ctx.pace, ctx.signal, LOOKED_UP, async (size) => {
      const some = pairs.slice(at, at + size);
      if (some.length === 0) return false;
      at += some.length;
      const asked = { a: some.map(({ a }) => a), b: some.map(({ b }) => b), scope: ctx.scope };
      const unlinked = await db.read(ctx, (tx) => tx.all(unlinkedPairs(asked)), { byKey: true });
      const found = unlinked.flatMap(({ at: ordinal, aName, bName }): Proposal[] => {
        const pair = some[ordinal - 1];
        return pair === undefined ? [] : [{ ...pair, aName, bName }];
      });
      if (found.length > 0) wanted = await take(found);
      return wanted && at < pairs.length;
    });
    return wanted;
  };

  return {
    async propose(ctx, given, take) {
      const appearances = await appearancesIn(ctx);
      for (let behind: Cooccurrence | undefined, more = true; more; ) {
        const page = appearances.pairs({ ...LINK_THRESHOLDS, ...given }, { behind, most: pagePairs });
        const pairs = await inTurns(ctx.pace, ctx.signal, page);
        behind = pairs.at(-1);
        more = (await lookUp(ctx, pairs, take)) && pairs.length === pagePairs;
      }
    },

    async each(ctx, given, take) {
      const appearances = await appearancesIn(ctx);
      let waiting: Cooccurrence[] = [];
      const steps = appearances.each({ ...LINK_THRESHOLDS, ...given }, (pair) => waiting.push(pair));
      const flush = async () => {
        const some = waiting;
        waiting = [];
        await lookUp(ctx, some, async (found) => {
          await take(found);
          return true;
        });
      };
      for (let done = false; !done; ) {
        done = await inTurns(
          ctx.pace,
          ctx.signal,
          until(steps, () => waiting.length >= LOOKED_UP.most),
        );
        await flush();
      }
    },

    async store(ctx, proposals) {
      let made = 0;
      let at = 0;
      await inSlices(ctx.pace, ctx.signal, STORED, async (size) => {
        const some = proposals.slice(at, at + size);
        if (some.length === 0) return false;
        at += some.length;
        const rows = { a: some.map(({ a }) => a), b: some.map(({ b }) => b), strengths: some.map((pair) => pair.npmi), scope: ctx.scope };
        made += await db.write(ctx, (tx) => tx.run(insertPredicted(rows)), { byKey: true });
        return at < proposals.length;
      });
      return made;
    },
  };
}
