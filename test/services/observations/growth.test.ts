/** What an add visits, counted by the engine: the same at the first observation and at the ten thousandth, also under plans made when everything was empty. */
import { beforeAll, expect, test } from "bun:test";
import { eachEngine } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { project } from "../../support/statements.ts";
import { counting, type Visits } from "../../support/visited.ts";

const FILL_MS = 240_000;
const ENTITIES = 10_000;
const BUSY_ROWS = 1_000;
/** Executions after which the server keeps one plan for all values, where it may choose. */
const WARM = 7;

const text = (i: number) => `Deployment ${i} of the payment gateway finished after ${i % 97} seconds without errors`;
const total = (visits: Visits) => Object.values(visits).reduce((sum, rows) => sum + rows, 0);

eachEngine("observations-growth", (engine) => {
  let projectId = "";
  const seen = new Map<string, Visits>();
  beforeAll(async () => {
    projectId = await project(engine.db);
    const { db, latest } = counting(engine.db);
    const call = graphOver(db).caller({ kind: "project", id: projectId });
    let serial = 0;
    const add = async (entityName: string) => {
      const answer = await call("cuba_cronica", { action: "add", entity_name: entityName, content: text(++serial) });
      expect(typeof answer.id).toBe("string");
      return latest();
    };
    for (let i = 0; i < WARM; i++) await add(`early ${i}`);
    for (let i = 0; i < 8; i++) await add("busy");
    seen.set("a new name among few", await add("early and new"));
    seen.set("the 10th of an entity", await add("busy"));
    // With the triggers: to switch them off would drop the kept plans, and those are what is tested.
    await engine.db.asOwner((owner) =>
      owner.script(`
        insert into brain_entities (name, name_key, lexical, project_id, created_at)
        select 'filler ' || i, 'filler' || i, 'x', '${projectId}', now() - i * interval '1 s' from generate_series(1, ${ENTITIES}) as i;
        insert into brain_observations (entity_id, project_id, content, lexical, importance, created_at)
        select e.id, '${projectId}', 'filler of ' || e.name, 'x', 0.01, e.created_at from brain_entities as e where e.name like 'filler %';
        insert into brain_observations (entity_id, project_id, content, lexical, created_at)
        select e.id, '${projectId}', 'old note ' || i || ' of the busy one', 'x', now() - i * interval '1 s'
        from brain_entities as e, generate_series(1, ${BUSY_ROWS - 11}) as i where e.name = 'busy';`),
    );
    // A server analyzes by itself; nobody analyzes the embedded database, so it keeps the plans that suited few rows.
    if (engine.name === "postgres") await engine.db.asOwner((owner) => owner.script("analyze brain_entities, brain_observations"));
    for (let i = 0; i < WARM; i++) await add(`late ${i}`);
    seen.set("a new name among 10,000", await add("late and new"));
    seen.set("the 1,000th of an entity", await add("busy"));
    const { id } = await call("cuba_cronica", { action: "add", entity_name: "busy", content: text(++serial) });
    await call("cuba_cronica", { action: "delete", observation_id: id });
    seen.set("a deletion", latest());
    const decision = { action: "record", title: "Use the queue", context: "bursts", chosen: "a queue", rationale: "it waits" };
    await call("cuba_decreto", decision);
    seen.set("a decision", latest());
  }, FILL_MS);

  test("a new name among 10,000 costs the visits of one among a few", () => {
    const few = seen.get("a new name among few") ?? {};
    const many = seen.get("a new name among 10,000") ?? {};
    expect(total(few)).toBeGreaterThan(0);
    expect(many.brain_entities ?? 0).toBeLessThanOrEqual((few.brain_entities ?? 0) + 2);
    expect(total(many)).toBeLessThanOrEqual(total(few) + 10);
  });

  test("the 1,000th observation of an entity visits what is bounded by constants, and a few rows more than the 10th", () => {
    const tenth = seen.get("the 10th of an entity") ?? {};
    const late = seen.get("the 1,000th of an entity") ?? {};
    expect(total(tenth)).toBeGreaterThan(0);
    // Live rows are counted up to 101 and the gate compares with 20; the rest finds single rows by key.
    expect(late.brain_observations ?? 0).toBeLessThanOrEqual(150);
    expect(total(late) - (late.brain_observations ?? 0)).toBeLessThanOrEqual(total(tenth) - (tenth.brain_observations ?? 0) + 10);
  });

  test("a deletion and a decision visit their own rows, not the project's", () => {
    for (const what of ["a deletion", "a decision"]) {
      const visits = seen.get(what) ?? {};
      expect(total(visits)).toBeGreaterThan(0);
      expect(total(visits)).toBeLessThanOrEqual(60);
    }
  });
});
