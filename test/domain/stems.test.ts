/** Our two stemmers against the Snowball project's own, ported to JavaScript by others; and the examples of the algorithms' pages. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newStemmer } from "snowball-stemmers";
import { englishStem } from "../../src/domain/english-stem.ts";
import { spanishStem } from "../../src/domain/spanish-stem.ts";

const combine = (starts: string, middles: string, ends: string) =>
  fc
    .tuple(fc.constantFrom(...starts.split(" ")), fc.constantFrom("", ...middles.split(" ")), fc.constantFrom("", ...ends.split(" ")))
    .map((parts) => parts.join(""));

describe("English", () => {
  test.each([
    ["running", "run"],
    ["retries", "retri"],
    ["databases", "databas"],
    ["generously", "generous"],
    ["skies", "sky"],
    ["dying", "die"],
    ["proceeding", "proceed"],
    ["consistency", "consist"],
    ["controlling", "control"],
    ["national", "nation"],
    ["ponies", "poni"],
    ["ties", "tie"],
    ["news", "news"],
    ["yes", "yes"],
    ["by", "by"],
  ])("%s → %s", (word, stem) => expect(englishStem(word)).toBe(stem));

  test("agrees with Snowball on words of every ending", () => {
    const snowball = newStemmer("english");
    const words = fc.oneof(
      combine(
        "gener commun arsen cat hop sky play enjoy agre fe fail conflat troubl siz fall hiss relat condition valu digit radic vari oper analog skill y youth app bi us tr",
        "i y e s at bl iz ll ss ate ize ous ive ful al ic able ent li ation ement eed",
        "s es ies ied ed ing edly ingly eed eedly ly ness ational tional enci anci izer ization alism aliti ousli iviti biliti ogi icate ative iciti ical ance er ion e l 's ' s'",
      ),
      fc.string({ unit: fc.constantFrom(..."aeiouybdglnrstvzl"), minLength: 1, maxLength: 9 }),
    );
    fc.assert(
      fc.property(words, (word) => expect([word, englishStem(word)]).toEqual([word, snowball.stem(word)])),
      { numRuns: 5000 },
    );
  });
});

describe("Spanish", () => {
  test.each([
    ["configuraciones", "configur"],
    ["configuración", "configur"],
    ["configuracion", "configur"],
    ["corriendo", "corr"],
    ["diciéndoselo", "dic"],
    ["rápidamente", "rapid"],
    ["logías", "log"],
    ["psicologías", "psicolog"],
    ["niños", "niñ"],
    ["sigue", "sig"],
    ["a", "a"],
  ])("%s → %s", (word, stem) => expect(spanishStem(word)).toBe(stem));

  test("agrees with Snowball on words of every ending but the two unaccented ones that it lacks", () => {
    const snowball = newStemmer("spanish");
    const words = fc
      .oneof(
        combine(
          "habl com viv dec toma sigu averigu distingu constru cre cas niñ rapid psico amabl general activ posibl realiz aproxim o aé",
          "i u gu qu ic iv at os ad abil ante able ible ando iendo ándo iéndo ar ér yendo",
          "se selo los las nos anza icos ismo ación aciones adora ancia logía logías ución uciones encia amente mente idad idades iva ivos ya yeron yó yendo en es éis emos arían aré ieron ió os a o á í ó e é",
        ),
        fc.string({ unit: fc.constantFrom(..."aeiouáéíóúdlmnrstyg"), minLength: 1, maxLength: 9 }),
      )
      .filter((word) => !/[au]cion$/.test(word));
    fc.assert(
      fc.property(words, (word) => expect([word, spanishStem(word)]).toEqual([word, snowball.stem(word)])),
      { numRuns: 5000 },
    );
  });
});
