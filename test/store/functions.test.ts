import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { json } from "../../src/store/codecs.ts";
import { eachEngine, testScope } from "../support/engines.ts";
import { row, rowsIn } from "../support/statements.ts";

eachEngine("functions of the schema", (engine) => {
  const value = async (expression: ReturnType<typeof sql>) => (await row(engine.db, sql`select ${expression} as v`)).v;

  test("brain_append_version keeps the newest entries in order, whatever it is given", async () => {
    const entries = fc.array(fc.record({ content: fc.stringMatching(/^[a-z ]{0,8}$/) }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(entries, entries, fc.integer({ min: -1, max: 25 }), async (history, added, cap) => {
        expect(await value(sql`brain_append_version(${json(history)}, ${json(added)}, ${cap}::int)`)).toEqual(
          [...history, ...added].slice(-Math.max(cap, 1)),
        );
      }),
      { numRuns: 25 },
    );
    expect(await value(sql`brain_append_version(null, ${json([1])})`)).toEqual([1]);
    expect(await value(sql`brain_append_version(${json([1])}, null)`)).toEqual([1]);
    expect(await value(sql`brain_append_version(null, null)`)).toEqual([]);
  });

  test("brain_text_marks gives what rows of older versions carry", async () => {
    const marks = (text: string) => row(engine.db, sql`select m.* from brain_text_marks(${text}::text) as m`);
    expect(await marks("The API gateway listens on port 9090.")).toEqual({
      words_mark: "-6701104600620803429",
      head_mark: "7750333305315294497",
      tail_mark: "-7398470542052027055",
    });
    expect(await marks("\u00a1\u00d1and\u00fa, \u6570\u636e\u5e93\uff01 \ufb01ne")).toEqual({
      words_mark: "3605925324634149345",
      head_mark: "6101065184219126212",
      tail_mark: "6101065184219126212",
    });
  });

  test("brain_word_count counts occurrences, not distinct words", async () => {
    expect(await value(sql`brain_word_count(to_tsvector('simple', 'a b a c a'))`)).toBe(5);
    expect(await value(sql`brain_word_count(to_tsvector('simple', ''))`)).toBe(0);
  });

  test("role ranks rise, unknown roles are nothing", async () => {
    expect(
      await value(sql`array[brain_role_rank('reader'), brain_role_rank('writer'), brain_role_rank('admin'), brain_role_rank('king')]`),
    ).toEqual([1, 2, 3, 0]);
  });

  test.each([
    ["", true, null],
    ["*", true, null],
    ["garbage", false, null],
    ["00000000-0000-4000-8000-000000000001", false, "00000000-0000-4000-8000-000000000001"],
    ["00000000-0000-4000-8000-00000000000A", false, "00000000-0000-4000-8000-00000000000a"],
    ["{00000000-0000-4000-8000-000000000001}", false, null],
  ])("the stamp %p is open: %p, project: %p", async (stamp, open, id) => {
    const seen = await engine.db.write(testScope(), async (tx) => {
      await tx.run(sql`select set_config('app.current_project', ${stamp}::text, true)`);
      return await rowsIn(tx, sql`select brain_scope_open() as open, brain_scope_project() as id`);
    });
    expect(seen).toEqual([{ open, id }]);
  });

  test("functions that look past row security pin their search path", async () => {
    const loose = await engine.db.asOwner((owner) =>
      owner.query(
        "select proname from pg_proc where pronamespace = 'public'::regnamespace and prosecdef and not coalesce(array_to_string(proconfig, ',') like '%search_path=public, pg_temp%', false)",
      ),
    );
    expect(loose.rows).toEqual([]);
  });

  test("trigram similarity works for words of every script", async () => {
    expect(await value(sql`cardinality(show_trgm('数据库') ) > 0`)).toBe(true);
    // 8 and 10 trigrams, 5 in common; a locale without UTF-8 cuts the word at its accent.
    expect(Number(await value(sql`similarity('canción', 'canciones')::float8`))).toBeCloseTo(5 / 13, 6);
  });
});
