/**
 * Entities that are one (`cli-daemon.md` §3.11). Two tiers: names that are one by their key, inside one project, can be merged by themselves; names that
 * only look alike are shown and never merged by a rule: `G-Codes Reference Guide` and `M-Codes Reference Guide` are 0.88 alike and two things.
 */

import { NEAR_NAMES_ABOVE } from "../../domain/defaults.ts";
import { cleanName } from "../../domain/names.ts";
import { createNearNames } from "../../domain/near-names.ts";
import type { CallScope } from "../../kernel/context.ts";
import { ambiguous, invalid, notFound } from "../../kernel/errors.ts";
import type { Database } from "../../store/port.ts";
import { asBuilder } from "../../store/queries/code-builds.ts";
import {
  candidatesIn,
  candidatesNamed,
  type EntityCandidate,
  foldSnapshot,
  lockedPair,
  rememberFold,
} from "../../store/queries/entity-duplicates.ts";
import { foldEntities } from "../../store/queries/entity-merge.ts";
import { renameSubject } from "../../store/queries/facts.ts";
import { inSlices, type PaceOfCall } from "../pace.ts";
import { walk } from "../walk.ts";

export interface EntityFold {
  readonly loser: EntityCandidate;
  readonly winner: EntityCandidate;
}

export interface LikelyPair {
  readonly a: EntityCandidate;
  readonly b: EntityCandidate;
  readonly similarity: number;
}

export interface DuplicateReport {
  /** Names with one key in one project: one fold for each loser. */
  readonly exact: readonly EntityFold[];
  /** Names that look alike, the most alike first, at most {@link SHOWN_LIKELY}. */
  readonly likely: readonly LikelyPair[];
  readonly likelyTotal: number;
}

export interface Folded {
  readonly merged: readonly { readonly loser: string; readonly winner: string; readonly observations: number }[];
  /** Folds that no longer held when their turn came; nothing was changed for them. */
  readonly skipped: readonly string[];
}

export interface EntityDuplicates {
  report(ctx: CallScope): Promise<DuplicateReport>;
  /** The fold that a person names. @throws MemoryError `not_found`, `ambiguous`, `invalid` */
  named(ctx: CallScope, names: { readonly loser: string; readonly winner: string }): Promise<EntityFold>;
  /** What the folds will move and drop, for the undo file. */
  snapshot(ctx: CallScope, folds: readonly { readonly loser: string; readonly winner: string }[]): Promise<readonly unknown[]>;
  /** One transaction a fold. */
  fold(ctx: CallScope, folds: readonly { readonly loser: string; readonly winner: string }[]): Promise<Folded>;
}

export const SHOWN_LIKELY = 100;
/** Entities read in one transaction. */
const ENTITIES = { first: 100, most: 2_000 };
/** Names compared before others have their turn; one may be compared with thousands. */
const COMPARED = { first: 10, most: 100 };
/** Pairs kept while more are looked for, of which the most alike stay: thousands of names alike make millions of pairs. */
const KEPT_LIKELY = 10 * SHOWN_LIKELY;

/** Most observations, ties by the smaller id. */
const byWorth = (a: EntityCandidate, b: EntityCandidate): number => b.observations - a.observations || (a.id < b.id ? -1 : 1);

/** The most alike first, ties by name. */
const byLikeness = (x: LikelyPair, y: LikelyPair): number =>
  y.similarity - x.similarity || (x.a.name < y.a.name ? -1 : x.a.name > y.a.name ? 1 : x.a.id < y.a.id ? -1 : 1);

export interface DuplicateParts {
  readonly db: Database;
  readonly queue: { poke(): void };
  readonly paceOf: PaceOfCall;
}

export function createEntityDuplicates({ db, queue, paceOf }: DuplicateParts): EntityDuplicates {
  const only = async (ctx: CallScope, rawName: string): Promise<EntityCandidate> => {
    const name = cleanName(rawName);
    const found = await db.read(ctx, (tx) => tx.all(candidatesNamed({ name, scope: ctx.scope })));
    const [first, second] = found;
    if (first === undefined) throw notFound("entity", name, { next: "Nothing was changed. memory-industry search finds names." });
    if (second !== undefined)
      throw ambiguous(
        `'${name}' is an entity in several projects (${found.map(({ projectName }) => projectName ?? "none").join(", ")}). Nothing was changed. Run the command in the directory of the one that is meant.`,
        { field: "name" },
      );
    return first;
  };

  return {
    async report(ctx) {
      const near = createNearNames<EntityCandidate>(NEAR_NAMES_ABOVE);
      const byKey = new Map<string, EntityCandidate[]>();
      const pace = paceOf();
      await walk({ ...ctx, pace }, { db }, { table: "entities", ...ENTITIES, writes: false }, async (tx, window) => {
        const found = await tx.all(candidatesIn({ ...window, scope: ctx.scope }));
        return {
          committed: () => {
            near.add(found);
            for (const entity of found) {
              // Names of separators alone have no key, and are nobody's double.
              if (entity.nameKey === "") continue;
              const key = `${entity.projectId ?? ""}/${entity.nameKey}`;
              byKey.set(key, [...(byKey.get(key) ?? []), entity]);
            }
          },
        };
      });
      const exact = [...byKey.values()].flatMap((group) => {
        const [winner, ...losers] = [...group].sort(byWorth);
        return winner === undefined ? [] : losers.map((loser): EntityFold => ({ loser, winner }));
      });
      const likely: LikelyPair[] = [];
      const keepBest = () => {
        likely.sort(byLikeness).splice(SHOWN_LIKELY);
      };
      let likelyTotal = 0;
      let at = 0;
      await inSlices(pace, ctx.signal, COMPARED, async (size) => {
        for (const pair of near.pairs(at, at + size)) {
          if (pair.a.nameKey !== "" && pair.a.nameKey === pair.b.nameKey && pair.a.projectId === pair.b.projectId) continue;
          likelyTotal++;
          if (likely.push(pair) === KEPT_LIKELY) keepBest();
        }
        at += size;
        return at < near.size;
      });
      keepBest();
      return { exact, likely, likelyTotal };
    },

    async named(ctx, names) {
      const [loser, winner] = [await only(ctx, names.loser), await only(ctx, names.winner)];
      if (loser.id === winner.id)
        throw invalid(`'${winner.name}' is one entity already: --merge and --into name the same. Nothing was changed.`);
      if (loser.projectId !== winner.projectId)
        throw invalid(
          `'${loser.name}' belongs to the project '${loser.projectName ?? "none"}', '${winner.name}' to '${winner.projectName ?? "none"}': an entity lies in one project. Nothing was changed. cuba_proyecto action=merge makes two projects one.`,
        );
      return { loser, winner };
    },

    snapshot: (ctx, folds) =>
      db.read(ctx, async (tx) => {
        const found: unknown[] = [];
        for (const fold of folds) found.push(await tx.first(foldSnapshot({ ...fold, scope: ctx.scope })));
        return found.filter((each) => each !== undefined);
      }),

    async fold(ctx, folds) {
      const merged: { loser: string; winner: string; observations: number }[] = [];
      const skipped: string[] = [];
      for (const { loser, winner } of folds) {
        const done = await db.write(ctx, async (tx) => {
          const pair = await tx.all(lockedPair({ ids: [loser, winner], scope: ctx.scope }));
          const [from, to] = [pair.find(({ id }) => id === loser), pair.find(({ id }) => id === winner)];
          if (from === undefined || to === undefined || from.id === to.id || from.projectId !== to.projectId) return undefined;
          await tx.first(asBuilder({ mode: "on" }));
          for (const statement of foldEntities([{ loser, winner }], true)) await tx.run(statement);
          await tx.run(renameSubject({ entityId: winner, name: to.name }));
          for (const statement of rememberFold({ loser, winner })) await tx.run(statement);
          return { loser: from.name, winner: to.name, observations: from.observations };
        });
        if (done === undefined) skipped.push(loser);
        else merged.push(done);
      }
      if (merged.length > 0) queue.poke();
      return { merged, skipped };
    },
  };
}
