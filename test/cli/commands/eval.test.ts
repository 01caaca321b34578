import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost } from "../fake-host.ts";

describe("eval", () => {
  test("measures through the owner, with every setting that was given", async () => {
    const host = fakeHost({ answer: () => ({ report: { metrics: { ndcg_at_k: 0.5 } }, text: "nDCG@5=0.5000" }) });
    expect(
      await runCli(
        [
          "eval",
          "-d",
          "q.jsonl",
          "--k",
          "5",
          "--no-vector",
          "--cover-density",
          "--lexical-only",
          "--max-tokens=5000",
          "--no-entity-leg",
          "--fusion=rrf",
          "--goal",
          "ship it",
        ],
        host,
      ),
    ).toBe(0);
    expect(host.sent[0]?.method).toBe("owner/evaluate");
    expect(host.sent[0]?.params).toMatchObject({
      dataset: resolve("q.jsonl"),
      settings: {
        k: 5,
        maxTokens: 5000,
        vector: false,
        bm25: true,
        text: true,
        coverDensity: true,
        lexicalOnly: true,
        format: "verbose",
        mmrLambda: 0.7,
        entityLeg: false,
        fusion: "rrf",
        goal: "ship it",
      },
    });
    expect(host.out()).toBe("nDCG@5=0.5000\n");
    expect(host.err()).toBe("");
  });

  test("--json prints the report alone", async () => {
    const host = fakeHost({ answer: () => ({ report: { samples: 3 }, text: "…" }) });
    await runCli(["eval", "--json"], host);
    expect(JSON.parse(host.out())).toEqual({ samples: 3 });
    expect(host.sent[0]?.params).not.toHaveProperty("dataset");
    // Three questions that nobody wrote for this memory: a nought says nothing about it.
    expect(host.err()).toContain("three built-in questions");
  });

  test("--load fills first; alone it measures nothing", async () => {
    const answer = ({ method }: { method: string }) =>
      method === "owner/load" ? { observations: 7, entities: 2, withoutVector: 0 } : { report: {}, text: "" };
    const alone = fakeHost({ answer });
    expect(await runCli(["eval", "--load", "c.jsonl"], alone)).toBe(0);
    expect(alone.sent).toEqual([{ method: "owner/load", params: { corpus: resolve("c.jsonl") } }]);
    expect(alone.err()).toContain("Loaded 7 memories about 2 entities");
    const both = fakeHost({ answer });
    await runCli(["eval", "--load", "c.jsonl", "--dataset", "q.jsonl", "--project", "harbor"], both);
    expect(both.sent.map(({ method }) => method)).toEqual(["owner/load", "owner/evaluate"]);
    for (const { params } of both.sent) expect(params).toMatchObject({ project: "harbor" });
  });

  test("--compare needs no database: two reports, pair by pair", async () => {
    const host = fakeHost();
    const file = (name: string, scores: number[]) => {
      writeFileSync(join(host.home, name), JSON.stringify({ metrics: { per_query_ndcg: scores } }));
      return join(host.home, name);
    };
    expect(await runCli(["eval", "--compare", file("a.json", [0, 0.5, 1]), file("b.json", [0.5, 0.5, 1])], host)).toBe(0);
    expect(host.out()).toContain("n=3");
    expect(host.life).toEqual([]);
    expect(await runCli(["eval", "--compare", file("a.json", [0, 1]), file("b.json", [1])], host)).toBe(1);
    expect(await runCli(["eval", "--compare", file("a.json", [0])], host)).toBe(2);
    expect(await runCli(["eval", "--compare", "none.json", file("b.json", [1])], host)).toBe(1);
  });
});
