import { expect, test } from "bun:test";
import fc from "fast-check";
import { codeBlock, codeSpan, inertLine, inertMarkdown } from "../../src/cli/markdown.ts";
import { noteText } from "../../src/cli/vault-notes.ts";

const entity = { id: "1", name: "Title", type: "concept", importance: 0.5, accesses: 0, community: null, observations: 2 };
const observation = (content: string) => ({ type: "fact", content, importance: 0.5, createdAt: "2026-05-04T03:02:01.000123+00:00" });
/** The text as a note has it, before another one. */
const asItem = (text: string) =>
  noteText(entity, { out: [], in: [] }, [observation(text), observation("second")]).replace(/^---\n[\s\S]*?\n---\n/, "");
/** Whether the text behind it is an item of its own. */
const hasSecond = (markdown: string) =>
  /<li>\s*(?:<p>)?2026-05-04 <em>\(importance 0\.50\)<\/em> second(?:<\/p>)?\s*<\/li>/.test(html(markdown));
const html = (markdown: string) => Bun.markdown.html(markdown, { wikiLinks: true, latexMath: true, tables: false });
/** Elements but those of a text with code, quotes and lists. */
const strange = (markdown: string) =>
  [...html(markdown).matchAll(/<\/?([a-z0-9-]+)([^>]*)>/gi)]
    .map(([, name, rest]) => `${name}${/^ class="language-[a-z0-9]+"$| start="\d+"$/i.test(rest ?? "") ? "" : rest}`)
    .filter((tag) => !/^(?:h[12]|ul|ol|li|p|code|pre|em|strong|blockquote|del|x-equation|br ?\/?)$/.test(tag));
const elements = (markdown: string, name: string) => html(markdown).split(`<${name}`).length - 1;

for (const text of [
  "<img src=x onerror=alert(1)>",
  "</script><script>alert(1)</script>",
  "[click](javascript:alert(1)) ![beacon](http://evil/x.png) ![[embed]] [[Bank]]",
  "[click][ref]\n\n[ref]: javascript:alert(1)",
  "<javascript:alert(1)>",
  "<!-- swallowed",
  "text\n---\nevil: 1\n===\n# top\n   ## lower\n- # in a list\n> # in a quote",
  "one ` two\nthree ` <b>not code</b> ` four",
  "\\` <b>not code</b> `",
  "``` not a fence ` <b>x</b>",
  "1. a\n   ```\n<b>outside of the list's fence</b>",
  "- ```js\n<b>x</b>\n```\n<i>y</i>",
  "~~~\n```\n<b>x</b>\n~~~\n<b>y</b>",
  "   ```\n<b>x</b>",
  "$$\n<b>x</b>",
])
  test(`${JSON.stringify(text)} shows and does nothing`, () => {
    const markdown = asItem(text);
    expect(strange(markdown)).toEqual([]);
    expect(elements(markdown, "h1")).toBe(1);
    expect(elements(markdown, "h2")).toBe(1);
    expect(hasSecond(markdown)).toBe(true);
  });

test("what looks like markup stays readable, code stays code", () => {
  const shown = html(asItem("use `Vec<u8>` and Vec<u8>, not [x](y) \\d+ or C:\\dir\n```ts\nconst a: Map<string, [[1]]> = 1;\n```"));
  expect(shown).toContain("use <code>Vec&lt;u8&gt;</code> and Vec&lt;u8&gt;, not [x](y) \\d+ or C:\\dir");
  expect(shown).toContain('<pre><code class="language-ts">const a: Map&lt;string, [[1]]&gt; = 1;\n</code></pre>');
});

test("a fence that is left open ends with its text, and one that would start a plug-in only shows", () => {
  expect(inertMarkdown("```dataviewjs\nalert(1)")).toBe("```\nalert(1)\n```");
  expect(inertMarkdown("~~~~ python title=x\n~~~\n<b>")).toBe("~~~~python\n~~~\n<b>\n~~~~");
  expect(inertLine("`$= dv.run()` and `= this.x`")).toBe("\\`$= dv.run()\\` and \\`= this.x\\`");
  expect(inertLine("a #tag, issue #12, C#")).toBe("a \\#tag, issue #12, C#");
  expect(inertLine("50 %% hidden")).toBe("50 \\%\\% hidden");
});

test("code says exactly what was stored", () => {
  expect([codeSpan("npm test"), codeSpan("echo `date`"), codeSpan("a `` b ` c")]).toEqual([
    "`npm test`",
    "`` echo `date` ``",
    "```a `` b ` c```",
  ]);
  expect(codeBlock("x\n```\ny")).toEqual(["````", "x", "```", "y", "````"]);
});

test("no text makes an element that is not of a plain text, and none swallows the item behind it", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "`",
      "``",
      "```",
      "~~~",
      "\n",
      "\n\n",
      "    ",
      "  ",
      "\t",
      "- ",
      "1. ",
      "> ",
      "# ",
      "---",
      "===",
      "<b>",
      "<!--",
      "[[",
      "]]",
      "](",
      "[a]",
      "]: x",
      "![",
      "\\",
      "%%",
      "$$",
      "js",
      "a",
    ),
    fc.string({ maxLength: 3 }),
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 14 }).map((parts) => parts.join("").trim()),
      (text) => {
        const markdown = asItem(text);
        expect(strange(markdown)).toEqual([]);
        expect(elements(markdown, "h1")).toBe(1);
        expect(elements(markdown, "h2")).toBe(1);
        expect(hasSecond(markdown)).toBe(true);
      },
    ),
    { numRuns: 3000 },
  );
});
