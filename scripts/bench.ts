/** `npm run bench`: lists the questions that bench/ answers; `npm run bench -- <question> …` runs one with the arguments behind it. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { root } from "./run.ts";

const [question, ...rest] = process.argv.slice(2);
const bench = join(root, "bench");
const texts = new Map(
  ["*.ts", "*/*.ts"]
    .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: bench })])
    .sort()
    .map((file) => [file.replaceAll("\\", "/").replace(/\.ts$/, ""), readFileSync(join(bench, file), "utf8")]),
);
// What another bench imports is a part, and answers nothing by itself.
const parts = new Set(
  [...texts].flatMap(([name, text]) =>
    [...text.matchAll(/from "(\.{1,2}\/[^"]+)\.ts"/g)].map(([, path = ""]) =>
      relative(bench, resolve(bench, dirname(name), path)).replaceAll("\\", "/"),
    ),
  ),
);
const questions = [...texts.keys()].filter((name) => !parts.has(name));
/** The first line of a file's comment: the question. */
const asks = (name: string) => /^\/\*\*\s*\*? *(.*)/.exec(texts.get(name) ?? "")?.[1]?.trim() ?? "";
const widest = Math.max(0, ...questions.map((name) => name.length));

if (question === undefined) {
  console.log(
    questions.length === 0
      ? "bench/ holds no question yet"
      : questions.map((name) => `${name.padEnd(widest)}  ${asks(name)}`.trimEnd()).join("\n"),
  );
} else if (!questions.includes(question)) {
  console.error(`bench/ does not answer '${question}'. It answers: ${questions.join(", ")}`);
  process.exitCode = 2;
} else {
  process.exitCode = await Bun.spawn([process.execPath, "run", `bench/${question}.ts`, ...rest], {
    cwd: root,
    stdio: ["inherit", "inherit", "inherit"],
  }).exited;
}
