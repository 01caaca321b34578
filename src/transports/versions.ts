/** Which of two program versions is the newer one. */

/** Negative where `a` is older than `b`, 0 where they rank the same: semantic versioning 2.0.0 §11, build metadata apart. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [parts(a), parts(b)];
  for (let at = 0; at < Math.max(one.core.length, other.core.length); at++) {
    const difference = (one.core[at] ?? 0) - (other.core[at] ?? 0);
    if (difference !== 0) return difference;
  }
  // A version with a pre-release comes before the same version without.
  if (one.pre.length === 0 || other.pre.length === 0) return other.pre.length - one.pre.length;
  for (let at = 0; at < Math.max(one.pre.length, other.pre.length); at++) {
    const difference = compareIdentifiers(one.pre[at], other.pre[at]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function parts(version: string): { readonly core: number[]; readonly pre: string[] } {
  const [bare = ""] = version.trim().replace(/^v/, "").split("+");
  const dash = bare.indexOf("-");
  const core = (dash === -1 ? bare : bare.slice(0, dash)).split(".").map((part) => Number.parseInt(part, 10) || 0);
  return { core, pre: dash === -1 ? [] : bare.slice(dash + 1).split(".") };
}

/** Numbers rank below words and by size; words by their code units; a shorter list first. */
function compareIdentifiers(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
  const [one, other] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (one && other) return Number(a) - Number(b);
  if (one !== other) return one ? -1 : 1;
  return a === b ? 0 : a < b ? -1 : 1;
}
