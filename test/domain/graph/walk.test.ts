import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { explainEffect } from "../../../src/domain/graph/causes.ts";
import { bestPaths, clampDepth, inferConnections, pathText, reachableFrom } from "../../../src/domain/graph/walk.ts";
import { edge } from "../../support/edges.ts";

/** The cyclic graph of the specification. */
const cyclic = [edge("A", "B"), edge("A", "C"), edge("B", "D", 0.5), edge("C", "D", 0.8), edge("D", "A"), edge("C", "E", 0.4)];

const anyEdges = fc
  .array(
    fc.record({
      from: fc.constantFrom(..."ABCDEF"),
      to: fc.constantFrom(..."ABCDEF"),
      strength: fc.double({ min: 0.01, max: 1, noNaN: true }),
      isBidirectional: fc.boolean(),
    }),
    { maxLength: 14 },
  )
  .map((list) => list.map(({ from, to, strength, isBidirectional }) => edge(from, to, strength, { isBidirectional })));

describe("traverse", () => {
  test("finds each node once, by the shortest way and the strongest edge, and never the start", () => {
    expect(reachableFrom(cyclic, "A", { maxDepth: 5 }).map(({ node, depth, step }) => [node, depth, step.from])).toEqual([
      ["B", 1, "A"],
      ["C", 1, "A"],
      ["D", 2, "C"],
      ["E", 2, "C"],
    ]);
  });

  test("walks a bidirectional edge backwards, another only when asked", () => {
    expect(reachableFrom([edge("A", "B", 1, { isBidirectional: true })], "B").map((each) => each.node)).toEqual(["A"]);
    expect(reachableFrom([edge("A", "B")], "B")).toEqual([]);
    expect(reachableFrom([edge("A", "B")], "B", { direction: "in" }).map((each) => each.node)).toEqual(["A"]);
  });

  test("reaches what a plain search reaches, each node at its distance", () => {
    fc.assert(
      fc.property(anyEdges, (edges) => {
        const reached = reachableFrom(edges, "A", { maxDepth: 5, direction: "both" });
        expect(new Set(reached.map((each) => each.node)).size).toBe(reached.length);
        const distance = new Map([["A", 0], ...reached.map((each) => [each.node, each.depth] as const)]);
        for (const { from, to } of edges) {
          const near = distance.get(from);
          if (near !== undefined && near < 5) expect(distance.get(to)).toBeLessThanOrEqual(near + 1);
        }
      }),
    );
  });

  test("depth is 1 to 5, 3 where nothing is said", () => {
    expect([99, 0, -1, 2, undefined, 2.5].map(clampDepth)).toEqual([5, 1, 1, 2, 3, 3]);
  });
});

describe("infer", () => {
  test("gives D 0.8 and E 0.4, not the start and not the neighbours", () => {
    expect(inferConnections(cyclic, "A").map(({ node, strength, steps }) => [node, strength, steps.length])).toEqual([
      ["D", 0.8, 2],
      ["E", 0.4, 2],
    ]);
  });

  test("takes a longer path where it is stronger", () => {
    const edges = [edge("A", "B", 0.2), edge("B", "D", 1), edge("A", "C", 1), edge("C", "X", 1), edge("X", "D", 0.9)];
    const found = inferConnections(edges, "A").find((each) => each.node === "D");
    expect(found?.strength).toBeCloseTo(0.9, 12);
    expect(pathText(found ?? { steps: [], strength: 0 })).toBe("A -[uses]-> C -[uses]-> X -[uses]-> D");
  });

  test("never finds a strength above 1, and no path that meets itself", () => {
    fc.assert(
      fc.property(anyEdges, (edges) => {
        for (const { strength, steps } of inferConnections(edges, "A", { maxDepth: 5 })) {
          expect(strength).toBeLessThanOrEqual(1);
          expect(new Set(["A", ...steps.map((step) => step.to)]).size).toBe(steps.length + 1);
        }
      }),
    );
  });
});

describe("paths", () => {
  test("come weakest first with their scores", () => {
    const paths = bestPaths(cyclic, "A", { maxDepth: 2 });
    expect(paths.map((path) => [pathText(path), Number(path.score.toFixed(4))])).toEqual([
      ["A -[uses]-> C -[uses]-> E", 0.1333],
      ["A -[uses]-> B -[uses]-> D", 0.1667],
      ["A -[uses]-> C -[uses]-> D", 0.2667],
      ["A -[uses]-> C", 0.5],
      ["A -[uses]-> B", 0.5],
    ]);
  });

  test("stay within five paths and twenty nodes, and never meet themselves", () => {
    const star = Array.from({ length: 40 }, (_, at) => edge("A", `n${at}`));
    expect(bestPaths(star, "A")).toHaveLength(5);
    expect(bestPaths(star, "A", { maxPaths: 40 })).toHaveLength(19);
    fc.assert(
      fc.property(anyEdges, (edges) => {
        for (const { steps } of bestPaths(edges, "A", { maxDepth: 5, direction: "both" }))
          expect(new Set(["A", ...steps.map((step) => step.to)]).size).toBe(steps.length + 1);
      }),
    );
  });

  test("show an edge walked against its arrow", () => {
    expect(bestPaths([edge("B", "A", 0.5)], "A", { direction: "both" }).map(pathText)).toEqual(["A <-[uses]- B"]);
  });
});

describe("causes of an effect", () => {
  const importance = (node: string) => ({ A: 0.9, B: 0.6 })[node] ?? 0.5;
  const chain = [edge("A", "B", 0.8, { relation: "causes" }), edge("B", "E", 0.5, { relation: "causes" })];

  test("are ranked by path strength times importance", () => {
    const causes = explainEffect(chain, "E", importance, 3);
    expect(causes.map(({ node, steps, strength }) => [node, steps.length, strength])).toEqual([
      ["A", 2, 0.4],
      ["B", 1, 0.5],
    ]);
    expect(causes.map((cause) => Number(cause.plausibility.toFixed(4)))).toEqual([0.36, 0.3]);
    expect(explainEffect(chain, "E", importance, 1).map((cause) => cause.node)).toEqual(["B"]);
  });

  test("include what the effect depends on, never what depends on it", () => {
    const depends = [edge("E", "D", 1, { relation: "depends_on" })];
    expect(explainEffect(depends, "E", importance, 3).map((cause) => cause.node)).toEqual(["D"]);
    expect(explainEffect(depends, "D", importance, 3)).toEqual([]);
  });

  test("follow a mere relation both ways at half strength, and end in a cycle", () => {
    const related = [edge("X", "E", 1, { relation: "related_to" })];
    expect(explainEffect(related, "E", importance, 3)[0]?.strength).toBe(0.5);
    expect(explainEffect(related, "X", importance, 3)[0]?.strength).toBe(0.5);
    const cycle = [edge("A", "B", 1, { relation: "causes" }), edge("B", "A", 1, { relation: "causes" })];
    expect(explainEffect(cycle, "A", importance, 5).map((cause) => cause.node)).toEqual(["B"]);
  });
});
