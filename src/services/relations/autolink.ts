/** Relations that sessions suggest: proposed for `link`, stored by the consolidation cycle or by a person. Changes no relation that is there. */
import { LINK_THRESHOLDS } from "../../domain/defaults.ts";
import { type Cooccurrence, createAppearances, type Thresholds } from "../../domain/graph/cooccurrence.ts";
import type { CallScope } from "../../kernel/context.ts";
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

export interface LinkRequest extends Partial<Thresholds> {
  /** Ends the search after so many, the strongest ones; without it all are found. */
  readonly most?: number;
}

export interface Autolink {
  /** Pairs above the thresholds that no relation joins, the strongest first. */
  propose(ctx: LinkScope, request: LinkRequest): Promise<Proposal[]>;
  /** @returns how many relations are new; one that somebody made meanwhile is left as it is. */
  store(ctx: LinkScope, proposals: readonly Proposal[]): Promise<number>;
}

/** Sessions read, pairs looked up and pairs stored in one transaction. */
const SESSIONS = { first: 10, most: 200 };
const LOOKED_UP = { first: 50, most: 1_000 };
const STORED = { first: 10, most: 100 };

export function createAutolink({ db }: { readonly db: Database }): Autolink {
  return {
    async propose(ctx, { most = Number.POSITIVE_INFINITY, ...thresholds }) {
      const { pace, signal, scope } = ctx;
      const appearances = createAppearances();
      await walk(ctx, { db }, { table: "sessions", ...SESSIONS, writes: false }, async (tx, window) => {
        const seen = await tx.all(sessionEntities({ ...window, scope }));
        return { committed: () => appearances.add(seen) };
      });
      const pairs = await inTurns(pace, signal, appearances.pairs({ ...LINK_THRESHOLDS, ...thresholds }));
      const found: Proposal[] = [];
      let at = 0;
      await inSlices(pace, signal, LOOKED_UP, async (size) => {
        const some = pairs.slice(at, at + size);
        if (some.length === 0) return false;
        at += some.length;
        const asked = { a: some.map(({ a }) => a), b: some.map(({ b }) => b), scope };
        for (const { at: ordinal, aName, bName } of await db.read(ctx, (tx) => tx.all(unlinkedPairs(asked)), { byKey: true })) {
          const pair = some[ordinal - 1];
          if (pair !== undefined) found.push({ ...pair, aName, bName });
        }
        return at < pairs.length && found.length < most;
      });
      return found.length > most ? found.slice(0, most) : found;
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
