/** No answer above 10,000 tokens, with the longest names there can be. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver } from "../support/graph.ts";
import { rows } from "../support/statements.ts";

const LIMIT_MS = 60_000;
const longName = (i: number) => `${String(i).padStart(3, "0")}${"界".repeat(197)}`;

eachEngine("answers of the graph tools", (engine) => {
  beforeEach(() => engine.db.reset());
  const call = (tool: string, args: Record<string, unknown>) => graphOver(engine.db).caller()(tool, args);

  test(
    "about entities with names of 200 characters stay below the limit and say what they leave out",
    async () => {
      const count = await tokenCounter();
      await rows(
        engine.db,
        sql`insert into brain_entities (name, name_key) select lpad(i::text, 3, '0') || repeat('界', 197), 'k' || i from generate_series(0, 120) as i`,
      );
      // 0 → 1…60 → 61…120: sixty neighbours, sixty behind them.
      await rows(
        engine.db,
        sql`insert into brain_relations (from_entity, to_entity, relation_type)
            select f.id, t.id, 'uses' from brain_entities f join brain_entities t
              on (f.name like '000%' and left(t.name, 3)::int between 1 and 60) or (left(f.name, 3)::int between 1 and 60 and left(t.name, 3)::int = left(f.name, 3)::int + 60)`,
      );
      await rows(
        engine.db,
        sql`insert into brain_entity_aliases (entity_id, alias_text) select e.id, lpad(i::text, 3, 'x') || repeat('名', 190)
            from brain_entities e, generate_series(1, 60) i where e.name like '000%'`,
      );
      for (const [tool, args] of [
        ["cuba_alma", { action: "get", name: longName(0) }],
        ["cuba_puente", { action: "traverse", start_entity: longName(0), max_depth: 5 }],
        ["cuba_puente", { action: "infer", start_entity: longName(0), max_depth: 5 }],
        ["cuba_puente", { action: "predict", entity_name: longName(0), limit: 50 }],
      ] as const) {
        const answer = await call(tool, args);
        expect(count(JSON.stringify(answer))).toBeLessThanOrEqual(10_000);
        expect(JSON.stringify(answer)).toMatch(/"(truncated|relations_truncated)":true/);
      }
    },
    LIMIT_MS,
  );

  test(
    "that repeat a text, or show a recipe, do too where each is as long as it may be",
    async () => {
      const count = await tokenCounter();
      const size = async (answer: unknown) => count(JSON.stringify(await answer));
      const han = (chars: number) => "瀑龘靐齉爩鱻麤龗灪讟".repeat(chars / 10);
      const { id } = await call("cuba_cronica", { action: "add", entity_name: "E", content: "short" });
      expect(await size(call("cuba_eco", { action: "correct", observation_id: id, correction: han(10_000) }))).toBeLessThanOrEqual(10_000);
      const { error_id } = await call("cuba_alarma", { error_type: "E", error_message: "no" });
      expect(await size(call("cuba_remedio", { error_id, solution: han(10_000) }))).toBeLessThanOrEqual(10_000);
      const recipe = {
        name: "deploy",
        trigger: han(1_000),
        preconditions: han(2_000),
        verification: han(2_000),
        steps: [{ do: han(1_000), run: han(4_000), expect: han(1_000) }],
      };
      expect(await size(call("cuba_receta", { action: "add", ...recipe }))).toBeLessThanOrEqual(10_000);
      expect(await size(call("cuba_receta", { action: "outcome", name: "deploy", success: true }))).toBeLessThanOrEqual(10_000);
      for (const args of [{ action: "get", name: "deploy" }, { action: "list" }, { action: "search", query: "deploy" }])
        expect(await size(call("cuba_receta", args))).toBeLessThanOrEqual(10_000);
    },
    LIMIT_MS,
  );

  test(
    "about a batch of a hundred conflicts or a hundred faults too",
    async () => {
      const count = await tokenCounter();
      const text = (i: number, version: number) =>
        `${"部署计划和回滚步骤由平台团队负责".repeat(5)} host${String(i).padStart(3, "0")} 版本 ${version}`;
      const batch = (version: number, more: Record<string, unknown> = {}) =>
        call("cuba_cronica", {
          action: "batch_add",
          observations: Array.from({ length: 100 }, (_, i) => ({ entity_name: `E${i}`, content: text(i, version), ...more })),
        });
      expect(await batch(1)).toMatchObject({ added: 100, possible_conflicts: [] });
      const conflicts = await batch(2);
      expect(conflicts).toMatchObject({ added: 100, possible_conflicts_total: 100 });
      expect(count(JSON.stringify(conflicts))).toBeLessThanOrEqual(10_000);
      const faults = await batch(3, { observation_type: "界".repeat(60) });
      expect(faults).toMatchObject({ added: 0, rejected_total: 100 });
      expect(count(JSON.stringify(faults))).toBeLessThanOrEqual(10_000);
    },
    LIMIT_MS,
  );
});
