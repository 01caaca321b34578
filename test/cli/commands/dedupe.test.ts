import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost, type Script } from "../fake-host.ts";

const [one, two] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
const entity = (id: string, name: string, observations: number) => ({
  id,
  name,
  nameKey: "x",
  projectId: null,
  projectName: null,
  observations,
});
const fold = { loser: entity(one, "web-app", 1), winner: entity(two, "Web App", 5) };
const report = {
  exact: [fold],
  likely: [{ a: entity(one, "Payments", 2), b: entity(two, "Payment", 3), similarity: 0.78 }],
  likelyTotal: 1,
};
const answers = (more: Record<string, unknown> = {}): Script => ({
  answer: ({ method }) =>
    ({
      "owner/duplicates": report,
      "owner/duplicate": fold,
      "owner/fold-snapshot": [{ entity: { name: "web-app" } }],
      "owner/fold": { merged: [{ loser: "web-app", winner: "Web App", observations: 1 }], skipped: [] },
      ...more,
    })[method],
});
const methods = (host: ReturnType<typeof fakeHost>) => host.sent.map(({ method }) => method);

test("dedupe shows what it would merge and what only looks alike, changes nothing, and prints the line that applies it", async () => {
  const host = fakeHost(answers());
  expect(await runCli(["dedupe"], host)).toBe(0);
  expect(methods(host)).toEqual(["owner/duplicates"]);
  expect(host.out()).toContain("'web-app' (1) into 'Web App' (5)");
  expect(host.out()).toContain("0.78  'Payments' (2)  ~  'Payment' (3)");
  expect(host.out()).toContain("Nothing was changed. To apply it:\n  memory-industry dedupe --apply");
});

test("with --apply the undo file is there before anything is merged; what looks alike is left alone", async () => {
  const host = fakeHost({
    answer: (sent) => {
      if (sent.method === "owner/fold") expect(readdirSync(join(host.home, "undo")).length).toBe(1);
      return answers().answer?.(sent);
    },
  });
  expect(await runCli(["dedupe", "--apply"], host)).toBe(0);
  expect(methods(host)).toEqual(["owner/duplicates", "owner/fold-snapshot", "owner/fold"]);
  expect(host.sent.at(-1)?.params).toEqual({ folds: [{ loser: one, winner: two }] });
  const [file = ""] = readdirSync(join(host.home, "undo"));
  expect(file).toMatch(/^dedupe-\d{14}-[0-9a-f]{8}\.json$/);
  expect(readFileSync(join(host.home, "undo", file), "utf8")).toContain('"web-app"');
  expect(host.out()).toContain("Merged 'web-app' into 'Web App', 1 observation.");
});

test("without a place for the undo file nothing is merged", async () => {
  const host = fakeHost({
    ...answers(),
    installation: {
      undoDir: () => {
        throw new Error("no home");
      },
    },
  });
  expect(await runCli(["dedupe", "--apply"], host)).toBe(1);
  expect(methods(host)).toEqual(["owner/duplicates"]);
});

test("a person merges two by name: shown first; one flag without the other names the missing one", async () => {
  const host = fakeHost(answers());
  expect(await runCli(["dedupe", "--merge", "web-app", "--into", "Web App"], host)).toBe(0);
  expect(methods(host)).toEqual(["owner/duplicate"]);
  expect(host.out()).toContain("memory-industry dedupe --merge web-app --into 'Web App' --apply");
  for (const [words, missing] of [
    [["--merge", "a"], "--into"],
    [["--into", "a"], "--merge"],
  ] as const) {
    const wrong = fakeHost();
    expect(await runCli(["dedupe", ...words], wrong)).toBe(2);
    expect(wrong.err()).toContain(missing);
  }
});

test("nothing to merge says so and writes no file; what changed meanwhile makes the exit code 1", async () => {
  const none = fakeHost(answers({ "owner/duplicates": { exact: [], likely: [], likelyTotal: 0 } }));
  expect(await runCli(["dedupe", "--apply"], none)).toBe(0);
  expect(existsSync(join(none.home, "undo"))).toBe(false);
  const late = fakeHost(answers({ "owner/fold": { merged: [], skipped: [one] } }));
  expect(await runCli(["dedupe", "--apply", "--json"], late)).toBe(1);
  expect(JSON.parse(late.out())).toMatchObject({ applied: true, merged: [], skipped: [one] });
});

test("link shows pairs and the line that applies it, and stores them with --apply", async () => {
  const pair = { a: one, b: two, aName: "api", bName: "broker", npmi: 0.748, sessions: 2 };
  const host = fakeHost({ answer: ({ params }) => ({ found: [pair], total: 1, made: params.apply === true ? 1 : 0 }) });
  expect(await runCli(["link", "--threshold", "0.5"], host)).toBe(0);
  expect(host.sent[0]?.params).toEqual({ threshold: 0.5, minSessions: 2, show: 40, apply: false });
  expect(host.out()).toContain("0.748  2 sessions  api — broker");
  expect(host.out()).toContain("memory-industry link --threshold 0.5 --min-sessions 2 --apply");
  const applied = fakeHost({ answer: () => ({ found: [pair], total: 3, made: 3 }) });
  expect(await runCli(["link", "--apply"], applied)).toBe(0);
  expect(applied.out()).toContain("Related 3 pairs:");
  expect(applied.out()).toContain("… and 2 more (--show)");
  expect(await runCli(["link", "--threshold", "2"], fakeHost())).toBe(2);
});

test("project backfill shows the rows by table first", async () => {
  const host = fakeHost({
    answer: ({ params }) => {
      const { confirm } = Object(params.arguments);
      const result =
        confirm === true ? { dry_run: false, assigned: { brain_entities: 3 } } : { dry_run: true, would_assign: { brain_entities: 3 } };
      return { content: [{ type: "text", text: JSON.stringify({ action: "backfill", result }) }] };
    },
  });
  expect(await runCli(["project", "backfill", "my shop"], host)).toBe(0);
  expect(host.out()).toContain("     3  brain_entities");
  expect(host.out()).toContain("memory-industry project backfill 'my shop' --apply");
  expect(await runCli(["project", "backfill", "my shop", "--apply"], host)).toBe(0);
  expect(host.out()).toContain("Assigned to 'my shop':");
  expect(await runCli(["project", "backfill"], fakeHost())).toBe(2);
});

test("--undo shows what it would take out again, asks for it with --apply, and takes no other file", async () => {
  const host = fakeHost({
    answer: ({ method }) =>
      method === "owner/unfold" ? { restored: [{ name: "web-app", from: "Web App", observations: 1 }], skipped: ["old"] } : {},
  });
  const file = join(host.home, "dedupe.json");
  const entities = [{ entity: { name: "web-app" }, observations: [one] }];
  writeFileSync(file, JSON.stringify({ format: 1, deleted_at: "now", folds: [{ loser: one, winner: two }], entities }));
  expect(await runCli(["dedupe", "--undo", file], host)).toBe(0);
  expect(host.out()).toContain("'web-app' with 1 observation");
  expect(host.out()).toContain(`memory-industry dedupe --undo ${file} --apply`);
  expect(host.sent).toEqual([]);
  expect(await runCli(["dedupe", "--undo", file, "--apply"], host)).toBe(0);
  expect(host.sent).toMatchObject([{ method: "owner/unfold", params: { snapshot: { folds: [{ loser: one, winner: two }], entities } } }]);
  expect(host.out()).toContain("'web-app' stands by itself again: 1 observation came out of 'Web App'.");
  expect(host.out()).toContain("'old' is there");
  writeFileSync(file, JSON.stringify({ format: 1, deleted_at: "now", observation: {} }));
  expect(await runCli(["dedupe", "--undo", file, "--apply"], host)).toBe(1);
  expect(host.err()).toContain("no undo file of a merge");
  expect(await runCli(["dedupe", "--undo", file, "--merge", "a", "--into", "b"], host)).toBe(2);
});

const three = "33333333-3333-4333-8333-333333333333";
const [pay, pays, other] = [
  entity(one, "Payment", 2),
  entity(two, "Payments", 3),
  { ...entity(three, "Payment", 1), projectId: three, projectName: "x" },
];
const judging = (more: Record<string, unknown> = {}): Script =>
  answers({
    "owner/duplicates": {
      exact: [],
      likely: [
        { a: pay, b: pays, similarity: 0.8 },
        { a: pay, b: other, similarity: 1 },
      ],
      likelyTotal: 2,
    },
    "owner/judge-duplicates": {
      verdicts: [{ a: one, b: two, verdict: "same", confidence: 0.9, reason: "one API" }],
      groups: [[one, two]],
      disputed: [],
      unasked: 0,
    },
    ...more,
  });

test("--judge asks about pairs of one project, shows the verdicts and what follows, and merges with --apply alone", async () => {
  const host = fakeHost(judging());
  expect(await runCli(["dedupe", "--judge"], host)).toBe(0);
  expect(host.sent.find(({ method }) => method === "owner/judge-duplicates")?.params).toMatchObject({ pairs: [{ a: one, b: two }] });
  expect(host.out()).toContain("same      0.90  'Payment' ~ 'Payments': one API");
  expect(host.out()).toContain("Not asked about, since an entity lies in one project and these in two: 1 pair.");
  expect(host.out()).toContain("'Payment' (2) into 'Payments' (3)");
  expect(host.out()).toContain("memory-industry dedupe --judge --apply");
  expect(methods(host)).not.toContain("owner/fold");
  expect(await runCli(["dedupe", "--judge", "--apply"], host)).toBe(0);
  expect(host.sent.find(({ method }) => method === "owner/fold")?.params).toEqual({ folds: [{ loser: one, winner: two }] });
});

test("--judge merges nothing of a group that is disputed, nor where nobody could be asked", async () => {
  const disputed = fakeHost(judging({ "owner/judge-duplicates": { verdicts: [], groups: [], disputed: [[one, two]], unasked: 0 } }));
  expect(await runCli(["dedupe", "--judge", "--apply"], disputed)).toBe(0);
  expect(disputed.out()).toContain("Left alone, since two of them were called different: 'Payment', 'Payments'");
  expect(methods(disputed)).not.toContain("owner/fold");
  const nobody = fakeHost(
    judging({ "owner/judge-duplicates": { verdicts: [], groups: [], disputed: [], unasked: 1, problem: "Nobody has chosen one." } }),
  );
  expect(await runCli(["dedupe", "--judge", "--apply"], nobody)).toBe(0);
  expect(nobody.out() + nobody.err()).toContain("Nobody has chosen one.");
  expect(methods(nobody)).not.toContain("owner/fold");
  expect(await runCli(["dedupe", "--judge", "--undo", "x"], nobody)).toBe(2);
});
