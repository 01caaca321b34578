/** Verdicts on pairs of memories (`tools-cognition.md` §12): asked once, kept while both texts stay as they are. Changes no observation. */
import { type PairVerdict, pairVerdicts } from "../../domain/trust/reply.ts";
import type { CallContext } from "../../kernel/context.ts";
import { conflict, invalid, notFound, unavailable } from "../../kernel/errors.ts";
import type { Database } from "../../store/port.ts";
import { observationPairs, observationsToJudge, storedJudgment, storeJudgment } from "../../store/queries/conflicts.ts";
import { findEntity } from "../entities/resolve.ts";
import { type Judge, type JudgeBackend, judgeBackends, LEAST_MS, type PairJudgment, type TriedRung } from "../judge/judge.ts";

export interface PairResult {
  readonly verdict: PairVerdict;
  readonly confidence: number;
  readonly reason: string | null;
  readonly backend: string;
  readonly model: string | null;
  /** Which of the two is the newer statement; null where neither replaces the other. Whoever acts on a verdict must never retire this one. */
  readonly newer: "a" | "b" | null;
  readonly tried: readonly TriedRung[];
}

export interface JudgedPair {
  /** The lower id. */
  readonly a: string;
  readonly b: string;
  readonly cached: boolean;
  readonly judgment: PairResult;
}

export interface ScannedPair extends Omit<JudgedPair, "judgment"> {
  readonly cosine: number;
  /** Undefined where every judge failed; `error` says how. */
  readonly judgment: PairResult | undefined;
  readonly error: string | undefined;
}

export interface PairScan {
  readonly entity: string;
  readonly backend: JudgeBackend;
  readonly llmCalls: number;
  readonly cacheHits: number;
  readonly results: readonly ScannedPair[];
  /** Pairs that no time was left for. */
  readonly pairsLeft: number;
  /** Pairs of which one was taken away meanwhile: nothing is said of them. */
  readonly pairsGone: number;
  readonly note: string | undefined;
}

export interface Judgments {
  /**
   * @throws MemoryError `invalid` for one id twice · `not_found` where one is not visible here · `conflict` where one is not any more when the judge
   * has answered · `unavailable` where a named judge cannot be used.
   */
  judgePair(ctx: CallContext, first: string, second: string, options: { readonly refresh: boolean }): Promise<JudgedPair>;
  /** Pairs in the ambiguous band, nearest to its middle first. */
  scanEntity(
    ctx: CallContext,
    entity: string,
    options: { readonly maxPairs: number | undefined; readonly refresh: boolean },
  ): Promise<PairScan>;
}

export interface JudgmentsParts {
  readonly db: Database;
  readonly embedder: { readonly label: string };
  readonly judge: Judge;
}

/** Where words differ and meanings are close, the heuristic is blind. */
export const AMBIGUOUS_BAND = { low: 0.6, high: 0.8 } as const;
const MIDDLE = 0.7;
const NEWEST = 500;
/** Share of the call that judging may take. */
const SHARE = 0.8;

interface Side {
  readonly id: string;
  readonly content: string;
  readonly createdAt: string;
  readonly version: number;
}
interface Stored {
  readonly verdict: string;
  readonly confidence: number;
  readonly reason: string | null;
  readonly backend: string;
  readonly model: string | null;
}

/** By the clock: ids are ordered by chance and say nothing of time. */
const newerByClock = (a: Side, b: Side): "a" | "b" | null => (a.createdAt === b.createdAt ? null : a.createdAt < b.createdAt ? "b" : "a");
const WENT = "One of the two was taken away while a judge read them.";
const replaces = (verdict: string): boolean => verdict === "supersedes" || verdict === "contradicts";

export function createJudgments({ db, embedder, judge }: JudgmentsParts): Judgments {
  /** @throws MemoryError `unavailable` where a person named a judge that cannot be used and nobody else is there. */
  const requireJudge = (ctx: CallContext) => {
    const problem = judge.problem(ctx);
    if (problem !== undefined && judge.preferred(ctx, "pair") === "none") throw unavailable(`${problem} Nothing was judged.`);
  };

  const fromStore = (a: Side, b: Side, { verdict, confidence, reason, backend, model }: Stored): PairResult => ({
    verdict: pairVerdicts.find((word) => word === verdict) ?? "unknown",
    confidence,
    reason,
    backend,
    model,
    newer: replaces(verdict) ? newerByClock(a, b) : null,
    tried: [],
  });

  async function ask(
    ctx: CallContext,
    a: Side,
    b: Side,
    deadline: CallContext["deadline"],
  ): Promise<PairJudgment & { readonly llmCalls: number }> {
    const found = await judge.judgePair(
      ctx,
      { text: a.content, createdAt: a.createdAt },
      { text: b.content, createdAt: b.createdAt },
      deadline,
    );
    // Unknown may be known tomorrow, and the heuristic read nothing: neither is kept.
    if (found.verdict !== "unknown" && found.backend !== "heuristic" && found.backend !== "none") {
      const { verdict, confidence, reason, backend, model } = found;
      const kept = { a: a.id, aVersion: a.version, b: b.id, bVersion: b.version, verdict, confidence, reason, backend, model };
      await db.write(ctx, async (tx) => {
        await tx.run(storeJudgment(kept));
      });
    }
    return { ...found, newer: replaces(found.verdict) ? (found.newer ?? newerByClock(a, b)) : null };
  }

  /** Both of a pair are to be seen here. A judge takes its time, and its reason quotes the texts. */
  const areThere = async (ctx: CallContext, pairs: readonly { readonly a: string; readonly b: string }[]) => {
    const ids = [...new Set(pairs.flatMap(({ a, b }) => [a, b]))];
    const rows = ids.length === 0 ? [] : await db.read(ctx, (tx) => tx.all(observationsToJudge({ ids, scope: ctx.scope })));
    const there = new Set(rows.map(({ id }) => id));
    return ({ a, b }: { readonly a: string; readonly b: string }) => there.has(a) && there.has(b);
  };

  return {
    async judgePair(ctx, first, second, { refresh }) {
      const [one, other] = [first.toLowerCase(), second.toLowerCase()];
      if (one === other)
        throw invalid("observation_a and observation_b are the same observation. Nothing was judged.", { field: "observation_b" });
      const [idA, idB] = one < other ? [one, other] : [other, one];
      // Both must be visible before the cache is looked at: a verdict's reason quotes the texts.
      const { a, b, stored } = await db.read(ctx, async (tx) => {
        const rows = await tx.all(observationsToJudge({ ids: [idA, idB], scope: ctx.scope }));
        const find = (id: string): Side => {
          const row = rows.find((each) => each.id === id);
          if (row === undefined)
            throw notFound("observation", id, { where: "(within current project scope)", next: "Nothing was judged." });
          return row;
        };
        const sides = { a: find(idA), b: find(idB) };
        return { ...sides, stored: refresh ? undefined : await tx.first(storedJudgment({ a: idA, b: idB })) };
      });
      if (stored !== undefined) return { a: idA, b: idB, cached: true, judgment: fromStore(a, b, stored) };
      requireJudge(ctx);
      const { llmCalls: _, ...judgment } = await ask(ctx, a, b, ctx.deadline.share(SHARE));
      const isThere = await areThere(ctx, [{ a: idA, b: idB }]);
      if (!isThere({ a: idA, b: idB })) throw conflict(`${WENT} Nothing was kept.`);
      return { a: idA, b: idB, cached: false, judgment };
    },

    async scanEntity(ctx, name, { maxPairs = judge.maxPairs, refresh }) {
      const deadline = ctx.deadline.share(SHARE);
      const { entity, pairs } = await db.read(ctx, async (tx) => {
        const known = await findEntity(tx, name, ctx.scope);
        if (known === undefined) return { entity: undefined, pairs: [] };
        const wanted = {
          entityIds: [known.id],
          label: embedder.label,
          scope: ctx.scope,
          ...AMBIGUOUS_BAND,
          near: MIDDLE,
          newest: NEWEST,
          limit: maxPairs,
        };
        return { entity: known, pairs: await tx.all(observationPairs(wanted)) };
      });
      const results: ScannedPair[] = [];
      let [llmCalls, cacheHits, pairsLeft, pairsGone] = [0, 0, 0, 0];
      let asked = false;
      for (const pair of pairs) {
        const a: Side = { id: pair.a, content: pair.aContent, createdAt: pair.aCreatedAt, version: pair.aVersion };
        const b: Side = { id: pair.b, content: pair.bContent, createdAt: pair.bCreatedAt, version: pair.bVersion };
        const common = { a: a.id, b: b.id, cosine: pair.cosine };
        const { verdict, confidence, reason, backend, model } = pair;
        if (!refresh && verdict !== null && confidence !== null && backend !== null) {
          cacheHits++;
          results.push({
            ...common,
            cached: true,
            judgment: fromStore(a, b, { verdict, confidence, reason, backend, model }),
            error: undefined,
          });
          continue;
        }
        requireJudge(ctx);
        if (deadline.remainingMs() < LEAST_MS) {
          pairsLeft++;
          continue;
        }
        // Taken away while the pairs before it were judged: no model is shown it any more.
        if (asked && !(await areThere(ctx, [pair]))(pair)) {
          pairsGone++;
          continue;
        }
        asked = true;
        const { llmCalls: calls, ...judgment } = await ask(ctx, a, b, deadline);
        llmCalls += calls;
        const isFailed = judgment.backend === "none" && judgment.tried.length > 0;
        results.push({
          ...common,
          cached: false,
          judgment: isFailed ? undefined : judgment,
          error: isFailed ? judgment.tried.map(({ backend: rung, error }) => `${rung}: ${error}`).join(" ") : undefined,
        });
      }
      const isThere = asked ? await areThere(ctx, results) : () => true;
      const standing = results.filter(isThere);
      pairsGone += results.length - standing.length;
      const answered = standing.find(({ cached, judgment }) => !cached && judgment !== undefined && judgment.backend !== "none")?.judgment
        ?.backend;
      return {
        entity: entity?.name ?? name,
        backend: judgeBackends.find((backend) => backend === answered) ?? judge.preferred(ctx, "pair"),
        llmCalls,
        cacheHits,
        results: standing,
        pairsLeft,
        pairsGone,
        note: entity === undefined ? `Entity '${name}' is not known here. cuba_faro scope=entities finds names.` : undefined,
      };
    },
  };
}
