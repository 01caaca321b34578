/** The report of `doctor`, for people and for programs. */
import type { Finding } from "./check.ts";

export interface Report {
  /** No check failed; warnings do not count. */
  readonly healthy: boolean;
  readonly failed: number;
  readonly warnings: number;
  readonly checks: readonly Finding[];
}

export function summarise(findings: readonly Finding[]): Report {
  const count = (status: Finding["status"]) => findings.filter((finding) => finding.status === status).length;
  return {
    healthy: count("fail") === 0,
    failed: count("fail"),
    warnings: count("warn"),
    checks: findings.map(({ name, status, detail, hint }) => ({ name, status, detail, ...(hint === undefined ? {} : { hint }) })),
  };
}

const label = { ok: "  ok  ", warn: " warn ", fail: " fail " } as const;
const NAME_WIDTH = 20;
const HINT_INDENT = " ".repeat("[  ok  ] ".length + NAME_WIDTH + 1);

/** Colours a status for a terminal. */
export type Paint = (status: Finding["status"], text: string) => string;

export function renderReport(report: Report, version: string, paint: Paint = (_, text) => text): string {
  const lines = report.checks.flatMap(({ name, status, detail, hint }) => [
    `[${paint(status, label[status])}] ${name.padEnd(NAME_WIDTH)} ${detail}`,
    ...(hint === undefined ? [] : [`${HINT_INDENT}→ ${hint}`]),
  ]);
  const { failed, warnings, checks } = report;
  const verdict = failed > 0 ? "degraded" : warnings > 0 ? "working with warnings" : "healthy";
  return [
    `MemoryIndustry doctor — v${version}`,
    "",
    ...lines,
    "",
    `${checks.length} checks: ${checks.length - failed - warnings} ok, ${warnings} ${warnings === 1 ? "warning" : "warnings"}, ${failed} failed. ${verdict.charAt(0).toUpperCase()}${verdict.slice(1)}.`,
  ].join("\n");
}
