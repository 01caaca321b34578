/** Who is believed: trust of a row and the rule that a caller may tighten it, never loosen it (`tools-graph.md` §3.5). */

export const trustLevels = ["trusted", "quarantined"] as const;
export type Trust = (typeof trustLevels)[number];

export const isTrust = (value: unknown): value is Trust => value === "trusted" || value === "quarantined";

/** The most restrictive of several; `trusted` of none. */
export const mostRestrictive = (...levels: readonly Trust[]): Trust => (levels.includes("quarantined") ? "quarantined" : "trusted");

/** True where a row of trust `a` may be weighed against one of trust `b`: only an equally or more trusted row may make another vanish. */
export const isAtLeastAsTrusted = (a: Trust, b: Trust): boolean => a === "trusted" || b === "quarantined";

export interface WriteTrust {
  /** Column `source` of the row; `inference` was written by a model. */
  readonly source: string;
  /** `trust` as the caller gave it; anything but a known level counts as absent. */
  readonly requested?: unknown;
  /** Text that nobody vouches for (`auto_extract untrusted: true`). */
  readonly isUntrusted?: boolean;
  /** Written by the maintenance cycle without anybody watching. */
  readonly isUnattended?: boolean;
  /** `CUBA_QUARANTINE_INFERENCE`. */
  readonly quarantineInference: boolean;
}

/** The trust of a new row: the most restrictive of what the policy says and what the caller asked for. */
export function trustOfWrite({ source, requested, isUntrusted, isUnattended, quarantineInference }: WriteTrust): Trust {
  const policy = isUnattended || isUntrusted || (quarantineInference && source === "inference") ? "quarantined" : "trusted";
  return mostRestrictive(policy, isTrust(requested) ? requested : "trusted");
}

/** The trust of a row that comes from another machine: its own, unless it looks like a credential. */
export const trustOfImport = (carried: unknown, looksLikeCredential: boolean): Trust =>
  mostRestrictive(isTrust(carried) ? carried : "trusted", looksLikeCredential ? "quarantined" : "trusted");
