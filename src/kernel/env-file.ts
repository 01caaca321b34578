/** Env files (`llm.env`, `graph.env`, `memory-industry.env`): `NAME=value` a line, the form that systemd and shells read alike. */

/**
 * Reads the text of an env file. `#` and `;` start a comment line, `export ` in front is allowed, one pair of quotes around a value is taken off;
 * what is no assignment is left out. A name that comes twice has its last value. No expansion of `$X`: a password may hold a dollar sign.
 */
export function parseEnvFile(content: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = Object.create(null);
  for (const line of content.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const parts = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/.exec(line);
    const name = parts?.[1];
    if (name !== undefined) found[name] = unquote((parts?.[2] ?? "").trim());
  }
  return found;
}

function unquote(value: string): string {
  const quote = value[0];
  if (value.length >= 2 && (quote === '"' || quote === "'") && value.endsWith(quote)) {
    const inner = value.slice(1, -1);
    return quote === '"' ? inner.replace(/\\(["\\])/g, "$1") : inner;
  }
  return value;
}

/** One line of an env file; quoted where the value needs it. A line break cannot be written and is refused by the callers' checks. */
export const envLine = (name: string, value: string): string =>
  /^[A-Za-z0-9_@%+=:,./~-]*$/.test(value) ? `${name}=${value}` : `${name}="${value.replace(/(["\\])/g, "\\$1")}"`;
