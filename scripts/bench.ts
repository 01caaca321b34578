/** `npm run bench`: lists the questions that bench/ answers; `npm run bench -- <question> …` runs one with the arguments behind it. */
import { join } from "node:path";
import { root } from "./run.ts";

const [question, ...rest] = process.argv.slice(2);
const questions = ["*.ts", "*/*.ts"]
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: join(root, "bench") })])
  .map((file) => file.replaceAll("\\", "/").replace(/\.ts$/, ""))
  .sort();

if (question === undefined) {
  console.log(questions.length === 0 ? "bench/ holds no question yet" : questions.join("\n"));
} else if (!questions.includes(question)) {
  console.error(`bench/ does not answer '${question}'. It answers: ${questions.join(", ")}`);
  process.exitCode = 2;
} else {
  process.exitCode = await Bun.spawn([process.execPath, "run", `bench/${question}.ts`, ...rest], {
    cwd: root,
    stdio: ["inherit", "inherit", "inherit"],
  }).exited;
}
