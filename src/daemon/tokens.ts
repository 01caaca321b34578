/** Bearer tokens: which scope a request has, and how guessing is slowed down (`cli-daemon.md` §4.6). */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../kernel/deadline.ts";

export type Access = "full" | "peer" | "none" | "throttled";

export interface Tokens {
  /** @param authorization the header as it came @param address of the peer, for counting failures */
  access(authorization: string | null, address: string): Access;
}

/** Wrong tokens from one address in one minute, after which it must wait. */
const FAILURES_A_MINUTE = 10;
const MINUTE_MS = 60_000;
/** Addresses remembered; the oldest are forgotten first, so that a flood of addresses costs no memory. */
const MAX_ADDRESSES = 10_000;
/** An address that once showed a right token keeps being heard while another program on it guesses: a forgotten client must not lock its user out. */
const TRUSTED_FOR_MS = 60 * MINUTE_MS;

const digestOf = (token: string) => createHash("sha256").update(token).digest();
const set = (token: string | undefined) => (token === undefined || token.trim() === "" ? undefined : digestOf(token.trim()));

export function createTokens(
  adminToken: string | undefined,
  peerToken: string | undefined,
  clock: Clock = () => performance.now(),
): Tokens {
  const admin = set(adminToken);
  const peer = set(peerToken);
  const failures = new Map<string, number[]>();
  const trusted = new Map<string, number>();

  const recent = (address: string) => (failures.get(address) ?? []).filter((at) => clock() - at < MINUTE_MS);
  const remember = <T>(map: Map<string, T>, address: string, value: T) => {
    map.delete(address);
    map.set(address, value);
    if (map.size <= MAX_ADDRESSES) return;
    for (const oldest of map.keys()) {
      map.delete(oldest);
      break;
    }
  };
  const judge = (token: string): Access => {
    const digest = digestOf(token);
    // The peer token first: with no admin token everybody else has full scope.
    if (peer !== undefined && timingSafeEqual(digest, peer)) return "peer";
    if (admin === undefined) return "full";
    return timingSafeEqual(digest, admin) ? "full" : "none";
  };
  return {
    access(authorization, address) {
      const token = /^bearer +(.*)$/i.exec(authorization?.trim() ?? "")?.[1]?.trim();
      if (token === undefined || token === "") return admin === undefined ? "full" : "none";
      const isBlocked = recent(address).length >= FAILURES_A_MINUTE;
      if (isBlocked && clock() - (trusted.get(address) ?? Number.NEGATIVE_INFINITY) > TRUSTED_FOR_MS) return "throttled";
      const access = judge(token);
      if (access !== "none") {
        if (admin !== undefined) remember(trusted, address, clock());
        return access;
      }
      if (isBlocked) return "throttled";
      remember(failures, address, [...recent(address), clock()]);
      return "none";
    },
  };
}
