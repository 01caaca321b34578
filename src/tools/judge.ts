import { z } from "zod";
import { AMBIGUOUS_BAND, type PairResult } from "../services/conflicts/judgments.ts";
import { action, defineTool } from "./define.ts";
import { clamped, entityName, flag, uuid } from "./fields.ts";
import { round } from "./numbers.ts";

const MOST_PAIRS = 25;
const refresh = flag("judge again although a verdict is kept").default(false);

export default defineTool({
  name: "cuba_juez",
  group: "cognition",
  profile: "full",
  title: "Judge of conflicts",
  describe:
    "Ask a model whether two memories conflict, where words alone do not show it. Costs one model call a pair (max_pairs bounds a scan); verdicts are kept until a text changes. Asks the client's own model, else what a person chose; nothing is changed.",
  hints: { readOnly: false, destructive: false, openWorld: true },
  actions: {
    judge_pair: action({
      input: z.object({ observation_a: uuid("judge_pair: one observation"), observation_b: uuid("judge_pair: the other"), refresh }),
      run: async (ctx, a, { judgments }) => {
        const {
          a: first,
          b: second,
          cached,
          judgment,
        } = await judgments.judgePair(ctx, a.observation_a, a.observation_b, { refresh: a.refresh });
        return { action: "judge_pair", cached, observation_a: first, observation_b: second, judgment: shown(judgment) };
      },
    }),
    scan_entity: action({
      input: z.object({
        entity_name: entityName("scan_entity: whose memories"),
        max_pairs: clamped(1, MOST_PAIRS, "scan_entity: most pairs").optional(),
        refresh,
      }),
      run: async (ctx, a, { judgments }) => {
        const scan = await judgments.scanEntity(ctx, a.entity_name, { maxPairs: a.max_pairs, refresh: a.refresh });
        return {
          action: "scan_entity",
          entity_name: scan.entity,
          backend: scan.backend,
          ambiguous_band: [AMBIGUOUS_BAND.low, AMBIGUOUS_BAND.high],
          llm_calls: scan.llmCalls,
          cache_hits: scan.cacheHits,
          results: scan.results.map(({ a: first, b: second, cosine, cached, judgment, error }) => ({
            observation_a: first,
            observation_b: second,
            cosine_sim: round(cosine),
            cached,
            ...(judgment === undefined ? { error } : { judgment: shown(judgment) }),
          })),
          ...(scan.pairsLeft === 0 ? {} : { truncated: true, pairs_left: scan.pairsLeft }),
          ...(scan.pairsGone === 0 ? {} : { pairs_gone: scan.pairsGone }),
          ...(scan.note === undefined ? {} : { note: scan.note }),
        };
      },
    }),
  },
});

const shown = ({ verdict, confidence, reason, backend, model, newer, tried }: PairResult) => ({
  verdict,
  confidence: round(confidence),
  reason,
  backend,
  model,
  newer,
  ...(tried.length === 0 ? {} : { tried }),
});
