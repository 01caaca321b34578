import { describe, expect, test } from "bun:test";
import { createTokens } from "../../src/daemon/tokens.ts";

const ADMIN = "a".repeat(32);
const PEER = "p".repeat(32);

describe("bearer tokens", () => {
  test("without an admin token everybody is let in, with one only who shows it", () => {
    const open = createTokens(undefined, undefined);
    expect(open.access(null, "1")).toBe("full");
    expect(open.access("Bearer whatever", "1")).toBe("full");
    const closed = createTokens(ADMIN, PEER);
    expect(closed.access(`Bearer ${ADMIN}`, "1")).toBe("full");
    expect(closed.access(`bearer  ${ADMIN} `, "1")).toBe("full");
    expect(closed.access(`Bearer ${PEER}`, "1")).toBe("peer");
    expect(closed.access(`Bearer ${ADMIN}x`, "1")).toBe("none");
    expect(closed.access(`Basic ${ADMIN}`, "1")).toBe("none");
    expect(closed.access(ADMIN, "1")).toBe("none");
    expect(closed.access("Bearer ", "1")).toBe("none");
    expect(closed.access(null, "1")).toBe("none");
  });

  test("an empty token counts as unset", () => {
    expect(createTokens("  ", "").access(null, "1")).toBe("full");
  });

  test("the peer token is looked at first", () => {
    expect(createTokens(PEER, PEER).access(`Bearer ${PEER}`, "1")).toBe("peer");
  });

  test("after ten wrong ones in a minute an address must wait, also with the right one; others are not touched", () => {
    let now = 0;
    const tokens = createTokens(ADMIN, undefined, () => now);
    for (let at = 0; at < 10; at++) expect(tokens.access(`Bearer wrong${at}`, "guesser")).toBe("none");
    expect(tokens.access("Bearer wrong10", "guesser")).toBe("throttled");
    expect(tokens.access(`Bearer ${ADMIN}`, "guesser")).toBe("throttled");
    expect(tokens.access(`Bearer ${ADMIN}`, "other")).toBe("full");
    now = 59_999;
    expect(tokens.access(`Bearer ${ADMIN}`, "guesser")).toBe("throttled");
    now = 60_000;
    expect(tokens.access(`Bearer ${ADMIN}`, "guesser")).toBe("full");
  });

  test("asking without a token is no guess", () => {
    const tokens = createTokens(ADMIN, undefined, () => 0);
    for (let at = 0; at < 20; at++) expect(tokens.access(null, "1")).toBe("none");
    expect(tokens.access(`Bearer ${ADMIN}`, "1")).toBe("full");
  });

  test("a forgotten client with an old token does not lock out the right one of the same machine", () => {
    const tokens = createTokens(ADMIN, undefined, () => 0);
    expect(tokens.access(`Bearer ${ADMIN}`, "1")).toBe("full");
    for (let at = 0; at < 10; at++) tokens.access("Bearer old", "1");
    expect(tokens.access("Bearer old", "1")).toBe("throttled");
    expect(tokens.access(`Bearer ${ADMIN}`, "1")).toBe("full");
  });
});
