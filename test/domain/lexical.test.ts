import { describe, expect, test } from "bun:test";
import { lexemesOf, lexicalText, queryTerms } from "../../src/domain/lexical.ts";

/** True where some selecting word of the question has a form among the text's lexemes. */
const finds = (query: string, text: string) => {
  const lexemes = new Set(lexemesOf(text));
  return queryTerms(query).some(({ selects, forms }) => selects && forms.some((form) => lexemes.has(form)));
};

describe("a stored text", () => {
  test("keeps an identifier whole beside its parts", () => {
    expect(lexicalText("`renewToken` in `src/auth/session.ts`")).toBe(
      "renew token renewtoken in src auth session ts sessionts sessiont srcauthsessionts srcauthsessiont",
    );
  });

  test("has a twin without accents and the stems of both languages beside a Spanish word", () => {
    expect(lexicalText("las configuraciones según Ñandú")).toBe("las configuraciones configuracion configur según segun ñandú nandu");
  });

  test("has a Spanish stem unless English function words outnumber Spanish ones", () => {
    expect(lexicalText("configuraciones")).toBe("configuraciones configuracion configur");
    expect(lexicalText("the configuraciones of it")).toBe("the configuraciones configuracion of it");
  });

  test("has the length of its lexemes", () => {
    expect(lexemesOf("The worker retries")).toHaveLength(4);
    expect(lexicalText("The worker retries")).toBe("the worker retries retri");
    expect(lexemesOf("!!! ---")).toEqual([]);
  });
});

describe("a question", () => {
  test.each(["renewToken", "renew token", "src/auth/session.ts", "session.ts"])("%p finds the identifier in a sentence", (query) => {
    expect(finds(query, "`renewToken` in `src/auth/session.ts`")).toBe(true);
  });

  test("of stop words alone selects nothing, in three languages", () => {
    expect(queryTerms("的 the de").filter(({ selects }) => selects)).toEqual([]);
  });

  test("takes tea for a word and the pronoun for none", () => {
    expect(queryTerms("té te").map((term) => term.selects)).toEqual([true, false]);
    expect(queryTerms("él mas más").map((term) => term.selects)).toEqual([false, false, false]);
  });

  test("finds a Spanish memory with and without accents, singular and plural", () => {
    const memory = "La configuración de los módulos está en la raíz";
    for (const query of ["¿configuración?", "configuracion", "configuraciones", "modulo", "raiz"]) expect(finds(query, memory)).toBe(true);
  });

  test("finds a Chinese memory by a word inside the sentence", () => {
    expect(finds("黑豹队丢了多少分？", "黑豹队的防守只丢了 308分")).toBe(true);
    expect(finds("数据库", "黑豹队的防守只丢了 308分")).toBe(false);
  });

  test("names each word once, with the word itself first and no form twice", () => {
    expect(queryTerms("Running running RUNNING run")).toEqual([
      { forms: ["running", "run"], selects: true },
      { forms: ["run"], selects: true },
    ]);
  });
});
