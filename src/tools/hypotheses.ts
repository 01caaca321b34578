import { z } from "zod";
import { DEFAULT_DEPTH, MAX_DEPTH } from "../domain/graph/walk.ts";
import { action, defineTool } from "./define.ts";
import { clamped, entityName } from "./fields.ts";
import { fitRows, tokensLeft } from "./fit.ts";
import { round } from "./numbers.ts";

/** Causes shown where nothing else was asked for, and at most. */
const CAUSES = 10;
const MOST_CAUSES = 50;

export default defineTool({
  name: "cuba_hipotesis",
  group: "cognition",
  profile: "standard",
  title: "Hypotheses",
  describe:
    "What may have caused an effect: follows causes and related_to backwards and depends_on forwards from an entity. Ranked by path strength × importance of the cause. Read-only.",
  hints: { readOnly: true, destructive: false, openWorld: false },
  selector: { name: "action", describe: "what to do", default: "explain" },
  actions: {
    explain: action({
      input: z.object({
        effect: entityName("entity to be explained"),
        max_depth: clamped(1, MAX_DEPTH, "steps").default(DEFAULT_DEPTH),
        limit: clamped(1, MOST_CAUSES, "most causes").default(CAUSES),
      }),
      run: async (ctx, a, { hypotheses }) => {
        const found = await hypotheses.explain(ctx, a.effect, a.max_depth);
        const rows = found.hypotheses.slice(0, a.limit).map(({ cause, entityType, importance, strength, plausibility, path }) => ({
          cause,
          entity_type: entityType,
          importance: round(importance),
          hops: path.length,
          path_strength: round(strength),
          plausibility: round(plausibility),
          path,
        }));
        const head = { action: "explain", effect: found.effect, max_depth: a.max_depth, scoring: SCORING, backend: "postgres" };
        const { rows: shown } = await fitRows({ rows, total: found.hypotheses.length, offset: 0, budget: await tokensLeft(head) });
        const isCut = shown.length < found.hypotheses.length;
        return {
          ...head,
          hypotheses: shown,
          count: shown.length,
          ...(isCut || !found.complete
            ? {
                truncated: true,
                total: found.hypotheses.length,
                next: isCut && a.limit < MOST_CAUSES ? { limit: MOST_CAUSES } : { max_depth: 1 },
              }
            : {}),
          ...(found.isKnown ? {} : { note: `Entity '${found.effect}' is not known here. cuba_faro scope=entities finds names.` }),
        };
      },
    }),
  },
});

const SCORING = "plausibility = path_strength × importance of the cause; related_to counts half. path leads from the effect to the cause.";
