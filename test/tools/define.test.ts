import { describe, expect, test } from "bun:test";
import { z } from "zod";
import type { MemoryError } from "../../src/kernel/errors.ts";
import { toEnd } from "../../src/kernel/steps.ts";
import { action, defineTool } from "../../src/tools/define.ts";
import { allowSecret, clamped, filledText, flag, int, listOf, object, text } from "../../src/tools/fields.ts";

const note = filledText(10, "the note");
const tool = defineTool({
  name: "cuba_probe",
  group: "meta",
  profile: "full",
  title: "Probe",
  describe: "A tool of the tests.",
  hints: { readOnly: false, destructive: false, openWorld: false },
  actions: {
    write: action({
      input: z.object({
        note,
        many: listOf(z.object({ content: text(1, 5, "text") }), 1, 2, "items").optional(),
        extra: object("more").optional(),
        confirm: flag("really").optional(),
        limit: int(1, 5, "rows").optional(),
        near: clamped(1, 50, "rows, clamped").default(10),
        ...allowSecret,
      }),
      secretGate: ["note", "many[].content", "extra"],
      run: async (_ctx, args) => ({ ...args }),
    }),
    read: action({ input: z.object({ note }), run: async () => ({}) }),
  },
});

const failure = (args: Record<string, unknown>): MemoryError | undefined => {
  try {
    toEnd(tool.parse(args));
    return undefined;
  } catch (error) {
    return error as MemoryError;
  }
};

describe("a tool", () => {
  test("publishes one flat object with a selector, what every action needs, and no dialect that clients refuse", () => {
    expect(tool.inputSchema.required).toEqual(["action", "note"]);
    expect(tool.inputSchema.properties.action).toEqual({ type: "string", enum: ["write", "read"], description: "what to do" });
    expect(JSON.stringify(tool.inputSchema)).not.toMatch(/\$|anyOf|oneOf|allOf|additionalProperties|"const"|pattern/);
  });

  for (const [args, words] of [
    [{}, "action is required. Use write/read"],
    [{ action: "erase" }, "Invalid action: erase. Use write/read"],
    [{ action: "write" }, "note is required (text of 1 to 10 characters). Nothing was written."],
    [
      { action: "write", text: "hello", limt: 3 },
      "note is required (text of 1 to 10 characters). Nothing was written. Unknown: 'text', 'limt'.",
    ],
    [{ action: "write", note: "" }, "note is required (text that is not blank); it came empty. Nothing was written."],
    [
      { action: "write", note: "a", many: ["hello"] },
      'many[0] must be an object with content, like {"content":"…"}; got the text "hello". Nothing was written.',
    ],
    [{ action: "write", note: "   " }, "note must be text that is not blank; got blank text. Nothing was written."],
    [
      { action: "write", note: "界".repeat(11) },
      'note must be text of 1 to 10 characters; got the text "界界界界界界界界界界界". Nothing was written.',
    ],
    [{ action: "write", note: 5 }, "note must be text of 1 to 10 characters; got the number 5. Nothing was written."],
    [
      { action: "write", note: "a", confirm: "true" },
      'confirm must be the boolean true or false; got the text "true". Nothing was written.',
    ],
    [{ action: "write", note: "a", limit: 7.5 }, "limit must be an integer from 1 to 5; got the number 7.5. Nothing was written."],
    [{ action: "write", note: "a", limit: "5" }, 'limit must be an integer from 1 to 5; got the text "5". Nothing was written.'],
    [
      { action: "write", note: "a", many: [{ content: "ok" }, { content: "toolong" }] },
      'many[1].content must be text of 1 to 5 characters; got the text "toolong". Nothing was written.',
    ],
    [
      { action: "write", note: "a", many: "[oops" },
      'many must be an array of 1 to 2 items, like [{"content":"…"}]; got the text "[oops". Nothing was written.',
    ],
    [{ action: "write", note: "a\0" }, "note must be storable text: a NUL character or half a surrogate pair cannot be kept"],
    [{ action: "write", note: "\ud800" }, "note must be storable text: a NUL character or half a surrogate pair cannot be kept"],
  ] as const)
    test(`answers ${JSON.stringify(args).slice(0, 70)} with a sentence that names the field`, () => {
      expect(failure(args)?.code).toBe("invalid");
      expect(failure(args)?.message).toStartWith(words);
    });

  test("understands JSON text for an array exactly, and moves a clamped number to its bound", async () => {
    const parsed = toEnd(tool.parse({ action: "write", note: "a", many: '[{"content":"x"}]', near: 999 }));
    if (parsed.kind !== "run") throw new Error("expected a call to run");
    expect(await parsed.run({} as never, {} as never)).toEqual({ note: "a", many: [{ content: "x" }], near: 50 });
  });

  test("ignores and names unknown keys and keys of other actions", () => {
    const parsed = toEnd(tool.parse({ action: "read", note: "a", ttl: 3, limit: 2 }));
    expect(parsed.kind === "run" ? parsed.warnings : []).toEqual([
      "unknown argument 'ttl' was ignored",
      "'limit' has no effect on action 'read' and was ignored",
    ]);
  });

  test("refuses credentials in each gated field, naming field, kind and place and never the value", () => {
    const token = "ghp_abcdefghijklmnop";
    const long = failure({ action: "write", note: "a", extra: { deep: { header: `Bearer ${token}` } } });
    expect(long?.code).toBe("refused");
    expect(long?.message).toContain("refusing to write extra.deep.header: what looks like a github token starts near character");
    expect(long?.message).not.toContain(token);
  });

  test("refuses a credential behind a line end, a tab or a quote, however deep it lies, and one that is a key", () => {
    const key = "sk-abcDEF0123456789abcdef";
    for (const before of ["see:\n", "\t", "\r\n", 'said "', "\\"])
      for (const [field, extra] of [
        ["extra.a", { a: `${before}${key}` }],
        ["extra.list[1].b", { list: ["fine", { b: `${before}${key}` }] }],
      ] as const) {
        const error = failure({ action: "write", note: "a", extra });
        expect([before, error?.message]).toEqual([
          before,
          expect.stringContaining(`refusing to write ${field}: what looks like a provider api key`),
        ]);
      }
    const asKey = failure({ action: "write", note: "a", extra: { [key]: 1 } });
    expect(asKey?.message).toStartWith("refusing to write extra: what looks like a provider api key");
  });

  test("refuses what nests too deep to be read, and reads what does not", () => {
    const nested = (levels: number) => {
      let extra: Record<string, unknown> = { deep: "ghp_abcdefghijklmnop" };
      for (let level = 1; level < levels; level++) extra = { in: extra };
      return failure({ action: "write", note: "a", extra });
    };
    expect(nested(100)?.code).toBe("refused");
    expect(nested(101)?.message).toBe("extra may nest at most 100 levels deep. Nothing was written.");
    expect(nested(100_000)?.code).toBe("invalid");
  });

  test("opens the gate on the boolean true alone", () => {
    const args = { action: "write", note: "a", extra: { password: "hunter22" } };
    expect(failure({ ...args, allow_secret: true })).toBeUndefined();
    expect(failure({ ...args, allow_secret: "true" })?.field).toBe("allow_secret");
    expect(failure(args)?.code).toBe("refused");
  });

  test("whose parameter means two things in two actions fails at start", () => {
    const clash = () =>
      defineTool({
        name: "cuba_clash",
        group: "meta",
        profile: "full",
        title: "Clash",
        describe: "A tool of the tests.",
        hints: { readOnly: true, destructive: false, openWorld: false },
        actions: {
          a: action({ input: z.object({ x: int(1, 5, "one thing") }), run: async () => ({}) }),
          b: action({ input: z.object({ x: int(1, 9, "another") }), run: async () => ({}) }),
        },
      });
    expect(clash).toThrow("cuba_clash: parameter 'x' means something else in action 'b'");
  });
});
