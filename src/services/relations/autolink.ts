/** Relations that sessions suggest: proposed for `link`, stored by the consolidation cycle or by a person. Changes no relation that is there. */
import { type Cooccurrence, createAppearances, LINK_THRESHOLDS, type Thresholds } from "../../domain/graph/cooccurrence.ts";
import type { CallScope } from "../../kernel/context.ts";
import type { Database } from "../../store/port.ts";
import { insertPredicted, sessionEntities, unlinkedPairs } from "../../store/queries/cooccurrence.ts";
import { FIRST_ID, windowEnd } from "../../store/queries/windows.ts";

export interface Proposal extends Cooccurrence {
  readonly aName: string;
  readonly bName: string;
}

/** Called between two statements: lets others go first, and throws where the work was given up. */
export type Breathe = () => Promise<void>;

export interface Autolink {
  /** Pairs above the thresholds that no relation joins, the strongest first. */
  propose(ctx: CallScope, thresholds: Partial<Thresholds>, breathe?: Breathe): Promise<Proposal[]>;
  /** @returns how many relations are new; one that somebody made meanwhile is left as it is. */
  store(ctx: CallScope, proposals: readonly Proposal[], breathe?: Breathe): Promise<number>;
}

/** Sessions read in one transaction. */
const SESSIONS = 20;
/** Pairs looked up or stored in one transaction. */
const LOOKED_UP = 200;
const STORED = 20;

export function createAutolink({ db }: { readonly db: Database }): Autolink {
  const hurried: Breathe = async () => {};
  return {
    async propose(ctx, thresholds, breathe = hurried) {
      const appearances = createAppearances();
      for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
        await breathe();
        const from: string = after;
        after = await db.read(ctx, async (tx) => {
          const end = (await tx.first(windowEnd({ table: "sessions", after: from, size: SESSIONS })))?.id;
          appearances.add(await tx.all(sessionEntities({ after: from, upTo: end, scope: ctx.scope })));
          return end;
        });
      }
      const pairs = appearances.pairs({ ...LINK_THRESHOLDS, ...thresholds });
      const found: Proposal[] = [];
      for (let at = 0; at < pairs.length; at += LOOKED_UP) {
        await breathe();
        const some = pairs.slice(at, at + LOOKED_UP);
        const fresh = await db.read(ctx, (tx) =>
          tx.all(unlinkedPairs({ a: some.map(({ a }) => a), b: some.map(({ b }) => b), scope: ctx.scope })),
        );
        for (const { at: ordinal, aName, bName } of fresh) {
          const pair = some[ordinal - 1];
          if (pair !== undefined) found.push({ ...pair, aName, bName });
        }
      }
      return found;
    },

    async store(ctx, proposals, breathe = hurried) {
      let made = 0;
      for (let at = 0; at < proposals.length; at += STORED) {
        await breathe();
        const some = proposals.slice(at, at + STORED);
        const rows = { a: some.map(({ a }) => a), b: some.map(({ b }) => b), strengths: some.map((pair) => pair.npmi), scope: ctx.scope };
        made += await db.write(ctx, (tx) => tx.run(insertPredicted(rows)));
      }
      return made;
    },
  };
}
