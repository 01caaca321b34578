import { describe, expect, test } from "bun:test";
import { readHandshakeLimit } from "../../src/transports/watchdog.ts";

const limit = (value: string | undefined) => readHandshakeLimit("CUBA_HANDSHAKE_TIMEOUT_SECS", value);

describe("the handshake limit", () => {
  test.each([[undefined], [""], ["  "]])("%p waits 60 s", (value) => {
    expect(limit(value)).toEqual({ limitMs: 60_000, warning: undefined });
  });

  test.each([["0"], ["00"], ["+0"], ["off"], ["OFF"], [" Off "]])("%p switches the watchdog off", (value) => {
    expect(limit(value)).toEqual({ limitMs: undefined, warning: undefined });
  });

  test.each([
    ["1", 1_000],
    ["+30", 30_000],
    [" 5 ", 5_000],
    ["007", 7_000],
  ])("%p is that many seconds", (value, ms) => {
    expect(limit(value)).toEqual({ limitMs: ms, warning: undefined });
  });

  test.each([["60s"], ["-5"], ["-0"], ["1.5"], ["no"], ["abc"], ["1e3"], ["0x10"], ["18446744073709551616"]])(
    "%p waits 60 s and says so, naming variable and value",
    (value) => {
      const { limitMs, warning } = limit(value);
      expect(limitMs).toBe(60_000);
      expect(warning).toContain(`CUBA_HANDSHAKE_TIMEOUT_SECS=${value}`);
    },
  );

  test.each([["2147484"], ["18446744073709551615"]])("%p is kept below what a timer takes, or it would fire at once", (value) => {
    expect(limit(value)).toEqual({ limitMs: 2_147_483_647, warning: undefined });
  });
});
