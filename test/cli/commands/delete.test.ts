import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost, type Sent } from "../fake-host.ts";

const id = "0a000000-0000-4000-8000-000000000003";
const snapshot = {
  observation: {
    id,
    content: "listens on\n9090",
    observation_type: "decision",
    created_at: "2026-01-02T03:04:05.123456+00:00",
    importance: 0.7,
    version: 3,
  },
  entity: { name: "gateway" },
  project: null,
  chunks: [],
  facts: [],
};
const answer = ({ method }: Sent): unknown =>
  method === "owner/observation" ? snapshot : method === "owner/restore" ? { id, sameId: true, entity: "gateway" } : {};

describe("delete", () => {
  test("shows what would go and how to do it, and changes nothing", async () => {
    const host = fakeHost({ answer });
    expect(await runCli(["delete", id.toUpperCase()], host)).toBe(0);
    expect(host.sent.map(({ method }) => method)).toEqual(["owner/observation"]);
    expect(host.out()).toContain("gateway (decision), created 2026-01-02T03:04:05.123456+00:00, importance 0.70\n  listens on 9090\n");
    expect(host.out()).toContain(`memory-industry delete ${id} --apply`);
    expect(existsSync(join(host.home, "undo"))).toBe(false);
  });

  test("with --apply the undo file is on disk before the memory goes", async () => {
    const file = (home: string) => join(home, "undo", `obs-${id}.json`);
    const host = fakeHost({
      answer: (sent) => {
        if (sent.method === "owner/delete") {
          expect(JSON.parse(readFileSync(file(host.home), "utf8"))).toMatchObject({ format: 1, ...snapshot });
          expect(sent.params).toMatchObject({ id, version: 3 });
        }
        return answer(sent);
      },
    });
    expect(await runCli(["delete", id, "--apply"], host)).toBe(0);
    expect(host.sent.map(({ method }) => method)).toEqual(["owner/observation", "owner/delete"]);
    expect(statSync(file(host.home)).mode & 0o777).toBe(0o600);
    expect(host.out()).toContain(file(host.home));
  });

  test("a memory that changed meanwhile stays, and no undo file is left in the way of the next try; where nobody answers the file stays", async () => {
    const file = (home: string) => join(home, "undo", `obs-${id}.json`);
    const refusing = (sent: Sent) => {
      if (sent.method === "owner/delete") throw new Error("was changed or deleted a moment ago; nothing was deleted");
      return answer(sent);
    };
    const host = fakeHost({ answer: refusing });
    expect(await runCli(["delete", id, "--apply"], host)).toBe(1);
    expect(existsSync(file(host.home))).toBe(false);
    let asked = 0;
    const gone = fakeHost({
      answer: (sent) => {
        if (sent.method === "owner/observation" && asked++ > 0) throw new Error("the connection was lost");
        return refusing(sent);
      },
    });
    expect(await runCli(["delete", id, "--apply"], gone)).toBe(1);
    expect(existsSync(file(gone.home))).toBe(true);
  });

  test("without a place for the undo file nothing is looked at and nothing deleted", async () => {
    const host = fakeHost({
      answer,
      installation: {
        undoDir: () => {
          throw new Error("HOME and USERPROFILE");
        },
      },
    });
    expect(await runCli(["delete", id, "--apply"], host)).toBe(1);
    expect(host.sent).toEqual([]);
  });

  test("an undo file that is there is never overwritten, and nothing is deleted then", async () => {
    const host = fakeHost({ answer });
    mkdirSync(join(host.home, "undo"));
    writeFileSync(join(host.home, "undo", `obs-${id}.json`), "precious");
    expect(await runCli(["delete", id, "--apply"], host)).toBe(1);
    expect(host.sent.map(({ method }) => method)).toEqual(["owner/observation"]);
    expect(readFileSync(join(host.home, "undo", `obs-${id}.json`), "utf8")).toBe("precious");
  });

  test("what is no UUID, and an unknown one, are errors", async () => {
    expect(await runCli(["delete", "7"], fakeHost())).toBe(2);
    expect(await runCli(["delete"], fakeHost())).toBe(2);
    const host = fakeHost({
      answer: () => {
        throw new Error("Observation not found.");
      },
    });
    expect(await runCli(["delete", id], host)).toBe(1);
    expect(host.err()).toContain("not found");
  });
});

describe("delete --undo", () => {
  test("brings back by id or by file, planned first", async () => {
    const host = fakeHost({ answer });
    await runCli(["delete", id, "--apply"], host);
    const file = join(host.home, "undo", `obs-${id}.json`);
    for (const given of [file, id]) {
      host.sent.length = 0;
      expect(await runCli(["delete", "--undo", given], host)).toBe(0);
      expect(host.sent).toEqual([]);
      expect(await runCli(["delete", "--undo", given, "--apply"], host)).toBe(0);
      expect(host.sent).toEqual([{ method: "owner/restore", params: { snapshot } }]);
    }
    expect(host.out()).toContain(`Brought back under 'gateway': ${id}`);
    // Named by its path it is a person's file; found by id it has done its work.
    expect(existsSync(file)).toBe(false);
  });

  test("what is no undo file is refused before anything is opened", async () => {
    const host = fakeHost({ answer });
    for (const [name, content] of [
      ["a.json", "{"],
      ["b.json", "{}"],
      ["c.json", '{"format":2}'],
      ["d.json", '{"format":1}'],
    ] as const) {
      writeFileSync(join(host.home, name), content);
      expect(await runCli(["delete", "--undo", join(host.home, name), "--apply"], host)).toBe(1);
    }
    expect(await runCli(["delete", "--undo", join(host.home, "none.json")], host)).toBe(1);
    expect(host.life).toEqual([]);
  });

  test("brings back what a prune took, one by one, and says which could not come", async () => {
    const second = { ...snapshot, observation: { ...snapshot.observation, id: id.replace(/3$/, "4") } };
    const host = fakeHost({
      answer: (sent) => {
        const { observation } = sent.params.snapshot as typeof snapshot;
        if (observation.id !== id) throw new Error("its project is gone");
        return { id, sameId: true, entity: "gateway" };
      },
    });
    const file = join(host.home, "prune.json");
    writeFileSync(file, JSON.stringify({ format: 1, deleted_at: "2026-01-02T03:04:05Z", observations: [snapshot, second] }));
    expect(await runCli(["delete", "--undo", file], host)).toBe(0);
    expect(host.out()).toContain("Bring back 2 memories under 1 entities.");
    expect(host.sent).toEqual([]);
    expect(await runCli(["delete", "--undo", file, "--apply"], host)).toBe(1);
    expect(host.sent.map(({ method }) => method)).toEqual(["owner/restore", "owner/restore"]);
    expect(host.out()).toContain("Brought back 1 of 2 memories.");
    expect(host.err()).toContain(second.observation.id);
    expect(existsSync(file)).toBe(true);
  });
});
