import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { namesCheck, occurrenceCheck } from "../../src/domain/occurrence.ts";

describe("a name in a text", () => {
  test.each([
    ["We decided that the gateway caches sessions", "Gateway", true],
    ["We decided that the gateway caches sessions", "gateway session cache", true],
    ["We decided that the gateway caches sessions", "John Doe", false],
    ["Doe pays the invoice", "John Doe", false],
    ["the ＡＵＴＨ service renews", "Auth Service", true],
    ["authService.renew() fails", "Auth service", true],
    ["the auth-service fails", "AuthService", true],
    ["the authservice fails", "Auth Service", true],
    ["La configuración de la pasarela", "CONFIGURACION", true],
    ["Der Straßenplan", "Strassenplan", true],
    ["PostgreSQL is pinned to 18", "Postgres", true],
    ["postgres is pinned to 18", "PostgreSQL", true],
    ["Johns was there", "Johnson", false],
    ["PostgreSQL 17 is old", "PostgreSQL 18", false],
    ["version 1.10 of it", "version 1.1", false],
    ["the parser is in C++", "C++", true],
    ["the parser is in C#", "C++", false],
    ["A uses B", "A", true],
    ["category theory", "cat", false],
    ["anything", "of the", false],
    ["anything", "🙂", false],
    ["支付的服务用缓存", "支付服务", true],
    ["我们决定由支付服务保存会话", "支付服务", true],
    ["我们决定使用缓存保存会话", "张伟", false],
    ["张三和李伟开会", "张伟", false],
    ["会话放在Redis里", "Redis 会话", true],
    ["会话放在缓存里", "Redis 会话", false],
    ["キャッシュサーバーを使う", "キャッシュ", true],
  ])("%p has %p: %p", (text, name, isThere) => expect(occurrenceCheck(text)(name)).toBe(isThere));

  const word = fc.constantFrom("gateway", "Redis", "authService", "支付", "pasarela", "v2", "C++", "ñandú", "cache-key");
  const sentence = fc.array(word, { minLength: 1, maxLength: 8 });

  test("every stretch of a text stands in it, whatever its case", () => {
    fc.assert(
      fc.property(sentence, fc.nat(), fc.nat(), fc.boolean(), (words, from, length, upper) => {
        const start = from % words.length;
        const name = words.slice(start, start + 1 + (length % 4)).join(" ");
        expect(occurrenceCheck(words.join(" "))(upper ? name.toUpperCase() : name)).toBe(true);
      }),
    );
  });

  test("a name with a word that is nowhere does not", () => {
    fc.assert(
      fc.property(sentence, fc.constantFrom("Zoltan", "王芳", "Quill 9"), (words, invented) => {
        expect(occurrenceCheck(words.join(" "))(`${words[0]} ${invented}`)).toBe(false);
        expect(occurrenceCheck(words.join(" "))(invented)).toBe(false);
      }),
    );
  });
});

describe("the names inside of a statement", () => {
  test.each([
    ["the gateway runs in Go", "The gateway runs in Go.", true],
    ["the gateway runs in go", "We run the Gateway in Go.", true],
    ["the gateway runs in Go", "The gateway was written by Jane Roe.", false],
    ["the gateway runs in Go", "Decision: Use Rust for the gateway.", false],
    ["use Go", "Decision: Use Go. Reason: it is fast. - Tested", true],
    ["we meet tomorrow", "They meet on Monday in March.", true],
    ["wir nehmen das Schema und die Tabelle", "Die Entscheidung ist die Tabelle.", true],
    ["uses http", "The API uses HTTP.", true],
  ])("%p and %p: %p", (text, statement, areThere) => expect(namesCheck(text, occurrenceCheck(text))(statement)).toBe(areThere));
});
