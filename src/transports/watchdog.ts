/** The handshake watchdog of a stdio process: a client that gave up does not close our input, so each attempt would leave a process behind. */

/** Limit where nothing, or nothing readable, is set. */
const DEFAULT_LIMIT_MS = 60_000;

/** Largest whole number of seconds that is taken at its word: 64 bits, as the earlier generation did. */
const LARGEST = 2n ** 64n - 1n;

/** Longest delay that a JavaScript timer takes; a longer one would fire at once. 24.8 days stand for "for ever". */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface HandshakeLimit {
  /** Milliseconds until a valid request must have come; undefined = no watchdog. */
  readonly limitMs: number | undefined;
  /** What is wrong with the value, for the log. */
  readonly warning: string | undefined;
}

/** Reads `…HANDSHAKE_TIMEOUT_SECS` (`tools-maintenance.md` §17.3). @param name the variable the value came from, for the warning */
export function readHandshakeLimit(name: string, value: string | undefined): HandshakeLimit {
  const text = (value ?? "").trim();
  if (text === "") return { limitMs: DEFAULT_LIMIT_MS, warning: undefined };
  if (text.toLowerCase() === "off") return { limitMs: undefined, warning: undefined };
  const seconds = /^\+?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
  if (seconds === undefined || seconds > LARGEST)
    return {
      limitMs: DEFAULT_LIMIT_MS,
      warning: `${name}=${text} is not a whole number of seconds, 0 or off; waiting ${DEFAULT_LIMIT_MS / 1000} s for the first request`,
    };
  if (seconds === 0n) return { limitMs: undefined, warning: undefined };
  const longest = BigInt(LONGEST_TIMER_MS);
  return { limitMs: Number(seconds * 1000n > longest ? longest : seconds * 1000n), warning: undefined };
}
