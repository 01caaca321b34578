/** The program without a command, started at a terminal. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryDirectory } from "../support/temporary.ts";

test.skipIf(process.platform === "win32")("a person who types the name alone is told what it waits for, and can end it", async () => {
  const told = Promise.withResolvers<string>();
  let seen = "";
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "../../src/main.ts")], {
    env: { HOME: temporaryDirectory("terminal"), PATH: process.env.PATH },
    terminal: {
      cols: 200,
      rows: 24,
      data: (_terminal, bytes) => {
        seen += new TextDecoder().decode(bytes);
        if (seen.includes("\n")) told.resolve(seen);
      },
    },
  });
  try {
    expect(await told.promise).toContain("--help lists the commands for people; Ctrl-C ends this.");
    // What the terminal makes of Ctrl-C.
    child.terminal?.write("\u0003");
    expect(await child.exited).toBe(0);
  } finally {
    child.kill("SIGKILL");
  }
});
