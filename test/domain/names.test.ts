import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cleanLabel, cleanName, createMentionFinder, findMentions, nameKey } from "../../src/domain/names.ts";
import { MemoryError } from "../../src/kernel/errors.ts";

describe("cleanName", () => {
  test("trims, collapses white space and composes accents", () => {
    expect(cleanName("  Redis \n\t cache ")).toBe("Redis cache");
    expect(cleanName("Cafe\u0301")).toBe("Café");
  });

  test("counts code points: 200 fit in any script, 201 do not", () => {
    expect(cleanName("界".repeat(200))).toBe("界".repeat(200));
    expect(() => cleanName("界".repeat(201))).toThrow("name has 201 characters; at most 200 fit");
    expect(cleanName("🙂".repeat(200))).toBe("🙂".repeat(200));
  });

  test.each(["", "   ", "a\u0000b", "a\u0007", "abc\u202edcba", "\ud800x", "\u200b", " \u2060\u00ad"])(
    "refuses %j and names the field",
    (raw) => {
      expect(() => cleanName(raw, "items[3].entity_name")).toThrow(/^items\[3\]\.entity_name /);
      try {
        cleanName(raw);
      } catch (error) {
        expect(error).toBeInstanceOf(MemoryError);
        expect(error).toMatchObject({ code: "invalid", field: "name" });
      }
    },
  );

  test("cleaning a clean name changes nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }), (raw) => {
        let once: string;
        try {
          once = cleanName(raw);
        } catch {
          return;
        }
        expect(cleanName(once)).toBe(once);
      }),
    );
  });
});

describe("cleanLabel", () => {
  test.each([
    ["cursor", "cursor"],
    ["  My\tEditor \n", "My Editor"],
    ["a\u0000b\u001b[31m", "ab[31m"],
    ["\ud800x", "x"],
    ["\u200b", ""],
    ["项目".repeat(200), "项目".repeat(100)],
  ])("%j is kept as %j", (raw, label) => {
    expect(cleanLabel(raw)).toBe(label);
  });
});

describe("nameKey", () => {
  test.each([
    ["Mapupita-Web", "mapupitaweb"],
    ["Mapupita Web", "mapupitaweb"],
    ["mapupita_web", "mapupitaweb"],
    ["Node.js", "nodejs"],
    ["D-G-I-A", "dgia"],
    ["DG\u00adI\u200bA", "dgia"],
    ["C", "c"],
    ["C++", "c++"],
    ["C#", "c#"],
    [".NET", ".net"],
    ["net", "net"],
    ["1.0", "1.0"],
    ["10", "10"],
    ["1-0", "1-0"],
    ["1 0", "1 0"],
    ["v2/3", "v2/3"],
    ["1 - 0", "1-0"],
    ["- _ /", ""],
  ])("%p → %p", (name, key) => expect(nameKey(name)).toBe(key));

  test("is the same for a key and for the name in another case", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."aB1 2-_/.+#é界"), maxLength: 12 }), (name) => {
        expect(nameKey(nameKey(name))).toBe(nameKey(name));
        expect(nameKey(name.toUpperCase().toLowerCase())).toBe(nameKey(name));
      }),
    );
  });
});

describe("mentions", () => {
  test("stand as whole words whatever joins them", () => {
    expect(findMentions("what does acme core do?", ["Acme-Core"])).toEqual(["Acme-Core"]);
    expect(findMentions("is the user trusted?", ["Rust"])).toEqual([]);
    expect(findMentions("which score counts?", ["Core", "Scor"])).toEqual([]);
    expect(findMentions("is it written in Rust?", ["Rust"])).toEqual(["Rust"]);
  });

  test("come longest first, then in order, once whatever their case", () => {
    expect(findMentions("acme core web and acme", ["Acme", "acme", "Acme-Core-Web", "ACME"])).toEqual(["Acme-Core-Web", "ACME"]);
    expect(findMentions("beta and alfa", ["Beta", "Alfa"])).toEqual(["Alfa", "Beta"]);
  });

  test("are never shorter than four characters, and at most eight", () => {
    expect(findMentions("the api of api", ["api"])).toEqual([]);
    const names = Array.from({ length: 12 }, (_, at) => `name${at}x`);
    expect(findMentions(names.join(" "), names)).toHaveLength(8);
  });

  test("need no blank around them in Chinese", () => {
    expect(createMentionFinder(["数据仓库"])("请问数据仓库的端口")).toEqual(["数据仓库"]);
  });
});
