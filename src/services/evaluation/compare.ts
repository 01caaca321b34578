/** Two reports of the same questions, compared pair by pair (`retrieval.md` §9.3, H11): never by two overlapping intervals. */
import { z } from "zod";
import { comparePaired, type PairedComparison } from "../../domain/retrieval/statistics.ts";
import { invalid } from "../../kernel/errors.ts";

const stored = z.object({
  metrics: z.object({
    per_query_ndcg: z.array(z.number()),
    per_query_key: z.array(z.string()).optional(),
    per_query_class: z.array(z.string()).optional(),
    per_query_ability: z.array(z.string()).optional(),
    graph_token_ratio: z.number().default(0),
  }),
});
type StoredReport = z.output<typeof stored>;

/** Reads a report file. @throws MemoryError `invalid` naming the run to repeat. */
export function readReport(text: string, name: string): StoredReport {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (cause) {
    throw invalid(`${name} is not JSON. Repeat that run with --json. Nothing was compared.`, { cause });
  }
  const checked = stored.safeParse(value);
  if (!checked.success)
    throw invalid(`${name} holds no scores by question (metrics.per_query_ndcg). Repeat that run with --json. Nothing was compared.`);
  return checked.data;
}

export interface Comparison {
  readonly all: PairedComparison;
  /** The questions about connections; undefined where the reports tell no classes, or have none of them. */
  readonly multiHop: PairedComparison | undefined;
  readonly graphTokenRatio: { readonly before: number; readonly after: number };
}

/** @throws MemoryError `invalid` where the two are not about the same questions. */
export function compareReports(before: StoredReport, after: StoredReport): Comparison {
  const [a, b] = [before.metrics, after.metrics];
  if (a.per_query_ndcg.length !== b.per_query_ndcg.length)
    throw invalid(
      `The reports hold ${a.per_query_ndcg.length} and ${b.per_query_ndcg.length} scores: not the same questions. Nothing was compared. Repeat both runs on one dataset.`,
    );
  const different = a.per_query_key?.findIndex((key, at) => b.per_query_key !== undefined && b.per_query_key[at] !== key) ?? -1;
  if (different !== -1)
    throw invalid(
      `The reports differ in question ${different + 1}: not the same questions. Nothing was compared. Repeat both runs on one dataset.`,
    );
  const groups = a.per_query_class ?? a.per_query_ability ?? [];
  const chosen = groups.flatMap((group, at) => (group === "multi_hop" ? [at] : []));
  const pick = (scores: readonly number[]) => chosen.map((at) => scores[at] ?? 0);
  return {
    all: comparePaired(a.per_query_ndcg, b.per_query_ndcg),
    multiHop: chosen.length === 0 ? undefined : comparePaired(pick(a.per_query_ndcg), pick(b.per_query_ndcg)),
    graphTokenRatio: { before: a.graph_token_ratio, after: b.graph_token_ratio },
  };
}

/** A payload of paths should need at most this share of the plain list of hops. */
const GRAPH_TOKEN_GOAL = 0.8;

const signed = (value: number) => `${value < 0 ? "" : "+"}${value.toFixed(4)}`;

function lineOf(name: string, c: PairedComparison): string {
  const effect = Number.isFinite(c.detectableEffect) ? c.detectableEffect.toFixed(4) : "–";
  const verdict = c.touchesZero ? "the interval touches zero: they may be equal" : "the interval does not touch zero";
  return `${name}: n=${c.n} ΔnDCG=${signed(c.difference)} [95% ${signed(c.interval.low)}, ${signed(c.interval.high)}], detectable ${effect}, ${c.moved} moved (${c.better} better, ${c.worse} worse); ${verdict}`;
}

export function comparisonText({ all, multiHop, graphTokenRatio }: Comparison): string {
  const lines = [lineOf("all", all)];
  if (multiHop !== undefined) lines.push(lineOf("multi_hop", multiHop));
  if (graphTokenRatio.after > 0)
    lines.push(
      `graph tokens ÷ hop list: ${graphTokenRatio.before.toFixed(3)} → ${graphTokenRatio.after.toFixed(3)} (goal ${GRAPH_TOKEN_GOAL}: ${graphTokenRatio.after <= GRAPH_TOKEN_GOAL ? "met" : "missed"})`,
    );
  return lines.join("\n");
}
