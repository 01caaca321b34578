/** What `serve` refuses before it opens a port (`cli-daemon.md` §4.1), and which addresses are this machine's own. */
import { charCount } from "../kernel/text.ts";

/** Shortest token that may guard a port which other machines reach. */
const SHORTEST_TOKEN_CHARS = 32;

export interface Exposure {
  /** The host that is bound, without brackets. */
  readonly host: string;
  readonly adminToken: string | undefined;
  readonly peerToken: string | undefined;
  /** The service manager's socket: then the remedy is its unit, not our argument. */
  readonly adopted: boolean;
}

/** 127.0.0.0/8, ::1 and ::1's IPv4 twin. A name counts only as `localhost`: what others resolve to is not ours to know. */
export function isLoopback(host: string): boolean {
  const bare = host
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/^::ffff:/, "");
  return bare === "localhost" || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare);
}

const GENERATE = "Generate one with: openssl rand -hex 32";

/** Why these settings may not be served, with the remedy; undefined where they may. Empty tokens count as unset. */
export function refuseExposure(exposure: Exposure): string | undefined {
  const admin = exposure.adminToken?.trim() || undefined;
  const peer = exposure.peerToken?.trim() || undefined;
  const where = exposure.adopted
    ? `the socket unit listens on ${exposure.host} (ListenStream in the .socket unit)`
    : `${exposure.host} is reachable from other machines`;
  if (!isLoopback(exposure.host)) {
    if (admin === undefined)
      return `Not started: ${where} and CUBA_HTTP_TOKEN is not set, so the whole memory would be open. Set CUBA_HTTP_TOKEN, or listen on 127.0.0.1. ${GENERATE}`;
    const length = charCount(admin);
    if (length < SHORTEST_TOKEN_CHARS)
      return `Not started: ${where} and CUBA_HTTP_TOKEN has ${length} characters; at least ${SHORTEST_TOKEN_CHARS} are needed. ${GENERATE}`;
  }
  if (peer !== undefined && admin === undefined)
    return `Not started: CUBA_PEER_TOKEN is set and CUBA_HTTP_TOKEN is not, so a caller without any token would have more rights than a peer. Set CUBA_HTTP_TOKEN. ${GENERATE}`;
  if (peer !== undefined && peer === admin)
    return `Not started: CUBA_PEER_TOKEN equals CUBA_HTTP_TOKEN, so the restricted token would not be restricted. Use two tokens. ${GENERATE}`;
  return undefined;
}
