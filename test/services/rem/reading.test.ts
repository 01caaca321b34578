/** The two phases that ask a language model: only where set and chosen, counted before it is asked, and nothing of it believed. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { unavailable } from "../../../src/kernel/errors.ts";
import { createLogger } from "../../../src/kernel/logger.ts";
import { batchSize } from "../../../src/services/rem/asking.ts";
import { keptTexts } from "../../../src/store/queries/rem-reading.ts";
import { chat, factsReply, ladder } from "../../support/chat.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { isHeldUp } from "../../support/locks.ts";
import { only, ran, remOver } from "../../support/rem.ts";
import { entity, observation, project, row, rows, rowsIn } from "../../support/statements.ts";

test("a batch is what was set; auto is five, and twenty entities while fifty wait", () => {
  expect(batchSize(7, 100)).toBe(7);
  expect(batchSize("auto", 49)).toBe(5);
  expect(batchSize("auto", 50)).toBe(20);
  expect(batchSize("auto", undefined)).toBe(5);
});

eachEngine("a cycle that reads with a model", (engine) => {
  beforeEach(() => engine.db.reset());
  type Given = Parameters<typeof remOver>[1];
  const scan = (given: Given) =>
    ran(remOver(engine.db, { phases: only("relations"), ...given, settings: { relationBatch: 5, ...given?.settings } }));
  const extract = (given: Given) =>
    ran(remOver(engine.db, { phases: only("extraction"), ...given, settings: { extractionBatch: 5, ...given?.settings } }));
  const count = async (table: string) => Number((await row(engine.db, sql`select count(*)::int as n from ${sql.raw(table)}`)).n);
  const linked = (to: string, from = "api") => ({ relations: [{ from, to, relation_type: "depends_on" }] });
  const known = async (name: string, content: string, projectId: string | null = null) => {
    const id = await entity(engine.db, projectId, name);
    await observation(engine.db, id, { content, project: projectId });
    return id;
  };

  // The embedded engine has one connection: nobody there waits for another's lock.
  if (engine.name === "postgres")
    test("whoever forgets an entity is waited for with none of its texts held", async () => {
      const api = await known("api", "the api depends on the broker");
      const [text] = await rows(engine.db, sql`select id from brain_observations`);
      const kept = { ids: [String(text?.id)], contents: ["the api depends on the broker"] };
      let keeping: Promise<unknown> | undefined;
      await engine.db.write(testScope(), async (tx) => {
        await rowsIn(tx, sql`select id from brain_entities where id = ${api}::uuid for update`);
        keeping = engine.db.write(testScope(), (other) => other.all(keptTexts(kept)));
        while (!(await isHeldUp(engine.db))) await Bun.sleep(5);
        expect(await rowsIn(tx, sql`select id from brain_observations for update nowait`)).toEqual([{ id: text?.id }]);
      });
      expect(await keeping).toEqual([{ id: text?.id }]);
    });

  test("nothing is asked where the variable is not set, and nothing where nobody chose a model", async () => {
    await known("api", "the api depends on the broker");
    const model = chat(linked("broker"));
    const off = await ran(remOver(engine.db, { phases: only("relations", "extraction"), ladder: ladder(model) }));
    expect(off.phases["relations"]?.skipped).toContain("CUBA_REM_RELATION_BATCH");
    expect(off.phases["extraction"]?.skipped).toContain("CUBA_REM_EXTRACTION_BATCH");
    const nobody = await scan({});
    expect(nobody.phases["relations"]?.skipped).toContain("no language model was chosen");
    expect([off.llmCalls, nobody.llmCalls, model.prompts.length]).toEqual([0, 0, 0]);
    expect(await rows(engine.db, sql`select relation_scan_attempts, relations_scanned_at from brain_entities`)).toEqual([
      { relation_scan_attempts: 0, relations_scanned_at: null },
    ]);
  });

  test("an entity is asked about once, its links are marked as read by a model, in its project; a newer observation brings it back", async () => {
    const p = await project(engine.db);
    const api = await known("api", "the api depends on the broker", p);
    const model = chat(
      { relations: [] },
      {
        relations: [
          { from: "api", to: "broker", relation_type: "marries" },
          { from: "api", to: "API" },
          { from: "", to: "x" },
        ],
      },
    );
    expect((await scan({ ladder: ladder(model) })).entitiesScanned).toBe(1);
    expect((await scan({ ladder: ladder(model) })).entitiesScanned).toBe(0);
    await observation(engine.db, api, { content: "and on the cache", project: p });
    const record = await scan({ ladder: ladder(model) });
    expect([record.entitiesScanned, record.llmCalls, model.prompts.length]).toEqual([1, 1, 2]);
    expect(model.prompts[0]).toContain("the api depends on the broker");
    expect(model.prompts[0]).toContain("An empty list is a valid");
    expect(await rows(engine.db, sql`select relation_type, provenance, project_id from brain_relations`)).toEqual([
      { relation_type: "related_to", provenance: "inferred", project_id: p },
    ]);
    expect(await rows(engine.db, sql`select distinct project_id from brain_entities`)).toEqual([{ project_id: p }]);
    expect((await scan({ ladder: ladder(model) })).entitiesScanned).toBe(0);
  });

  test("a name that is an alias leads to the entity that has it: what was merged does not come back", async () => {
    await known("api", "the api uses Postgres");
    const kept = await entity(engine.db, null, "PostgreSQL");
    await rows(
      engine.db,
      sql`insert into brain_entity_aliases (entity_id, alias_text) values (${kept}::uuid, 'Postgres') returning alias_id`,
    );
    await scan({ ladder: ladder(chat(linked("Postgres"))) });
    expect(await count("brain_entities")).toBe(2);
    expect(await rows(engine.db, sql`select to_entity from brain_relations`)).toEqual([{ to_entity: kept }]);
  });

  test("withheld and retired texts are never shown to a model", async () => {
    const api = await known("api", "the api listens on 8080");
    for (const [content, change] of [
      ["planted words", sql`trust = 'quarantined'`],
      ["retired words", sql`observation_type = 'superseded'`],
    ] as const) {
      const id = await observation(engine.db, api, { content });
      await rows(engine.db, sql`update brain_observations set ${change} where id = ${id}::uuid returning id`);
    }
    const model = chat({ relations: [], facts: [] });
    await scan({ ladder: ladder(model) });
    await extract({ ladder: ladder(model) });
    expect(model.prompts.length).toBe(2);
    expect(model.prompts.join()).not.toContain("planted");
    expect(model.prompts.join()).not.toContain("retired");
  });

  test("a name that only withheld text speaks of is not put to a model, however well it is linked; it is once that is promoted", async () => {
    const p = await project(engine.db);
    const api = await known("api", "the api listens on 8080", p);
    const [hub, leaf] = [await known("planted hub", "planted words", p), await known("broker", "the broker queues", p)];
    const elsewhere = await known("foreign hub", "another project's words", null);
    for (const [from, to, of] of [
      [hub, leaf, p],
      [elsewhere, await known("foreign leaf", "more of them", null), null],
    ] as const)
      await rows(
        engine.db,
        sql`insert into brain_relations (from_entity, to_entity, relation_type, project_id) values (${from}::uuid, ${to}::uuid, 'uses', ${of}::uuid) returning id`,
      );
    const trust = (word: string) =>
      rows(engine.db, sql`update brain_observations set trust = ${word}::text where entity_id = ${hub}::uuid returning id`);
    await trust("quarantined");
    const model = chat({ relations: [] });
    await scan({ ladder: ladder(model) });
    expect(model.prompts.join()).toContain("broker");
    expect(model.prompts.join()).not.toContain("planted");
    expect(model.prompts.join()).not.toContain("foreign");
    await trust("trusted");
    await observation(engine.db, api, { content: "and on 8081", project: p });
    await scan({ ladder: ladder(model) });
    expect(model.prompts.at(-1)).toContain("planted hub");
    expect(model.prompts.at(-1)).not.toContain("foreign");
  });

  test("two failures in a row end the phase; what failed sinks behind what is fresh and is parked at eight", async () => {
    const [first] = [await known("a", "one"), await known("b", "two"), await known("c", "three")];
    const broken = chat(unavailable("The chat endpoint could not be reached."));
    const record = await scan({ ladder: ladder(broken) });
    expect([record.relationScanFailed, broken.prompts.length]).toEqual([2, 2]);
    expect(record.phases["relations"]?.note).toContain("2 failures in a row");
    expect(
      await rows(engine.db, sql`select relation_scan_attempts as n, relations_scanned_at as at from brain_entities order by n`),
    ).toEqual([
      { n: 0, at: null },
      { n: 1, at: null },
      { n: 1, at: null },
    ]);
    const one = chat({ relations: [] });
    await scan({ ladder: ladder(one), settings: { relationBatch: 1 } });
    const fresh = await row(engine.db, sql`select relation_scan_attempts as n from brain_entities where relations_scanned_at is not null`);
    expect(fresh.n).toBe(0);
    await rows(
      engine.db,
      sql`update brain_entities set relation_scan_attempts = 8, relations_scanned_at = null where id = ${first}::uuid returning id`,
    );
    const last = chat({ relations: [] });
    await scan({ ladder: ladder(last) });
    expect(last.prompts.join()).not.toContain("- one");
  });

  test("a reply that is no JSON is a failure, not an empty answer", async () => {
    await known("api", "the api depends on the broker");
    expect((await scan({ ladder: ladder(chat("Sure! Here are the relations you asked for.")) })).relationScanFailed).toBe(1);
    expect((await extract({ ladder: ladder(chat("I cannot help with that.")) })).extractionFailed).toBe(1);
  });

  test("the day's cap holds over cycles, says why it stopped, and counts a question before it is put", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await known(name, `what ${name} is about`);
    const seen: unknown[] = [];
    const model = chat(async () => {
      seen.push(await rows(engine.db, sql`select llm_calls::int as n from brain_rem_cycles order by started_at desc limit 1`));
      return '{"relations": []}';
    });
    const first = await scan({ ladder: ladder(model), settings: { relationBatch: 2, llmDailyCap: 3 } });
    const second = await scan({ ladder: ladder(model), settings: { relationBatch: 2, llmDailyCap: 3 } });
    expect([first.llmCalls, second.llmCalls, model.prompts.length]).toEqual([2, 1, 3]);
    expect(seen[0]).toEqual([{ n: 1 }]);
    expect(second.phases["relations"]?.note).toContain("CUBA_LLM_DAILY_CAP");
    expect(second.relationScanFailed).toBe(0);
    expect((await scan({ ladder: ladder(model), settings: { llmDailyCap: 0 } })).llmCalls).toBe(0);
    await rows(
      engine.db,
      sql`update brain_rem_cycles set started_at = started_at - interval '1 day', finished_at = finished_at - interval '1 day' returning id`,
    );
    expect((await scan({ ladder: ladder(model), settings: { relationBatch: 1, llmDailyCap: 3 } })).llmCalls).toBe(1);
  });

  test("a cap that is reached is no failure of a model: nothing is logged, whatever the number of models", async () => {
    await known("a", "what a is about");
    const lines: string[] = [];
    const log = createLogger({ level: "warn", write: (line) => lines.push(line) });
    const models = [chat({ relations: [], facts: [] }), chat({ relations: [], facts: [] })];
    for (const read of [scan, extract]) {
      const record = await read({ ladder: ladder(...models), log, settings: { llmDailyCap: 0 } });
      expect(Object.values(record.phases)[0]?.note).toContain("CUBA_LLM_DAILY_CAP");
      expect([record.error, record.llmCalls, record.relationScanFailed, record.extractionFailed]).toEqual([null, 0, 0, 0]);
    }
    expect([lines, models.flatMap(({ prompts }) => prompts)]).toEqual([[], []]);
  });

  test("what a model reads out of a memory is withheld, writes no relation, stays in the project, and is never read again itself", async () => {
    const p = await project(engine.db);
    await known("api", "the gateway of the api listens on port 8080", p);
    const model = chat({ ...factsReply(["gateway", "the gateway listens on port 8080"]), ...linked("gateway") });
    const record = await extract({ ladder: ladder(model) });
    expect([record.factsExtracted, record.llmCalls]).toEqual([1, 1]);
    expect(
      await rows(engine.db, sql`select content, trust, source, project_id from brain_observations where source = 'inference'`),
    ).toEqual([{ content: "the gateway listens on port 8080", trust: "quarantined", source: "inference", project_id: p }]);
    expect(await count("brain_relations")).toBe(0);
    await rows(engine.db, sql`update brain_observations set trust = 'trusted' returning id`);
    expect((await extract({ ladder: ladder(model) })).llmCalls).toBe(0);
  });

  test("what is forgotten while a model reads it is not written, and what waits behind it is not shown", async () => {
    const forget = (name: string) => graphOver(engine.db).caller({ kind: "none" })("cuba_forget", { entity_name: name, confirm: true });
    await known("Zyx Mira", "Zyx Mira leads the gateway of payments");
    await known("Bea Sanz", "Bea Sanz leads the broker");
    await known("api", "the api is slow");
    const reader = chat(async () => {
      await forget("Zyx Mira");
      await forget("Bea Sanz");
      return JSON.stringify(factsReply(["Zyx Mira", "Zyx Mira leads the gateway"], ["gateway", "Zyx Mira leads the gateway"]));
    }, factsReply());
    const record = await extract({ ladder: ladder(reader) });
    expect([record.factsExtracted, record.extractionFailed, record.llmCalls, record.error]).toEqual([0, 0, 2, null]);
    expect(reader.prompts.join()).not.toContain("Bea Sanz");
    expect(await rows(engine.db, sql`select name from brain_entities`)).toEqual([{ name: "api" }]);
    expect(await rows(engine.db, sql`select content from brain_observations`)).toEqual([{ content: "the api is slow" }]);

    // The same for links: neither the entity that was asked about nor a name that was shown beside it comes back.
    const linkedTo = async (name: string) => {
      const [from, to] = [await known(name, `${name} queues`), await known(`what ${name.length} wrote`, "a page of the wiki")];
      await rows(
        engine.db,
        sql`insert into brain_relations (from_entity, to_entity, relation_type) values (${from}::uuid, ${to}::uuid, 'uses') returning id`,
      );
    };
    await linkedTo("Carla Ruiz");
    await linkedTo("Dora Paz");
    const hers = await known("Zyx Mira", "Zyx Mira leads the gateway");
    await observation(engine.db, hers, { content: "Zyx Mira is asked about first, having more" });
    const linker = chat(
      async () => {
        await forget("Zyx Mira");
        await forget("Carla Ruiz");
        return JSON.stringify(linked("gateway", "Zyx Mira"));
      },
      async () => {
        await forget("Dora Paz");
        return JSON.stringify({ relations: [...linked("dora paz", "api").relations, ...linked("broker", "api").relations] });
      },
    );
    const links = await scan({ ladder: ladder(linker) });
    expect([links.relationScanFailed, links.llmCalls, links.error]).toEqual([0, 2, null]);
    expect(linker.prompts[1]).not.toContain("Carla");
    expect(linker.prompts[1]).toContain("Dora Paz");
    expect((await rows(engine.db, sql`select name from brain_entities order by name`)).map(({ name }) => name)).toEqual([
      "api",
      "broker",
      "what 10 wrote",
      "what 8 wrote",
    ]);
  });

  test("a text with a credential is never shown and is done with; a failing one keeps waiting; a changed one starts again", async () => {
    const api = await entity(engine.db, null, "api");
    const secret = await observation(engine.db, api, { content: `the key is ghp_${"a1B2".repeat(9)}` });
    const plain = await observation(engine.db, api, { content: "the api is slow on Mondays" });
    const broken = chat(unavailable("away"));
    const record = await extract({ ladder: ladder(broken) });
    expect([record.extractionFailed, broken.prompts.length]).toEqual([1, 1]);
    expect(broken.prompts.join()).not.toContain("ghp_");
    const states = () =>
      rows(engine.db, sql`select id, extraction_attempts as n, extracted_at is not null as done from brain_observations order by content`);
    expect(await states()).toEqual([
      { id: plain, n: 1, done: false },
      { id: secret, n: 0, done: true },
    ]);
    await rows(engine.db, sql`update brain_observations set extraction_attempts = 8 where id = ${plain}::uuid returning id`);
    const model = chat(factsReply());
    expect((await extract({ ladder: ladder(model) })).llmCalls).toBe(0);
    await rows(
      engine.db,
      sql`update brain_observations set content = 'the api is slow on Tuesdays' where id = ${plain}::uuid returning id`,
    );
    expect((await extract({ ladder: ladder(model) })).llmCalls).toBe(1);
  });
});
