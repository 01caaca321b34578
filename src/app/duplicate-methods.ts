/** What the commands `dedupe` and `link` ask of the owner of the memories: of all of them, inside each project. */
import { z } from "zod";
import { strongestFirst } from "../domain/graph/cooccurrence.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import type { EntityDuplicates } from "../services/duplicates/entities.ts";
import type { Unmerge } from "../services/duplicates/unmerge.ts";
import type { SameJudge } from "../services/duplicates/verdicts.ts";
import type { PaceOfCall } from "../services/pace.ts";
import type { Autolink, Proposal } from "../services/relations/autolink.ts";
import { everything } from "./owner-scope.ts";

const fold = z.object({ loser: z.uuid(), winner: z.uuid() });
const pair = z.object({ a: z.uuid(), b: z.uuid() });
const thresholds = z.object({ threshold: z.number().min(0).max(1).optional(), minSessions: z.number().int().min(1).optional() });
const shown = z.number().int().min(1);

export interface DuplicateMethodParts {
  readonly duplicates: EntityDuplicates;
  readonly unmerge: Unmerge;
  readonly sameJudge: SameJudge;
  readonly autolink: Autolink;
  readonly paceOf: PaceOfCall;
}

export function duplicateMethods({ duplicates, unmerge, sameJudge, autolink, paceOf }: DuplicateMethodParts): [string, OwnerMethod][] {
  return [
    ["owner/duplicates", (_params, { signal }) => duplicates.report(everything(signal))],
    [
      "owner/duplicate",
      async (params, { signal, scope }) => {
        const names = z.object({ loser: z.string(), winner: z.string() }).parse(params);
        return await duplicates.named({ ...everything(signal), scope: await scope() }, names);
      },
    ],
    ["owner/fold-snapshot", ({ folds }, { signal }) => duplicates.snapshot(everything(signal), z.array(fold).parse(folds))],
    [
      "owner/judge-duplicates",
      async ({ pairs }, { signal, log, progress }) =>
        await sameJudge.judge({ ...everything(signal), log }, z.array(pair).parse(pairs), (done, total) => progress(done, total)),
    ],
    ["owner/unfold", ({ snapshot }, { signal }) => unmerge.undo(everything(signal), snapshot)],
    ["owner/fold", ({ folds }, { signal }) => duplicates.fold(everything(signal), z.array(fold).parse(folds))],
    [
      "owner/links",
      async (params, { signal }) => {
        const { threshold, minSessions } = thresholds.parse(params);
        const ctx = { ...everything(signal), pace: paceOf() };
        const given = { ...(threshold === undefined ? {} : { threshold }), ...(minSessions === undefined ? {} : { minSessions }) };
        // A large memory has hundreds of thousands of pairs; a person reads the first ones.
        const most = shown.parse(params.show);
        let found: Proposal[] = [];
        let total = 0;
        let made = 0;
        await autolink.each(ctx, given, async (some) => {
          total += some.length;
          found = [...found, ...some].sort(strongestFirst).slice(0, most);
          if (params.apply === true) made += await autolink.store(ctx, some);
        });
        return { found, total, made };
      },
    ],
  ];
}
