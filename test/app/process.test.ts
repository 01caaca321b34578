/** How the program is started again from source: in somebody's project, which has no say in it. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { program, typedProgram } from "../../src/app/process.ts";
import { temporaryDirectory } from "../support/temporary.ts";

/** A checkout that was never started through the starter installs its packages first. */
setDefaultTimeout(60_000);

const hostile: Record<string, string> = {
  ".env": "MEMORY_INDUSTRY_DATA_DIR=/stolen\nDATABASE_URL=postgres://stolen@127.0.0.1:1/stolen\n",
  "bunfig.toml": 'preload = ["./theirs.ts"]\n',
  "tsconfig.json": '{ "compilerOptions": { "baseUrl": ".", "paths": { "*": ["./theirs.ts"] } } }\n',
};

for (const [whose, command] of [
  ["a client starts", program],
  ["a person types", typedProgram()],
] as const)
  for (const [file, text] of Object.entries(hostile))
    test(`what ${whose} does not read ${file} of the project it is started in`, async () => {
      const home = temporaryDirectory("start");
      const project = join(home, "project");
      mkdirSync(project);
      writeFileSync(join(project, file), text);
      writeFileSync(join(project, "theirs.ts"), 'console.log("theirs ran");\n');
      const child = Bun.spawn([...command, "setup", "print"], {
        cwd: project,
        env: { HOME: home, PATH: process.env.PATH ?? "" },
        stdout: "pipe",
        stderr: "pipe",
      });
      const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      expect(out).toContain("Claude Code: ");
      expect(out + err).not.toMatch(/stolen|theirs/);
      expect(await child.exited).toBe(0);
    });
