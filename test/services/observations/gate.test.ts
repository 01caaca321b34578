import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { eachEngine } from "../../support/engines.ts";
import { notesOver } from "../../support/notes.ts";
import { row, rows } from "../../support/statements.ts";

eachEngine("cuba_cronica at the gate", (engine) => {
  beforeEach(() => engine.db.reset());
  const { db, graph, add, count } = notesOver(engine);

  describe("the duplicate gate", () => {
    for (const [first, second, kind, similarity] of [
      ["PostgreSQL is pinned to version 17", "PostgreSQL is pinned to version 18", "number", 0.8889],
      ["The retry limit is 5 attempts per request", "The retry limit is 3 attempts per request", "number", 0.9048],
      [
        "Deploys to production are approved by the platform team lead",
        "Deploys to production are not approved by the platform team lead",
        "negation",
        0.9333,
      ],
      ["Ana approves production releases for the payments team", "Bea approves production releases for the payments team", "word", 0.8704],
      ["A depends on B", "B depends on A", undefined, 1],
    ] as const)
      test(`stores "${second.slice(0, 40)}…" beside "${first.slice(0, 30)}…"`, async () => {
        const before = await add(first);
        const after = await add(second);
        expect(after).toHaveProperty("id");
        if (kind !== undefined)
          expect(after).toMatchObject({ possible_conflict: { id: before.id, content_preview: first, kind, similarity } });
        expect(await count()).toBe(2);
      });

    test("drops a text that adds nothing, says which row has it, and stores it when told to", async () => {
      const text = "Retries are capped at five per request in the gateway client";
      const first = await add(text);
      for (const again of [text, `${text}.`, `  ${text}  `, text.replace("Retries", "retries")]) {
        const answer = await add(again);
        expect(answer).toMatchObject({
          deduplicated: true,
          existing_id: first.id,
          similarity: 1,
          existing_content: text,
          embedding: "pending",
        });
        expect(answer).not.toHaveProperty("id");
      }
      expect([await count(), (await row(db(), sql`select count(*)::int as n from brain_facts`)).n]).toEqual([1, 1]);
      expect(await row(db(), sql`select access_count, importance, version from brain_observations`)).toEqual({
        access_count: 0,
        importance: 0.6,
        version: 1,
      });
      expect(await add(text, { force: true })).toHaveProperty("id");
      expect(await count()).toBe(2);
    });

    for (const [one, other] of [
      ["Thanks, Nate! Your support is greatly appreciated.", "Thanks Nate! Your support is greatly appreciated."],
      ["return the value of a + b to the caller", "return the value of a - b to the caller"],
      ["Is the migration of the users table done?", "Is the migration of the users table done!"],
      ["El límite es de 5 peticiones por segundo", "El limite es de 5 peticiones por segundo"],
      ["vitamin A is what the user takes daily", "vitamin B is what the user takes daily"],
    ] as const)
      test(`keeps both of "${one}" and "${other}"`, async () => {
        await add(one);
        expect(await add(other)).toHaveProperty("id");
        expect(await count()).toBe(2);
      });

    test("compares within one entity", async () => {
      await add("The same words about two things");
      expect(await add("The same words about two things", { entity_name: "F" })).toHaveProperty("id");
    });

    test("stores again what was retired, and what was only withheld", async () => {
      const text = "The gateway retries failed calls three times";
      await add(text);
      await rows(db(), sql`update brain_observations set observation_type = 'superseded'`);
      expect(await add(text)).toHaveProperty("id");
      await rows(db(), sql`delete from brain_observations`);
      const withheld = await add(text, { trust: "quarantined" });
      expect(withheld).toMatchObject({ trust: "quarantined" });
      expect(await add(text)).toMatchObject({ id: expect.any(String), matches_quarantined: [withheld.id] });
      expect(await add(text, { trust: "quarantined" })).toMatchObject({ deduplicated: true });
    });

    test("reinforces a text that differs in an article once an entity has five unlike it, and stores it before", async () => {
      await add("retry limit of the queue");
      expect(await add("retry limit of queue")).toHaveProperty("id");
      await engine.db.reset();
      const first = await add("retry limit of the queue");
      for (let i = 0; i < 20; i++)
        await add(`${String.fromCharCode(97 + i).repeat(9)} ${"zyxwvu".slice(i % 6)} ${i} unrelated`, { force: true });
      const before = await count();
      const answer = await add("retry limit of queue");
      expect(answer).toMatchObject({ prediction_error: "reinforce", reinforced_id: first.id });
      expect(await count()).toBe(before);
      const after = await row(
        db(),
        sql`select importance, access_count, version from brain_observations where id = ${String(first.id)}::uuid`,
      );
      expect([Number(after.importance), after.access_count, after.version]).toEqual([expect.closeTo(0.65, 9), 1, 1]);
    });

    test("sees a correction of a row that lies three hundred rows back", async () => {
      const first = await add("The staging database listens on port 5432 of host alpha");
      await rows(
        db(),
        sql`insert into brain_observations (entity_id, content, created_at)
            select id, 'Deployment ' || i || ' of service ' || md5(i::text) || ' finished', now() + i * interval '1 ms'
            from brain_entities, generate_series(1, 300) as i`,
      );
      expect(await add("The staging database listens on port 5433 of host alpha")).toMatchObject({
        possible_conflict: { id: first.id, kind: "number" },
      });
    });
  });

  describe("trust", () => {
    test("a caller may tighten it and never loosen it", async () => {
      const strict = graph({ quarantineInference: true }).caller();
      for (const trust of ["trusted", "quarantined", undefined])
        expect(
          await strict("cuba_cronica", {
            action: "add",
            entity_name: "E",
            content: `Guessed by a model, ${trust}`,
            source: "inference",
            ...(trust === undefined ? {} : { trust }),
          }),
        ).toMatchObject({ trust: "quarantined" });
      expect(
        await strict("cuba_cronica", { action: "add", entity_name: "E", content: "Said by a person", source: "user" }),
      ).not.toHaveProperty("trust");
      expect(await add("Guessed by a model, policy off", { source: "inference" })).not.toHaveProperty("trust");
      expect(await rows(db(), sql`select trust, count(*)::int as n from brain_observations group by 1 order by 1`)).toEqual([
        { trust: "quarantined", n: 3 },
        { trust: "trusted", n: 2 },
      ]);
    });

    test("quarantined rows show in no list, and every list counts them", async () => {
      await add("Open knowledge of the thing");
      await add("Withheld knowledge of the thing", { trust: "quarantined" });
      const call = graph().caller();
      for (const action of ["list", "timeline"]) {
        const answer = await call("cuba_cronica", { action, entity_name: "E" });
        expect(answer).toMatchObject({ count: 1, total: 1, quarantined_hidden: 1 });
        expect(JSON.stringify(answer)).not.toContain("Withheld");
      }
    });
  });

  describe("facts", () => {
    const facts = () =>
      rows(db(), sql`select subject, predicate, object, is_current as current, confidence from brain_facts order by created_at, object`);

    test("mirror a trusted observation, stay side by side, and go with it", async () => {
      const one = await add("The first note on it", { observation_type: "decision" });
      await add("Another decision on it", { observation_type: "decision" });
      await add("Withheld decision on it", { observation_type: "decision", trust: "quarantined" });
      expect(await facts()).toEqual([
        { subject: "E", predicate: "decision", object: "The first note on it", current: true, confidence: 0.8 },
        { subject: "E", predicate: "decision", object: "Another decision on it", current: true, confidence: 0.8 },
      ]);
      await graph().caller()("cuba_cronica", { action: "delete", observation_id: one.id });
      expect(await facts()).toHaveLength(1);
    });

    test("are not made when switched off, and their failure never fails the write", async () => {
      await graph({ bitemporal: false }).caller()("cuba_cronica", { action: "add", entity_name: "E", content: "No mirror wanted" });
      expect(await facts()).toEqual([]);
      await engine.db.asOwner((connection) =>
        connection.script("alter table brain_facts add constraint never check (object <> 'unlucky')"),
      );
      try {
        expect(await add("unlucky")).toHaveProperty("id");
      } finally {
        await engine.db.asOwner((connection) => connection.script("alter table brain_facts drop constraint never"));
      }
      expect([await count(), (await facts()).length]).toEqual([2, 0]);
    });

    test("end when their observation is retired or withheld, and begin anew when it is corrected or promoted", async () => {
      const { facts: mirror, context } = graph();
      const ctx = context({ kind: "none" });
      const { id } = await add("The limit is five");
      const is = (change: ReturnType<typeof sql>) =>
        rows(db(), sql`update brain_observations set ${change} where id = ${String(id)}::uuid`);
      await is(sql`content = 'The limit is six'`);
      await db().write(ctx, (tx) => mirror.replace(tx, String(id), "corrected"));
      expect(
        await rows(
          db(),
          sql`select object, is_current as current, supersede_reason as why, superseded_by is not null as linked from brain_facts order by created_at, is_current`,
        ),
      ).toEqual([
        { object: "The limit is five", current: false, why: "corrected", linked: true },
        { object: "The limit is six", current: true, why: null, linked: false },
      ]);
      await is(sql`trust = 'quarantined'`);
      await db().write(ctx, (tx) => mirror.close(tx, [String(id)], "quarantined"));
      expect(await rows(db(), sql`select 1 from brain_facts where is_current`)).toEqual([]);
      await db().write(ctx, (tx) => mirror.append(tx, [String(id)], ctx.log));
      expect(await rows(db(), sql`select 1 from brain_facts where is_current`)).toEqual([]);
      await is(sql`trust = 'trusted'`);
      await db().write(ctx, (tx) => mirror.append(tx, [String(id)], ctx.log));
      expect(await rows(db(), sql`select object from brain_facts where is_current`)).toEqual([{ object: "The limit is six" }]);
    });
  });
});
