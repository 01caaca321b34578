/** How well an observation is founded (`tools-graph.md` §3.6). Tools only ever produce `asserted`; `verified` needs a check that was re-run. */

export const evidenceGrades = ["asserted", "observed", "verified"] as const;
export type Evidence = (typeof evidenceGrades)[number];

export interface EvidenceClaim {
  readonly evidence: Evidence;
  /** What was checked, and how to do it again. */
  readonly verification: string | undefined;
  /** RFC 3339 instant of the check. */
  readonly verifiedAt: string | undefined;
}

/** What is wrong with a claim of evidence, for an import or the CLI; undefined where the database would take it. */
export function evidenceFault({ evidence, verification, verifiedAt }: EvidenceClaim): string | undefined {
  if (evidence !== "asserted" && !verification?.trim()) return `evidence '${evidence}' needs a verification text`;
  if (evidence === "verified" && verifiedAt === undefined) return "evidence 'verified' needs the time of the check";
  if (evidence !== "verified" && verifiedAt !== undefined) return `evidence '${evidence}' has no time of a check`;
  return undefined;
}

/** What a search result says about a row's evidence: nothing for `asserted`. Keys as in `retrieval.md` §2.19. */
export function evidenceNote({ evidence, verifiedAt }: Pick<EvidenceClaim, "evidence" | "verifiedAt">): {
  evidence?: Evidence;
  verified_at?: string;
} {
  if (evidence === "asserted") return {};
  return evidence === "verified" && verifiedAt !== undefined ? { evidence, verified_at: verifiedAt } : { evidence };
}
