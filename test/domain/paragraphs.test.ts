import { describe, expect, test } from "bun:test";
import { kindOfParagraph, paragraphSteps } from "../../src/domain/paragraphs.ts";
import { toEnd } from "../../src/kernel/steps.ts";

const paragraphsOf = (text: string, mostChars: number) => toEnd(paragraphSteps(text, mostChars));
const kept = (text: string, most = 10_000) => paragraphsOf(text, most).kept;

describe("paragraphs of a text", () => {
  test.each(["\n\n", "\r\n\r\n", "\n \t\n", "\n\n\n\n"])("are cut at blank lines written %j, and short ones are counted", (blank) => {
    expect(paragraphsOf(["We decided X.", "short", "Lesson: Y is slow."].join(blank), 10_000)).toEqual({
      kept: ["We decided X.", "Lesson: Y is slow."],
      short: 1,
    });
  });

  test("ten characters are too few, eleven are kept; a Chinese sign counts one and a half", () => {
    expect(kept("0123456789")).toEqual([]);
    expect(kept("01234567890")).toEqual(["01234567890"]);
    expect(kept("我们用Redis缓存")).toEqual(["我们用Redis缓存"]);
    expect(kept("小王：早上好")).toEqual([]);
  });

  test("a fenced block stays whole with its blank lines, and an open fence is ordinary text", () => {
    const block = "```ts\nconst a = 1;\n\nconst b = 2;\n```";
    expect(kept(`Before the block.\n${block}\nBehind the block.`)).toEqual(["Before the block.", block, "Behind the block."]);
    expect(kept("```ts\nnever closed here\n\nbut it goes on")).toEqual(["```ts\nnever closed here", "but it goes on"]);
  });

  test("one that is too long is cut between sentences and loses no word", () => {
    const long = Array.from({ length: 900 }, (_, i) => `Sentence number ${i} ends here.`).join(" ");
    const pieces = kept(long);
    expect(pieces).toHaveLength(3);
    expect(pieces.join(" ")).toBe(long);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(10_000);
  });

  test("the entries of a lock file are a handful of pieces, prose between them stays apart", () => {
    const entry = (i: number) =>
      `"@babel/helper-${i}@^7.0.0":\n  version "7.12.${i}"\n  resolved "https://registry.example/helper-${i}.tgz"\n  integrity sha512-${i}==`;
    const lock = Array.from({ length: 150 }, (_, i) => entry(i)).join("\n\n");
    const pieces = kept(lock);
    expect(pieces).toHaveLength(2);
    expect(pieces.join("\n\n")).toBe(lock);
    const yarn = (i: number) =>
      `"@scope/package-${i}@^1.0.0":\n  version "1.1.${i}"\n  resolved "https://registry.example/p-${i}.tgz"\n  dependencies:\n    left-pad "^1.0.0"`;
    expect(kept(Array.from({ length: 150 }, (_, i) => yarn(i)).join("\n\n"))).toHaveLength(3);
    expect(kept(`${entry(1)}\n\nThis is what the lock file says about it.\n\n${entry(2)}`)).toHaveLength(3);
  });

  test("a double-spaced log, stack or lock file is a handful of pieces too, a few terse notes are not", () => {
    const spaced = (line: (i: number) => string, count: number) => Array.from({ length: count }, (_, i) => line(i)).join("\n\n");
    expect(kept(spaced((i) => `    at fn${i} (/app/dist/mod${i}.js:${i}:15)`, 300))).toHaveLength(2);
    expect(kept(spaced((i) => `2026-11-30T10:00:${i}.1Z INFO worker ${i} heartbeat ok latency=${i}ms`, 150))).toHaveLength(1);
    const bun = spaced((i) => `"@babel/helper-${i}": ["@babel/helper-${i}@7.2.${i}", "", {}, "sha512-${"x".repeat(80)}=="],`, 260);
    expect(kept(bun)).toHaveLength(5);
    expect(kept(bun).join("\n\n")).toBe(bun);
    expect(kept(spaced((i) => `Port of api-${i}: 80${i}0`, 9))).toHaveLength(9);
    expect(kept(spaced((i) => `The service number ${i} answers on its own port.`, 30))).toHaveLength(30);
    expect(kept(spaced((i) => `张三：我们决定第${i}个服务使用消息队列`, 30))).toHaveLength(30);
  });
});

test.each([
  ["We decided X.", "decision"],
  ["Lesson: Y is slow.", "lesson"],
  ["The build failed on Windows", "error"],
  ["Fixed the failing bug", "error"],
  ["A fix: raise the limit to 30 s", "solution"],
  ["Always use tabs in Makefiles", "preference"],
  ["The gateway listens on port 8080", "fact"],
  ["run it in debug mode with a prefix and a suffix", "fact"],
  ["the terror of undecided fixtures", "fact"],
  ["Decidimos usar PostgreSQL", "decision"],
  ["La lección: medir antes", "lesson"],
  ["Se arreglo: falló el despliegue", "error"],
  ["Quedó resuelto con un índice", "solution"],
  ["Prefiero tabuladores", "preference"],
  ["我们决定使用 Bun 作为运行时", "decision"],
  ["教训：先测量再优化", "lesson"],
  ["部署时报错，连接被拒绝", "error"],
  ["已修复，增加了重试", "solution"],
  ["首选简短的名字", "preference"],
] as const)("%p is a %s", (paragraph, kind) => {
  expect(kindOfParagraph(paragraph)).toBe(kind);
});

test("a long text is read in many steps, whatever it is made of", () => {
  const stepsOf = (text: string) => [...paragraphSteps(text, 10_000)].length;
  expect(stepsOf("我们决定使用数据库缓存，因为它更快。".repeat(20_000))).toBeGreaterThan(30);
  expect(stepsOf("word line here\n\n".repeat(20_000))).toBeGreaterThan(50);
  expect(stepsOf("\n \n".repeat(20_000))).toBeGreaterThan(50);
  expect(stepsOf("```a\n".repeat(50_000))).toBeGreaterThan(50);
});
