import { z } from "zod";
import { oneLine } from "../kernel/text.ts";
import type { Gap, GapReport } from "../services/gaps.ts";
import { action, defineTool } from "./define.ts";
import { fitRows } from "./fit.ts";
import { round } from "./numbers.ts";

/** Most advice of one answer, and how much of a name it repeats. */
const MOST_ADVICE = 30;
const NAME_CHARS = 80;
/** Tokens of each list and of the advice: five lists and the advice stay below one answer. */
const LIST_TOKENS = 1_200;
const ADVICE_TOKENS = 2_500;

export default defineTool({
  name: "cuba_reflexion",
  group: "cognition",
  profile: "standard",
  title: "Gaps",
  describe:
    "Find what the knowledge graph lacks: isolated entities, important ones with few relations, types never linked, facts without decision or lesson, outliers. Most important first, with advice. Read-only.",
  hints: { readOnly: true, destructive: false, openWorld: false },
  selector: { name: "action", describe: "what to do", default: "analyze" },
  actions: {
    analyze: action({
      input: z.object({}),
      run: async (ctx, _a, { gaps }) => {
        const report = await gaps.analyze(ctx);
        const { isolated, underconnected, silos, observationGaps, anomalies } = report;
        const lists = {
          isolated_entities: await list(isolated, ({ name, entityType }) => ({ name, entity_type: entityType })),
          underconnected_high_importance: await list(underconnected, ({ name, importance, degree }) => ({
            name,
            importance: round(importance),
            degree,
          })),
          type_silos: await list(silos, ({ typeA, typeB }) => ({ type_a: typeA, type_b: typeB })),
          observation_gaps: await list(observationGaps, ({ name, facts, decisions, lessons }) => ({ name, facts, decisions, lessons })),
          density_anomalies: await list(anomalies, (row) => ({
            name: row.name,
            obs_count: row.observations,
            rel_count: row.relations,
            obs_zscore: round(row.observationScore),
            rel_zscore: round(row.relationScore),
          })),
        };
        const cut = Object.entries(lists).filter(([, { shown, total }]) => shown.length < total);
        const advice = adviceOf(report).map((text) => ({ text }));
        const { rows } = await fitRows({ rows: advice.slice(0, MOST_ADVICE), total: advice.length, offset: 0, budget: ADVICE_TOKENS });
        return {
          action: "analyze",
          gaps: Object.fromEntries(Object.entries(lists).map(([key, { shown }]) => [key, shown])),
          summary:
            `${isolated.total} isolated entities, ${underconnected.total} important entities with few relations, ${silos.total} pairs of types without a relation, ` +
            `${observationGaps.total} entities with facts but no decision or lesson, ${anomalies.total} outliers.`,
          recommendations: rows.map(({ text }) => text),
          ...(cut.length === 0
            ? {}
            : { truncated: true, total: Object.fromEntries(cut.map(([key, { total }]) => [key, total])), next: NEXT }),
        };
      },
    }),
  },
});

const NEXT = "Close the gaps shown and ask again: the most important come first.";

async function list<Row, Shown extends Record<string, unknown>>({ rows, total }: Gap<Row>, shape: (row: Row) => Shown) {
  const { rows: shown } = await fitRows({ rows: rows.map(shape), total, offset: 0, budget: LIST_TOKENS });
  return { shown, total };
}

const quoted = (name: string) => `'${oneLine(name, NAME_CHARS)}'`;

function adviceOf({ isolated, underconnected, silos, observationGaps }: GapReport): string[] {
  return [
    ...isolated.rows.map(({ name }) => `Link ${quoted(name)} with what it belongs to (cuba_puente create): it has no relation.`),
    ...underconnected.rows.map(
      ({ name, importance, degree }) =>
        `${quoted(name)} is important (${importance.toFixed(2)}) and has ${degree} ${degree === 1 ? "relation" : "relations"}: is that all?`,
    ),
    ...silos.rows.map(({ typeA, typeB }) => `Nothing links a ${typeA} with a ${typeB}: is there no relation between them?`),
    ...observationGaps.rows.map(({ name, facts, decisions, lessons }) => {
      const missing = decisions === 0 && lessons === 0 ? "neither a decision nor a lesson" : decisions === 0 ? "no decision" : "no lesson";
      return `${quoted(name)} has ${facts} facts and ${missing}: note what was decided or learnt (cuba_cronica add).`;
    }),
  ];
}
