import { describe, expect, test } from "bun:test";
import { encodeFrame, isFrame, readClientFrame, readDaemonFrame } from "../../src/transports/frames.ts";

const hello = {
  kind: "bridge",
  version: "1.2.3",
  connection: "c",
  label: "cursor",
  project: undefined,
  syncDir: undefined,
  profile: "lean",
  directory: "/w/项目",
  settings: { MODE: "abc" },
} as const;

describe("control lines", () => {
  test("come back as they were, on one line", () => {
    const line = encodeFrame({ op: "hello", hello: { ...hello, label: "a\nb" } });
    expect(line).not.toContain("\n");
    expect(readClientFrame(line)).toEqual({ op: "hello", hello: { ...hello, label: "a\nb" } });
    expect(readClientFrame(encodeFrame({ op: "end" }))).toEqual({ op: "end" });
    expect(readClientFrame(encodeFrame({ op: "ask", id: 3, question: "drain", version: "2.0.0" }))).toEqual({
      op: "ask",
      id: 3,
      question: "drain",
      version: "2.0.0",
    });
    const welcome = { version: "1.2.3", pid: 7, owner: "serve", command: ["/bin/x", "daemon"], differs: ["MODE"] } as const;
    expect(readDaemonFrame(encodeFrame({ op: "welcome", welcome }))).toEqual({
      op: "welcome",
      welcome: { ...welcome, command: ["/bin/x", "daemon"], differs: ["MODE"] },
    });
    expect(readDaemonFrame(encodeFrame({ op: "ready" }))).toEqual({ op: "ready" });
    expect(readDaemonFrame(encodeFrame({ op: "bye", bye: { reason: "failed", text: "why", accepted: 2 } }))).toEqual({
      op: "bye",
      bye: { reason: "failed", text: "why", accepted: 2 },
    });
    expect(readDaemonFrame(encodeFrame({ op: "answer", id: 1, value: { a: 1 }, refused: undefined }))).toEqual({
      op: "answer",
      id: 1,
      value: { a: 1 },
      refused: undefined,
    });
  });

  test("are nothing that a client can write as JSON", () => {
    expect(isFrame('{"op":"end"}')).toBe(false);
    expect(isFrame(' \u0001{"op":"end"}')).toBe(false);
    expect(isFrame(encodeFrame({ op: "end" }))).toBe(true);
    expect(() => JSON.parse(encodeFrame({ op: "end" }))).toThrow();
  });

  test.each([
    ["\u0001"],
    ["\u0001null"],
    ["\u0001[]"],
    ['\u0001{"op":"end"}'],
    ['\u0001{"protocol":2,"op":"end"}'],
    ['\u0001{"protocol":1,"op":"explode"}'],
  ])("%p is ignored", (line) => {
    expect(readClientFrame(line)).toBeUndefined();
    expect(readDaemonFrame(line)).toBeUndefined();
  });

  test("fields of the wrong kind are absent, unknown ones are passed over", () => {
    expect(
      readClientFrame(
        '\u0001{"protocol":1,"op":"hello","hello":{"kind":7,"version":1,"label":["x"],"settings":{"A":1,"B":"b"},"more":true}}',
      ),
    ).toEqual({
      op: "hello",
      hello: {
        kind: "bridge",
        version: "0.0.0",
        connection: "",
        label: undefined,
        project: undefined,
        syncDir: undefined,
        profile: undefined,
        directory: undefined,
        settings: { B: "b" },
      },
    });
  });
});
