/** The words that we count are the words that the database stores: every lexeme survives the `simple` parser as itself, in its place. */
import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { lexemesOf, lexicalText } from "../../src/domain/lexical.ts";
import { eachEngine, type TestEngine } from "../support/engines.ts";
import { rows } from "../support/statements.ts";

const TEXTS = [
  "`renewToken` in `src/auth/session.ts` and Foo::bar, __init__, kebab-case-name, snake_case_name",
  "joe@example.com wrote to https://example.com:8443/a/b.html?x=1&y=2#top and /var/log/syslog.1",
  "v1.2.3-rc.4, 1e5, 1e5abc, -5, +5, 0x1F, 3.14, 10,000, 127.0.0.1:5432, 2026-03-29T10:00:00+02:00, 50%",
  "C++ C# F# .NET Node.js a.b.c R&D AT&T don't l'eau Ana's O'Brien",
  "La configuración del módulo está en el año, ÑANDÚ, Straße, İstanbul, Łódź, œuvre",
  "黑豹队的防守只丢了 308分，在联赛中排名第六 (NFL)。東京タワーに行きました",
  "ภาษาไทยเป็นภาษาต่างๆ ฯลฯ हिन्दी में 한국어 단어 العربية ٣٤ Ελληνικά русский עברית",
  "😀 ❤️ ① ½ ² ™ ﬁne ＡＢＣ １２３",
  `${"x".repeat(3000)} ${"y1".repeat(200)}`,
];

/** Lexemes of the column as the database sees them, by position. */
async function stored(engine: TestEngine, texts: readonly string[]): Promise<{ lexemes: string[]; length: number }[]> {
  const found = await rows(
    engine.db,
    sql`
      select
        array(
          select lexeme from (select v.lexeme, unnest(v.positions) as position from unnest(to_tsvector('simple', given.text)) as v) as placed
          order by position
        ) as lexemes,
        brain_word_count(to_tsvector('simple', given.text)) as length
      from jsonb_array_elements_text(${JSON.stringify(texts.map(lexicalText))}::text::jsonb) with ordinality as given(text, place)
      order by place`,
  );
  return found.map((row) => ({ lexemes: Array.isArray(row.lexemes) ? row.lexemes.map(String) : [], length: Number(row.length) }));
}

eachEngine("lexemes of a prepared text", (engine) => {
  test("come out of to_tsvector as they went in, and are as many", async () => {
    const found = await stored(engine, TEXTS);
    for (const [at, text] of TEXTS.entries()) {
      expect(found[at]?.lexemes).toEqual(lexemesOf(text));
      expect(found[at]?.length).toBe(lexemesOf(text).length);
    }
  });

  test("whatever signs, digits and scripts a text mixes", async () => {
    const text = fc.string({ unit: fc.constantFrom(..."abzeEpPvX019._-/:@#+&'’~ %,()=<>\\|éñü中文的タ한ไท३٣ß\u0301"), maxLength: 40 });
    const texts = fc.sample(text, { numRuns: 2000, seed: 7 });
    const found = await stored(engine, texts);
    const different = texts.filter((each, at) => JSON.stringify(found[at]?.lexemes) !== JSON.stringify(lexemesOf(each)));
    expect(different).toEqual([]);
  });
});
