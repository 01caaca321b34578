import { describe, expect, test } from "bun:test";
import { createEventBus } from "../../src/daemon/events.ts";

const at = new Date("2026-01-02T03:04:05.678Z");

describe("the live bus", () => {
  test("an event reaches every reader as one data line", async () => {
    const bus = createEventBus(() => at);
    const readers = [bus.stream().getReader(), bus.stream().getReader()];
    bus.publish("artifact.updated", { path: "a\nb" });
    for (const reader of readers) {
      expect((await reader.read()).value).toBe(": connected\n\n");
      expect((await reader.read()).value).toBe(
        'data: {"kind":"artifact.updated","at":"2026-01-02T03:04:05.678Z","payload":{"path":"a\\nb"}}\n\n',
      );
    }
    bus.close();
    for (const reader of readers) expect((await reader.read()).done).toBe(true);
    expect(bus.readers).toBe(0);
  });

  test("a reader that goes is forgotten", async () => {
    const bus = createEventBus(() => at);
    const reader = bus.stream().getReader();
    await reader.read();
    expect(bus.readers).toBe(1);
    await reader.cancel();
    expect(bus.readers).toBe(0);
    bus.publish("x", {});
  });

  test("a slow reader gets 256, then is told how many it missed, then goes on", async () => {
    const bus = createEventBus(() => at);
    const reader = bus.stream().getReader();
    for (let n = 0; n < 300; n++) bus.publish("n", n);
    const seen: string[] = [];
    for (let n = 0; n < 257; n++) seen.push((await reader.read()).value ?? "");
    expect(seen[0]).toBe(": connected\n\n");
    expect(seen.filter((text) => text.startsWith("data:"))).toHaveLength(255);
    expect(seen.at(-1)).toBe('event: lagged\ndata: {"missed":45}\n\n');
    bus.publish("n", "after");
    expect((await reader.read()).value).toContain('"after"');
    bus.close();
  });

  test("a ticket opens once, for two minutes", () => {
    let now = at;
    const bus = createEventBus(() => now);
    const [first, second] = [bus.ticket(), bus.ticket()];
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(bus.redeem(first)).toBe(true);
    expect(bus.redeem(first)).toBe(false);
    expect(bus.redeem("invented")).toBe(false);
    now = new Date(at.getTime() + 120_000);
    expect(bus.redeem(second)).toBe(false);
  });
});
