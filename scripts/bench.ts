/** `npm run bench`: lists the questions that bench/ answers; `npm run bench -- <question> …` runs one with the arguments behind it. */
import { join } from "node:path";
import { root } from "./run.ts";

const [question, ...rest] = process.argv.slice(2);
const questions = [...new Bun.Glob("{*,*/index}.ts").scanSync({ cwd: join(root, "bench") })]
  .map((file) => file.replaceAll("\\", "/").replace(/(\/index)?\.ts$/, ""))
  .sort();

if (question === undefined) {
  console.log(questions.length === 0 ? "bench/ holds no question yet" : questions.join("\n"));
} else if (!questions.includes(question)) {
  console.error(`bench/ does not answer '${question}'. It answers: ${questions.join(", ")}`);
  process.exitCode = 2;
} else {
  const single = Bun.file(join(root, "bench", `${question}.ts`));
  const file = (await single.exists()) ? `bench/${question}.ts` : `bench/${question}/index.ts`;
  process.exitCode = await Bun.spawn([process.execPath, "run", file, ...rest], { cwd: root, stdio: ["inherit", "inherit", "inherit"] })
    .exited;
}
