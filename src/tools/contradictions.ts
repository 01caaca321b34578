import { z } from "zod";
import { action, defineTool } from "./define.ts";
import { entityName, number, offset } from "./fields.ts";
import { fitRows, readOn } from "./fit.ts";
import { round } from "./numbers.ts";

export default defineTool({
  name: "cuba_contradiccion",
  group: "cognition",
  profile: "standard",
  title: "Contradictions",
  describe:
    "Find memories of one entity that may deny each other, without a model: close in meaning and one of them negated, or judged so before. Ranked by score. Read-only; cuba_juez decides.",
  hints: { readOnly: true, destructive: false, openWorld: false },
  actions: {
    scan: action({
      input: z.object({
        entity_name: entityName("one entity; the 20 largest when omitted").optional(),
        min_score: number(0, 1, "show every pair from this score on, negated or not").optional(),
        offset: offset.optional(),
      }),
      run: async (ctx, a, { contradictions }) => {
        const start = a.offset ?? 0;
        const scan = await contradictions.scan(ctx, { entity: a.entity_name, minScore: a.min_score });
        const rows = scan.found.slice(start).map(({ entity, a: first, b: second, cosine, hasNegation, score, verdict }) => ({
          observation_a: first,
          observation_b: second,
          cosine_similarity: round(cosine),
          negation_detected: hasNegation,
          contradiction_score: round(score),
          ...(verdict === undefined ? {} : { judgment: { verdict: verdict.verdict, confidence: round(verdict.confidence) } }),
          ...(a.entity_name === undefined ? { entity_name: entity } : {}),
        }));
        const page = await fitRows({ rows, total: scan.found.length, offset: start });
        return {
          action: "scan",
          entity_name: scan.entity ?? a.entity_name ?? null,
          contradictions: page.rows,
          count: page.rows.length,
          ...readOn(page),
          ...(scan.note === undefined ? {} : { note: scan.note }),
          ...(scan.hasUnjudged ? { suggestion: "cuba_juez action=judge_pair decides a pair, scan_entity those whose words differ." } : {}),
        };
      },
    }),
  },
  selector: { name: "action", describe: "what to do", default: "scan" },
});
