import { expect, test } from "bun:test";
import { runCli } from "../../../src/cli/run.ts";
import { MemoryError, unavailable } from "../../../src/kernel/errors.ts";
import { fakeHost, type Script } from "../fake-host.ts";

const run = async (args: readonly string[], script: Script) => {
  const host = fakeHost(script);
  const code = await runCli(["recall", ...args], host);
  return { code, out: host.out(), err: host.err(), sent: host.sent };
};
const found = (more = {}) => ({ project: "shop", text: "Memory of project 'shop'.", leftOut: [], failed: [], ...more });
const answering = (value: unknown): Script => ({ answer: ({ method }) => (method === "owner/recall" ? value : {}) });

test("prints the text and asks for what was wanted", async () => {
  const { code, out, err, sent } = await run(["-p", "shop", "--max-tokens", "300"], answering(found()));
  expect([code, out, err]).toEqual([0, "Memory of project 'shop'.\n", ""]);
  expect(sent.find(({ method }) => method === "owner/recall")?.params).toEqual({ project: "shop", maxTokens: 300 });
  const plain = await run([], answering(found()));
  expect(plain.sent.find(({ method }) => method === "owner/recall")?.params).toEqual({ maxTokens: 900 });
});

test("nothing to recall is one line, and no line with --quiet", async () => {
  expect((await run([], answering(found({ text: "" })))).out).toBe("Nothing to recall of the project 'shop' yet.\n");
  expect((await run([], answering(found({ text: "", leftOut: ["decisions"] })))).out).toContain("left out: decisions. Raise --max-tokens.");
  expect(await run(["--quiet"], answering(found({ text: "" })))).toMatchObject({ code: 0, out: "", err: "" });
});

test("a section that failed is told on standard error", async () => {
  const loud = await run([], answering(found({ failed: ["decisions"] })));
  expect([loud.out, loud.err]).toEqual(["Memory of project 'shop'.\n", expect.stringContaining("'decisions'")]);
  const quiet = await run(["--quiet"], answering(found({ failed: ["decisions"] })));
  expect([quiet.code, quiet.out, quiet.err]).toEqual([
    0,
    "Memory of project 'shop'.\n",
    "memory-industry recall: could not be read: decisions.\n",
  ]);
});

test("a failure ends with 1, and with 0, an empty output and its reason for a hook", async () => {
  const failToOpen = unavailable("The database is away. Nothing was done.");
  expect(await run([], { failToOpen })).toMatchObject({ code: 1, out: "" });
  expect(await run(["--quiet"], { failToOpen })).toMatchObject({
    code: 0,
    out: "",
    err: "memory-industry recall: The database is away. Nothing was done.\n",
  });
  expect(await run(["--quiet"], answering("rubbish"))).toMatchObject({ code: 0, out: "" });
  const refusing: Script = {
    answer: () => {
      throw new MemoryError("not_found", "Project 'typo' not found.");
    },
  };
  expect(await run(["--quiet", "-p", "typo"], refusing)).toMatchObject({ code: 0, out: "" });
});

test("what kept a hook from its memories is noted for doctor, and nothing is noted where all went well", async () => {
  const failing = fakeHost({ failToOpen: unavailable("The database is away.") });
  await runCli(["recall", "--quiet"], failing);
  expect(failing.life).toEqual(["noted The database is away."]);
  const well = fakeHost(answering(found()));
  await runCli(["recall", "--quiet"], well);
  expect(well.life.some((line) => line.startsWith("noted"))).toBe(false);
});

test("a hook asks a daemon, starting one where none runs; a person's recall opens what there is", async () => {
  const hook = fakeHost(answering(found()));
  await runCli(["recall", "--quiet"], hook);
  expect(hook.life[0]).toBe("open - through a daemon");
  const person = fakeHost(answering(found()));
  await runCli(["recall"], person);
  expect(person.life[0]).toBe("open -");
});

test("the time that the program took to start counts", async () => {
  const began = performance.now();
  const late = { ...fakeHost(), runningMs: () => 2_790, openGateway: () => new Promise<never>(() => {}) };
  expect(await runCli(["recall", "--quiet"], late)).toBe(0);
  expect(performance.now() - began).toBeLessThan(2_500);
});

test("a hook that gets no answer ends after three seconds with nothing printed", async () => {
  const began = performance.now();
  const hanging = fakeHost();
  const code = await runCli(["recall", "--quiet"], { ...hanging, openGateway: () => new Promise(() => {}) });
  expect([code, hanging.out(), hanging.err()]).toEqual([0, "", "memory-industry recall: Nothing was recalled within 3 seconds.\n"]);
  expect(performance.now() - began).toBeLessThan(4_500);
});

test.each([[["--max-tokens", "many"]], [["--max-tokens", "0"]], [["--loud"]]])("%j is wrong usage", async (args) => {
  expect((await run(args, {})).code).toBe(2);
});
