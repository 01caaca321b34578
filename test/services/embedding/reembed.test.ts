import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { deadlineIn, noDeadline } from "../../../src/kernel/deadline.ts";
import { type ReembedRequest, reembedThen } from "../../../src/services/embedding/reembed.ts";
import { stateOf, testEmbedder } from "../../support/embedder.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { project, row, rows } from "../../support/statements.ts";

eachEngine("reembed", (engine) => {
  beforeEach(() => engine.db.reset());
  const db = () => engine.db;
  const request = (given: Partial<ReembedRequest> = {}): ReembedRequest => ({
    ...testScope({ scope: { kind: "everything" } }),
    deadline: noDeadline,
    progress: () => {},
    ...given,
  });
  /** `count` notes without vectors, and a service whose model appeared after them. */
  const filled = async (count: number, projectId?: string) => {
    const embedder = testEmbedder("missing");
    const graph = graphOver(engine.db, { embedder });
    const call = graph.caller(projectId === undefined ? { kind: "none" } : { kind: "project", id: projectId });
    for (let from = 0; from < count; from += 100)
      await call("cuba_cronica", {
        action: "batch_add",
        observations: Array.from({ length: Math.min(100, count - from) }, (_, i) => ({
          entity_name: "E",
          content: `note ${crypto.randomUUID()} ${from + i}`,
        })),
      });
    embedder.state = stateOf("ready");
    return { ...graph, embedder, call };
  };
  const labels = () =>
    rows(db(), sql`select embedding_model as label, count(*)::int as n from brain_observations group by 1 order by 1 nulls first`);

  test("whoever keeps what was made of the vectors is told after a run, one that failed too", async () => {
    const { reembed, embedder } = await filled(2);
    const seen: number[] = [];
    const told = reembedThen(reembed, () => seen.push(embedder.state.state === "ready" ? 1 : 0));
    await told.run(request());
    embedder.state = stateOf("missing");
    await expect(told.run(request())).rejects.toThrow("no embedding model");
    expect(seen).toEqual([1, 0]);
  });

  test("makes every vector the running model's, of all four tables, and moves no clock", async () => {
    const { reembed, embedder, call } = await filled(20);
    embedder.state = stateOf("missing");
    await call("cuba_cronica", { action: "add", entity_name: "E", content: "A long text of many words. ".repeat(100) });
    await call("cuba_cronica", { action: "episode_add", entity_name: "E", content: "It happened" });
    await rows(db(), sql`insert into brain_procedures (name, trigger_context) values ('restart', 'after an upgrade')`);
    embedder.state = stateOf("ready");
    embedder.label = "old/name-type-1";
    expect(await reembed.run(request({ limit: 5 }))).toMatchObject({ updated: 5 + 3 + 1 + 1, model: "old/name-type-1", dimensions: 384 });
    embedder.label = "new/name-type-1";
    const progress: [number, number | undefined][] = [];
    const report = await reembed.run(request({ progress: (done, total) => progress.push([done, total]) }));
    expect(report).toMatchObject({
      due: 26,
      fetched: 26,
      updated: 26,
      failed: 0,
      remaining: 0,
      updatedByKind: { observation: 21, chunk: 3, episode: 1, procedure: 1 },
    });
    expect(progress.map(([done]) => done)).toEqual([...progress.map(([done]) => done)].sort((a, b) => a - b));
    expect(progress.at(-1)).toEqual([26, 26]);
    expect(await labels()).toEqual([{ label: "new/name-type-1", n: 21 }]);
    expect(await rows(db(), sql`select distinct version from brain_observations`)).toEqual([{ version: 1 }]);
    expect(await reembed.run(request())).toMatchObject({ due: 0, updated: 0, remaining: 0 });
    expect(await reembed.run(request({ all: true }))).toMatchObject({ due: 26, updated: 26 });
  });

  test("refuses without a model: a made-up vector never replaces a real one", async () => {
    const { reembed, embedder, refusal } = await filled(1);
    for (const state of ["missing", "failed"] as const) {
      embedder.state = stateOf(state);
      expect((await refusal(reembed.run(request()))).code).toBe("unavailable");
    }
    expect(await labels()).toEqual([{ label: null, n: 1 }]);
  });

  test("ends at its deadline or when it is given up, keeps what is done, and goes on from there", async () => {
    const { reembed, embedder } = await filled(60);
    expect(await reembed.run(request({ deadline: deadlineIn(0) }))).toMatchObject({ updated: 0, remaining: 60 });
    const ending = new AbortController();
    embedder.before = () => {
      if (embedder.asked.length === 20) ending.abort();
    };
    const first = await reembed.run(request({ signal: ending.signal }));
    expect(first.updated).toBe(20);
    expect(first.remaining).toBe(60 - first.updated);
    embedder.before = () => {};
    expect(await reembed.run(request())).toMatchObject({ updated: first.remaining, remaining: 0 });
    expect(embedder.asked).toHaveLength(60);
  });

  test("counts what fails and keeps its old vector", async () => {
    const { reembed, embedder } = await filled(3);
    await reembed.run(request());
    const victim = String((await row(db(), sql`select content from brain_observations order by id limit 1`)).content);
    embedder.label = "new/name-type-1";
    embedder.before = (text) => {
      if (text.endsWith(victim)) throw new Error("the model choked");
    };
    expect(await reembed.run(request())).toMatchObject({ fetched: 3, updated: 2, failed: 1, remaining: 1 });
    expect(await labels()).toEqual([
      { label: "letters/name-type-1", n: 1 },
      { label: "new/name-type-1", n: 2 },
    ]);
  });

  test("stays in its scope, most important first where it is limited", async () => {
    const p = await project(db());
    await filled(2);
    const { reembed, embedder, call } = await filled(2, p);
    embedder.state = stateOf("missing");
    await call("cuba_cronica", { action: "add", entity_name: "E", content: "The decision of the project", observation_type: "decision" });
    embedder.state = stateOf("ready");
    const scope = { kind: "project", id: p } as const;
    expect(await reembed.run(request({ scope, limit: 1 }))).toMatchObject({ due: 1, updated: 1, remaining: 2 });
    expect(embedder.asked).toEqual(["E (concept): The decision of the project"]);
    expect(await reembed.run(request({ scope }))).toMatchObject({ updated: 2, remaining: 0 });
    expect(await rows(db(), sql`select count(*)::int as n from brain_observations where embedding is null`)).toEqual([{ n: 2 }]);
  });
});
