/** Canonical JSON (RFC 8785): one text for one value, so that it can be hashed and compared. */

/**
 * @throws RangeError for what does not survive JSON and jsonb: non-finite numbers, integers beyond 2^53, NUL, lone surrogates, non-JSON types.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new RangeError("a number is not finite");
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new RangeError("an integer is beyond 2^53");
    return JSON.stringify(value);
  }
  if (typeof value === "string") {
    if (value.includes("\0")) throw new RangeError("a text holds a NUL character");
    if (!value.isWellFormed()) throw new RangeError("a text holds a lone surrogate");
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object") {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([key, member]) => `${canonicalJson(key)}:${canonicalJson(member)}`);
    return `{${members.join(",")}}`;
  }
  throw new RangeError(`a ${typeof value} has no JSON form`);
}
