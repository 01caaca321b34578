/** What must hold whatever is called (`tools-graph.md` §5), tried with random sequences of calls. */
import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { MemoryError } from "../../../src/kernel/errors.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { testEmbedder } from "../../support/embedder.ts";
import { eachEngine } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { project, rows } from "../../support/statements.ts";

const RUNS = 12;
const LIMIT_MS = 120_000;

const names = fc.constantFrom("alpha", "Alpha", "beta", "gamma", " beta ", "nobody");
const texts = fc.constantFrom(
  "The retry limit is 5",
  "The retry limit is 5.",
  "The retry limit is 6",
  "retry limit of the queue",
  "retry limit of queue",
  "A depends on B",
  "B depends on A",
  "One sentence of many about it. ".repeat(70),
  "部署在周五下午",
);
const odd = fc.constantFrom<unknown>("", "  ", 5, null, "x".repeat(10_001), "\u0000", "deploy uses ghp_abcdefghijklmnop", ["a"], {});
const maybe = (good: fc.Arbitrary<unknown>) => fc.oneof({ weight: 9, arbitrary: good }, { weight: 1, arbitrary: odd });

const calls = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      tool: fc.constant("cuba_cronica"),
      action: fc.constant("add"),
      entity_name: maybe(names),
      content: maybe(texts),
      observation_type: maybe(fc.constantFrom("fact", "decision", "lesson", "context")),
      source: fc.constantFrom("agent", "user", "inference"),
      trust: fc.constantFrom("quarantined", "trusted"),
      force: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      tool: fc.constant("cuba_cronica"),
      action: fc.constant("batch_add"),
      observations: fc.array(fc.record({ entity_name: maybe(names), content: maybe(texts) }), { maxLength: 6 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      tool: fc.constant("cuba_cronica"),
      action: fc.constant("episode_add"),
      entity_name: maybe(names),
      content: maybe(texts),
      actors: maybe(fc.constant(["Ana"])),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      tool: fc.constantFrom("cuba_cronica"),
      action: fc.constantFrom("list", "timeline", "episode_list"),
      entity_name: maybe(names),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ tool: fc.constant("cuba_alma"), action: fc.constantFrom("create", "get", "delete"), name: maybe(names) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ tool: fc.constant("cuba_alma"), action: fc.constant("update"), name: names, new_name: maybe(names) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      tool: fc.constant("cuba_puente"),
      action: fc.constantFrom("create", "delete"),
      from_entity: maybe(names),
      to_entity: maybe(names),
      bidirectional: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      tool: fc.constant("cuba_puente"),
      action: fc.constantFrom("traverse", "infer", "predict"),
      start_entity: maybe(names),
      persist: fc.boolean(),
    }),
  },
);

eachEngine("after any sequence of graph calls", (engine) => {
  test(
    "every rule of the data model holds, no observation is gone, no refusal wrote, and no project saw another",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.constantFrom("mine", "theirs"), calls), { minLength: 5, maxLength: 30 }),
          async (sequence) => {
            await engine.db.reset();
            const graph = graphOver(engine.db, { embedder: testEmbedder("ready"), quarantineInference: true });
            const scopes = { mine: await project(engine.db, "mine"), theirs: await project(engine.db, "theirs") };
            const stored = new Set<string>();
            /** Whatever an answer says is stored can be read by its id. */
            const found = async (answer: Record<string, unknown>) => {
              const ids = [answer.id, answer.existing_id, answer.reinforced_id, ...(Array.isArray(answer.ids) ? answer.ids : [])];
              for (const id of ids.filter((each) => typeof each === "string"))
                expect(
                  await rows(
                    engine.db,
                    sql`select 1 from brain_observations where id = ${id}::uuid union all select 1 from brain_episodes where id = ${id}::uuid`,
                  ),
                ).toHaveLength(1);
            };
            const all = async () => new Set((await rows(engine.db, sql`select id from brain_observations`)).map((each) => String(each.id)));
            for (const [side, { tool, ...args }] of sequence) {
              const marked =
                "content" in args && typeof args.content === "string" && args.content.trim() !== ""
                  ? { ...args, content: `${side}: ${args.content}` }
                  : args;
              try {
                const answer = await graph.caller({ kind: "project", id: scopes[side] })(tool, marked);
                expect(JSON.stringify(answer)).not.toContain(side === "mine" ? "theirs: " : "mine: ");
                await found(answer);
              } catch (error) {
                if (!(error instanceof MemoryError)) throw error;
                expect(["invalid", "not_found", "refused", "conflict"]).toContain(error.code);
                expect(error.message).not.toContain("ghp_");
                expect(await all()).toEqual(stored);
              }
              const now = await all();
              for (const id of stored) expect(now.has(id)).toBe(true);
              for (const id of now) stored.add(id);
            }
            expect(await graph.background.drain(10_000)).toBe(0);
            expect(await graph.queue.drain(10_000)).toBe(0);
            expect(await engine.db.asOwner(brokenInvariants)).toEqual([]);
            const odds = await rows(
              engine.db,
              sql`select 1 from brain_observations o join brain_entities e on e.id = o.entity_id
                where o.evidence <> 'asserted' or o.version <> 1 or cardinality(o.tags) > 5 or o.lexical is null or o.project_id is null
                   or o.project_id is distinct from e.project_id or (o.source = 'inference' and o.trust <> 'quarantined')
                   or o.words_mark is null or o.embedding is null`,
            );
            expect(odds).toEqual([]);
          },
        ),
        { numRuns: RUNS },
      );
    },
    LIMIT_MS,
  );
});
