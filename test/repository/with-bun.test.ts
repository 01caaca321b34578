/** scripts/with-bun.mjs: the command is the pinned Bun's, and nothing of the starter shows. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { join, resolve } from "node:path";
import { devDependencies } from "../../package.json" with { type: "json" };

/** A clone that was never started through it checks its packages first. */
setDefaultTimeout(60_000);

const root = resolve(import.meta.dir, "../..");
const node = Bun.which("node");

const start = (...args: string[]) =>
  Bun.spawn([node ?? "node", join(root, "scripts/with-bun.mjs"), ...args], { cwd: "/", stdin: "pipe", stdout: "pipe", stderr: "inherit" });

test.skipIf(node === null)("runs the pinned Bun from anywhere, with input, output and exit code as they are", async () => {
  const child = start("-e", "process.stdout.write(`${Bun.version} ${await Bun.stdin.text()}`); process.exitCode = 3");
  child.stdin.write("from stdin");
  child.stdin.end();
  expect(await child.stdout.text()).toBe(`${devDependencies.bun} from stdin`);
  expect(await child.exited).toBe(3);
});

test.skipIf(node === null || process.platform === "win32")("hands a signal on, and ends by the signal that ended the command", async () => {
  const polite = start("-e", "process.on('SIGTERM', () => process.exit(7)); console.log('up'); setInterval(() => {}, 1000)");
  const reader = polite.stdout.getReader();
  await reader.read();
  polite.kill("SIGTERM");
  expect(await polite.exited).toBe(7);

  const killed = start("-e", "process.kill(process.pid, 'SIGKILL')");
  await killed.exited;
  expect(killed.signalCode).toBe("SIGKILL");
});

test.skipIf(node === null || process.platform === "win32")("ends the command when npm's shell was ended", async () => {
  const command =
    "process.on('SIGTERM', () => { console.log('told to stop'); process.exit(); }); console.log('up'); setInterval(() => {}, 1000)";
  // What npm does: a shell that waits for the command, and gets the signal alone.
  const shell = Bun.spawn(["sh", "-c", '"$0" "$@"; exit', node ?? "node", join(root, "scripts/with-bun.mjs"), "-e", command], {
    env: { ...process.env, npm_lifecycle_event: "start" },
    stdout: "pipe",
  });
  let said = "";
  for await (const chunk of shell.stdout) {
    said += Buffer.from(chunk).toString();
    if (said === "up\n") shell.kill("SIGTERM");
  }
  expect(said).toBe("up\ntold to stop\n");
});
