/**
 * The door: which requests are looked at at all (`cli-daemon.md` §4.6). Before authentication, with and without a token: a web page must not
 * reach a local daemon by DNS rebinding, nor by a plain cross-site POST.
 */

export interface DoorRules {
  /** Host that is bound, without brackets; a wildcard (`0.0.0.0`, `::`) stands for `ownAddresses`. */
  readonly host: string;
  readonly port: number;
  readonly scheme: "http" | "https";
  /** Addresses of this machine's interfaces, asked when a wildcard is bound. An address in the Host header cannot be rebound, a name can. */
  readonly ownAddresses: () => readonly string[];
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** What the guard looks at. */
export interface Knock {
  readonly method: string;
  readonly headers: { get(name: string): string | null };
}

export type Verdict =
  /** `cors`: the origin is in the list and its browser is told so. */
  | { readonly kind: "pass"; readonly cors: string | undefined }
  | { readonly kind: "refuse"; readonly status: 403 | 415; readonly message: string };

const refuse = (status: 403 | 415, message: string): Verdict => ({ kind: "refuse", status, message });

/** Judges one request. */
export function knock(request: Knock, rules: DoorRules): Verdict {
  const host = request.headers.get("host")?.trim().toLowerCase();
  if (host === undefined || host === "" || !isHostAllowed(host, rules))
    return refuse(403, "host not allowed; add it to CUBA_HTTP_ALLOWED_HOSTS if it is yours");
  const origin = request.headers.get("origin")?.trim();
  const isListed = origin !== undefined && rules.allowedOrigins.some((allowed) => allowed.toLowerCase() === origin.toLowerCase());
  if (origin !== undefined && !isListed && !isSameOrigin(origin, `${rules.scheme}://${host}`))
    return refuse(403, "origin not allowed; add it to CUBA_HTTP_ALLOWED_ORIGINS if it is yours");
  // A listed origin is cross-site by nature: it was listed for that.
  if (!isListed && request.headers.get("sec-fetch-site")?.trim().toLowerCase() === "cross-site")
    return refuse(403, "cross-site requests are not allowed");
  if (request.method === "POST" && !isJson(request.headers.get("content-type")))
    return refuse(415, "content type must be application/json");
  return { kind: "pass", cors: isListed ? origin : undefined };
}

function isHostAllowed(host: string, rules: DoorRules): boolean {
  if (rules.allowedHosts.some((allowed) => allowed.toLowerCase() === host)) return true;
  const parsed = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(host);
  const name = parsed?.[1];
  if (name === undefined || (parsed?.[2] !== undefined && Number(parsed[2]) !== rules.port)) return false;
  const bare = name.replace(/^\[|\]$/g, "");
  if (["localhost", "127.0.0.1", "::1", rules.host.toLowerCase()].includes(bare)) return true;
  if (rules.allowedHosts.some((allowed) => allowed.toLowerCase() === name)) return true;
  return (rules.host === "0.0.0.0" || rules.host === "::") && rules.ownAddresses().includes(bare);
}

/** Scheme, host and port alike; `null` (a sandboxed frame, a file) is no address and never alike. */
function isSameOrigin(origin: string, own: string): boolean {
  try {
    const [theirs, ours] = [new URL(origin), new URL(own)];
    return theirs.protocol === ours.protocol && theirs.host === ours.host;
  } catch {
    return false;
  }
}

const isJson = (type: string | null) => type?.split(";")[0]?.trim().toLowerCase() === "application/json";

/** Headers that a proxy or tunnel adds; a request with one of them did not come straight from its client. */
export const FORWARDING_HEADERS = [
  "forwarded",
  "cf-connecting-ip",
  "cf-ray",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "x-client-ip",
  "true-client-ip",
] as const;

export const isForwarded = (headers: Knock["headers"]): boolean => FORWARDING_HEADERS.some((name) => headers.get(name) !== null);
