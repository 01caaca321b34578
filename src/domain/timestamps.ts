/** Instants in and out: RFC 3339 with a zone. Partial dates and zoneless times are refused rather than guessed at. */

/** An instant a caller named: microseconds since 1970 UTC, and the same in the form that we store and answer. */
export interface Instant {
  readonly epochMicros: bigint;
  /** `2026-03-29T08:00:00.000000+00:00` */
  readonly text: string;
}

const form = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** Reads an RFC 3339 instant; undefined for anything else, also for days that do not exist. Digits past the microsecond are cut. */
export function parseInstant(text: string): Instant | undefined {
  const found = form.exec(text.trim());
  if (found === null) return undefined;
  const part = (index: number) => Number(found[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  const [zoneHours, zoneMinutes] = [part(9), part(10)];
  // 60 is a leap second: RFC 3339 allows it, PostgreSQL and Date count it as the next one.
  if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 60 || zoneHours > 23 || zoneMinutes > 59) return undefined;
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  if (day < 1 || day > days) return undefined;
  const local = new Date(0);
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second, 0);
  const offsetMs = (found[8] === "-" ? -1 : 1) * (zoneHours * 60 + zoneMinutes) * 60_000;
  const micros = BigInt((found[7] ?? "").padEnd(6, "0").slice(0, 6));
  return instantOf(BigInt(local.getTime() - offsetMs) * 1000n + micros);
}

/** The form we answer for microseconds since 1970. */
export function instantOf(epochMicros: bigint): Instant {
  const floor = epochMicros >= 0n ? epochMicros / 1000n : -((-epochMicros + 999n) / 1000n);
  const rest = epochMicros - floor * 1000n;
  const [whole = ""] = new Date(Number(floor)).toISOString().split("Z");
  return { epochMicros, text: `${whole}${String(rest).padStart(3, "0")}+00:00` };
}
