import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { z } from "zod";
import { json, query, textArray } from "../../src/store/codecs.ts";
import { eachEngine, testScope } from "../support/engines.ts";

/** Texts that borders like to bend: marks of byte order at the head, controls, halves of pairs of code units that must stay together. */
const awkward = fc
  .oneof(
    fc.constantFrom(
      "\ufeff",
      "\ufeffBill paid",
      "\ufeff\ufeff",
      "a\ufeffb",
      "\u0001\u0002\u001b[0m\u007f",
      "\r\n\t\v\f",
      "\u{1f9e0}\u{10ffff}",
      "\u200f\u2028",
    ),
    fc.tuple(fc.constantFrom("", "\ufeff", "\u0001", "\u{1f600}"), fc.string({ unit: "binary" })).map((parts) => parts.join("")),
  )
  .filter((text) => !text.includes("\0") && text.isWellFormed());

const echoed = query(
  z.object({ plain: z.string(), inList: z.array(z.string()), inJson: z.object({ text: z.string() }) }),
  (text: string) => sql`
  select ${text}::text as plain, ${textArray([text, `\ufeff${text}`])} as "inList", ${json({ text })} as "inJson"`,
);

const echoedBytes = query(
  z.object({ at: z.int(), some: z.instanceof(Uint8Array), none: z.null(), text: z.string(), empty: z.instanceof(Uint8Array) }),
  (q: { at: number; some: Uint8Array }) =>
    sql`select ${q.at}::int as at, ${q.some}::bytea as some, null::bytea as none, 'x\ufeff'::text as text, ''::bytea as empty`,
);

eachEngine("bytes on the wire", (engine) => {
  test("are the same the first time a statement runs and later, beside nothing and text", async () => {
    const some = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    for (const at of [1, 2, 3]) {
      const row = await engine.db.read(testScope(), (tx) => tx.first(echoedBytes({ at, some })));
      expect([row?.at, row?.none, row?.text]).toEqual([at, null, "x\ufeff"]);
      expect([Array.from(row?.some ?? []), Array.from(row?.empty ?? [1])]).toEqual([Array.from(some), []]);
    }
  });
});

eachEngine("texts on the wire", (engine) => {
  test("come back as they were written, alone, in a list and in JSON", async () => {
    await fc.assert(
      fc.asyncProperty(awkward, async (text) => {
        const back = await engine.db.read(testScope(), (tx) => tx.first(echoed(text)));
        expect(back).toEqual({ plain: text, inList: [text, `\ufeff${text}`], inJson: { text } });
      }),
      { numRuns: 200 },
    );
  });

  test("equal what is stored, so that a comparison with what was read holds", async () => {
    const content = "\ufeffa file began like this \u{1f9e0}";
    const kept = query(z.object({ content: z.string() }), () => sql`select content from brain_wm`);
    const same = query(z.object({ same: z.boolean() }), (text: string) => sql`select content = ${text}::text as same from brain_wm`);
    await engine.db.write(testScope(), (tx) =>
      tx.run(sql`insert into brain_wm (content, expires_at) values (${content}::text, now() + interval '1 hour')`),
    );
    const read = await engine.db.read(testScope(), (tx) => tx.first(kept(undefined)));
    expect(read).toEqual({ content });
    expect(await engine.db.read(testScope(), (tx) => tx.first(same(read?.content ?? "")))).toEqual({ same: true });
  });
});
