import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createLineDecoder, createLineWriter, type Line, readLine } from "../../src/transports/lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const texts = (lines: Line[]) => lines.map((line) => (line.kind === "text" ? line.text : `<${line.kind}>`));

describe("lines in", () => {
  test("any cut of the bytes into chunks gives the same lines", () => {
    const words = fc.string({ unit: "grapheme" }).map((word) => word.replace(/[\r\n\uFEFF]/g, "_"));
    fc.assert(
      fc.property(fc.array(words), fc.array(fc.nat({ max: 200 }), { maxLength: 8 }), fc.boolean(), (lines, cuts, endsWithNewline) => {
        const all = bytes(lines.join("\n") + (endsWithNewline ? "\n" : ""));
        const decoder = createLineDecoder();
        const got: Line[] = [];
        let from = 0;
        for (const cut of [...cuts.sort((a, b) => a - b), all.length]) {
          got.push(...decoder.push(all.subarray(from, cut)));
          from = Math.max(from, Math.min(cut, all.length));
        }
        got.push(...decoder.end());
        expect(texts(got)).toEqual(lines.filter((line) => line.trim() !== ""));
      }),
    );
  });

  test("carriage returns, blank lines and a byte-order mark vanish; a last line needs no newline", () => {
    const decoder = createLineDecoder();
    expect(texts(decoder.push(bytes('\uFEFF{"a":1}\r\n\r\n  \n\n{"b":')))).toEqual(['{"a":1}']);
    expect(texts(decoder.push(bytes('"界"}')))).toEqual([]);
    expect(texts(decoder.end())).toEqual(['{"b":"界"}']);
    expect(decoder.end()).toEqual([]);
  });

  test("a chunk whose memory is used again does not change the line it began", () => {
    const decoder = createLineDecoder();
    const chunk = bytes('{"a":');
    decoder.push(chunk);
    chunk.fill(0x7a);
    expect(texts(decoder.push(bytes("1}\n")))).toEqual(['{"a":1}']);
  });

  test("a line over the limit is reported once, skipped without being kept, and the next one is read", () => {
    const decoder = createLineDecoder(10);
    expect(texts(decoder.push(bytes("0123456789\n")))).toEqual(["0123456789"]);
    expect(texts(decoder.push(bytes("012345")))).toEqual([]);
    expect(texts(decoder.push(bytes("67890")))).toEqual([]);
    for (let i = 0; i < 100; i++) expect(decoder.push(bytes("more of it"))).toEqual([]);
    expect(texts(decoder.push(bytes("end\nnext\n")))).toEqual(["<too-long>", "next"]);
    expect(texts(decoder.push(bytes("01234567890\nafter")))).toEqual(["<too-long>"]);
    expect(texts(decoder.end())).toEqual(["after"]);
  });

  test("a line over the limit has its id, wherever it stands and however the bytes come", () => {
    const filler = "x".repeat(100);
    for (const [id, message] of [
      ["7", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":1,"t":"${filler}"}}`],
      ["7", `{"method":"m","params":{"id":1,"t":"${filler} \\"id\\":3","a":[{"id":2}]},"jsonrpc":"2.0", "id" : 7 }`],
      ['"a\\"},界"', `{"params":["${filler}"],"id":"a\\"},界"}`],
      ["9007199254740993", `{"params":["${filler}"],"id":9007199254740993}`],
      [undefined, `{"id":null,"params":["${filler}"]}`],
      [undefined, `{"params":{"id":4,"t":"${filler}"}}`],
      [undefined, `["id", 5, "${filler}"]`],
    ] as const)
      for (const size of [1, 3, 1_000]) {
        const decoder = createLineDecoder(20);
        const all = bytes(`${message}\nnext\n`);
        const lines: Line[] = [];
        for (let at = 0; at < all.length; at += size) lines.push(...decoder.push(all.subarray(at, at + size)));
        expect([message, lines]).toEqual([
          message,
          [
            { kind: "too-long", ...(id === undefined ? {} : { id }) },
            { kind: "text", text: "next" },
          ],
        ]);
      }
    const atTheEnd = createLineDecoder(5);
    atTheEnd.push(bytes('{"id":"last"'));
    expect(atTheEnd.end()).toEqual([{ kind: "too-long" }]);
  });

  test("bytes that are not UTF-8 are reported and not replaced", () => {
    const decoder = createLineDecoder();
    expect(texts(decoder.push(new Uint8Array([0x22, 0xff, 0x22, 0x0a, 0x31, 0x0a])))).toEqual(["<not-utf8>", "1"]);
  });
});

describe("a line, read", () => {
  test("what is no JSON gets -32700 with id null, and nothing of the line is repeated", () => {
    expect(readLine({ kind: "text", text: '{"password": hunter2}' })).toEqual({
      kind: "fault",
      answer: {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32700, message: "Parse error", data: "The line is not valid JSON. Nothing was done." },
      },
    });
  });

  test("any JSON value is a message, also one that is no request", () => {
    expect(readLine({ kind: "text", text: "[1]" })).toEqual({ kind: "message", message: [1], text: "[1]" });
    expect(readLine({ kind: "text", text: '"\\ud800\\u0000"' })).toMatchObject({ kind: "message", message: "\ud800\0" });
  });

  test("a nesting of a million brackets is an answer, not a crash", () => {
    expect(readLine({ kind: "text", text: "[".repeat(1_000_000) })).toMatchObject({ kind: "fault" });
  });

  test("too long is -32600 and names the limit", () => {
    expect(readLine({ kind: "too-long" })).toMatchObject({
      kind: "fault",
      answer: { id: null, error: { code: -32600, message: expect.stringContaining("8388608") } },
    });
  });

  test("too long is answered under its own id, digit by digit", () => {
    for (const id of ["7", '"a"', "9007199254740993"]) {
      const incoming = readLine({ kind: "too-long", id });
      expect(incoming.kind === "fault" && JSON.stringify(incoming.answer)).toContain(`"id":${id},`);
    }
    expect(readLine({ kind: "too-long", id: "{" })).toMatchObject({ answer: { id: null } });
  });

  test("an id that a number cannot hold is refused under that very id", () => {
    const incoming = readLine({ kind: "text", text: '{"jsonrpc":"2.0","method":"ping","id":9007199254740993}' });
    expect(incoming).toMatchObject({
      kind: "fault",
      answer: { error: { code: -32600, message: expect.stringContaining("9007199254740991") } },
    });
    expect(incoming.kind === "fault" && JSON.stringify(incoming.answer)).toContain('"id":9007199254740993');
    expect(readLine({ kind: "text", text: '{"id":9007199254740991}' })).toMatchObject({ kind: "message" });
  });
});

describe("lines out", () => {
  test("lines leave whole and in order, however many are sent at once", async () => {
    const out: string[] = [];
    const writer = createLineWriter(async (text) => {
      await Promise.resolve();
      out.push(text);
    });
    const lines = Array.from({ length: 500 }, (_, i) => `${i}:${"x".repeat(i * 3)}`);
    for (const line of lines) writer.send(line);
    expect(await writer.flush(1_000)).toBe(true);
    expect(out.join("")).toBe(`${lines.join("\n")}\n`);
    expect(writer.backlog).toBe(0);
  });

  test("below resolves when the reader has caught up", async () => {
    const go: (() => void)[] = [];
    const writer = createLineWriter(() => new Promise<void>((resolve) => go.push(resolve)));
    writer.send("12345");
    let caughtUp = false;
    const waiting = writer.below(3).then(() => (caughtUp = true));
    await Promise.resolve();
    expect(caughtUp).toBe(false);
    go[0]?.();
    await waiting;
    expect(writer.backlog).toBe(0);
  });

  test("a reader that takes nothing is given up after the stall, one that is gone at once", async () => {
    const stuck = createLineWriter(() => new Promise<void>(() => {}));
    stuck.send("a");
    expect(await stuck.flush(5)).toBe(false);

    const gone = createLineWriter(() => Promise.reject(new Error("EPIPE")));
    gone.send("a");
    expect(await gone.flush(60_000)).toBe(false);
    expect(gone.broken.aborted).toBe(true);
    gone.send("b");
    expect(gone.backlog).toBe(0);
  });
});
