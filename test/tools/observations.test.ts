import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { unavailable } from "../../src/kernel/errors.ts";
import type { Database } from "../../src/store/port.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver } from "../support/graph.ts";
import { notesOver } from "../support/notes.ts";
import { entity, project, row, rows } from "../support/statements.ts";

const TOKEN = "ghp_abcdefghijklmnop";

describe("cuba_cronica over a database that cannot be reached", () => {
  const down = unavailable("no database");
  const dead = {
    traits: { concurrent: false, crossProcessNotify: false, serverVersion: 0 },
    read: () => Promise.reject(down),
    write: () => Promise.reject(down),
    tryLock: () => Promise.reject(down),
    listen: () => Promise.reject(down),
    [Symbol.asyncDispose]: async () => {},
  } satisfies Database;
  const { caller, refusal } = graphOver(dead);
  const call = caller();

  for (const [what, args, name] of [
    ["add", { action: "add", entity_name: "E", content: `deploy uses ${TOKEN}` }, "content"],
    ["an entity name", { action: "add", entity_name: `E ${TOKEN}`, content: "harmless" }, "entity_name"],
    ["episode_add", { action: "episode_add", entity_name: "E", content: `deploy uses ${TOKEN}` }, "content"],
    ["an actor", { action: "episode_add", entity_name: "E", content: "harmless", actors: ["Ana", TOKEN] }, "actors[1]"],
    ["an artifact", { action: "episode_add", entity_name: "E", content: "harmless", artifacts: [TOKEN] }, "artifacts[0]"],
    [
      "the second item of a batch",
      {
        action: "batch_add",
        observations: [
          { entity_name: "E", content: "fine" },
          { entity_name: "E", content: `deploy uses ${TOKEN}` },
        ],
      },
      "observations[1].content",
    ],
  ] as const) {
    test(`refuses a credential in ${what}, naming field and kind and never the value`, async () => {
      const refused = await refusal(call("cuba_cronica", args));
      expect(refused.code).toBe("refused");
      expect(refused.message).toStartWith(`refusing to write ${name}: what looks like a github token`);
      expect(refused.message).not.toContain(TOKEN);
    });

    test(`gets as far as the database with allow_secret for ${what}, and not with the word "true"`, async () => {
      expect(await refusal(call("cuba_cronica", { ...args, allow_secret: true }))).toBe(down);
      expect((await refusal(call("cuba_cronica", { ...args, allow_secret: "true" }))).field).toBe("allow_secret");
    });
  }
});

eachEngine("cuba_cronica", (engine) => {
  beforeEach(() => engine.db.reset());
  const { db, graph, add, count } = notesOver(engine);

  describe("add", () => {
    test("stores a text, creates its entity, and answers everything about it", async () => {
      const answer = await add("Redis cache timeout: redis timeout raised to 30s for the cache layer", { source: "user" });
      expect(answer).toMatchObject({
        action: "add",
        entity_name: "E",
        observation_type: "fact",
        tags: ["redis", "cache", "timeout", "raised", "30s"],
        information_density: 0.9788,
        importance: 0.5873,
        overload_warning: null,
        superseded: 0,
        embedding: "pending",
        warnings: [],
      });
      expect(Number(answer.write_to_searchable_ms)).toBeGreaterThanOrEqual(0);
      expect(
        await row(
          db(),
          sql`select id, source, evidence, version, trust, project_id, session_id, embedding, embedding_model, importance from brain_observations`,
        ),
      ).toEqual({
        id: answer.id,
        source: "user",
        evidence: "asserted",
        version: 1,
        trust: "trusted",
        project_id: null,
        session_id: null,
        embedding: null,
        embedding_model: null,
        importance: 0.5873027484957786,
      });
      expect(await row(db(), sql`select name, name_key, entity_type, lexical from brain_entities`)).toEqual({
        name: "E",
        name_key: "e",
        entity_type: "concept",
        lexical: "e concept",
      });
    });

    for (const [type, importance] of [
      ["decision", 0.8],
      ["lesson", 0.75],
      ["error", 0.7],
      ["solution", 0.7],
      ["fact", 0.6],
      ["preference", 0.6],
      ["context", 0.4],
      ["tool_usage", 0.4],
    ] as const)
      test(`gives a ${type} of eight different words the importance ${importance}`, async () => {
        expect(await add("The queue worker retries failed jobs quite often", { observation_type: type })).toMatchObject({
          information_density: 1,
          importance,
          observation_type: type,
        });
      });

    test("takes 10,000 code points of any script, not one more, and no blank text", async () => {
      const { caller, refusal } = graph();
      expect(await add("界".repeat(10_000))).toHaveProperty("id");
      for (const content of ["界".repeat(10_001), "", "  \n ", "a\u0000b", "\udc00", 7, ["x"], null, undefined])
        expect((await refusal(caller()("cuba_cronica", { action: "add", entity_name: "E", content }))).field).toBe("content");
      expect(await count()).toBe(1);
    });

    test("refuses what is no type, no source, no name, and leaves nothing behind", async () => {
      const { caller, refusal } = graph();
      const wrong: [Record<string, unknown>, string][] = [
        [
          { observation_type: "superseded" },
          "Invalid observation_type: superseded. Use fact/decision/lesson/preference/context/tool_usage/error/solution",
        ],
        [{ observation_type: "note" }, "Invalid observation_type: note."],
        [{ source: "me" }, "Invalid source: me. Use agent/user/error_detection/consolidation/inference"],
        [{ entity_name: " " }, "entity_name must be text that is not blank"],
        [{ entity_name: "x".repeat(201) }, "entity_name must be text of 1 to 200 characters"],
        [{ trust: "high" }, "Invalid trust: high. Use quarantined"],
        [{ force: "true" }, "force must be the boolean true or false"],
      ];
      for (const [args, words] of wrong)
        expect(
          (await refusal(caller()("cuba_cronica", { action: "add", entity_name: "E", content: "some text", ...args }))).message,
        ).toStartWith(words);
      expect((await refusal(caller()("cuba_cronica", { action: "remember" }))).message).toBe(
        "Invalid action: remember. Use add/delete/list/batch_add/episode_add/episode_list/timeline",
      );
      expect(await rows(db(), sql`select 1 from brain_entities`)).toEqual([]);
    });

    test("names what it does not know and stores all the same", async () => {
      expect(await add("Stored with an odd argument", { importance: 0.9, evidence: "verified" })).toMatchObject({
        warnings: ["unknown argument 'importance' was ignored", "unknown argument 'evidence' was ignored"],
      });
      expect(await row(db(), sql`select evidence, importance from brain_observations`)).toEqual({ evidence: "asserted", importance: 0.6 });
    });

    test("belongs to the active project and the open session; a session that is gone is no session", async () => {
      const p = await project(db());
      const session = await row(db(), sql`insert into brain_sessions (session_name, project_id) values ('s', ${p}::uuid) returning id`);
      const within = (id: string) => graph().caller({ kind: "project", id: p }, { session: { id, startedAt: "" } });
      await within(String(session.id))("cuba_cronica", { action: "add", entity_name: "E", content: "Written in a session" });
      await within(p)("cuba_cronica", { action: "episode_add", entity_name: "E", content: "Written in no session" });
      expect(await rows(db(), sql`select project_id, session_id from brain_observations`)).toEqual([
        { project_id: p, session_id: session.id },
      ]);
      expect(await rows(db(), sql`select project_id, session_id from brain_episodes`)).toEqual([{ project_id: p, session_id: null }]);
      expect(await rows(db(), sql`select project_id from brain_facts`)).toEqual([{ project_id: p }]);
    });

    test("without a project, what is written about a project's entity belongs to that project", async () => {
      const p = await project(db());
      await entity(db(), p, "api");
      await graph().caller()("cuba_cronica", { action: "add", entity_name: "api", content: "Said without a project" });
      expect(await rows(db(), sql`select project_id from brain_observations`)).toEqual([{ project_id: p }]);
      expect(await rows(db(), sql`select 1 from brain_entities`)).toHaveLength(1);
    });

    test("lands on the entity behind an alias or another spelling, and makes no new one", async () => {
      const winner = await entity(db(), null, "Mapupita-Web");
      await rows(db(), sql`update brain_entities set name_key = 'mapupitaweb'`);
      await rows(db(), sql`insert into brain_entity_aliases (entity_id, alias_text) values (${winner}::uuid, 'Mapupitta-Web')`);
      const call = graph().caller();
      for (const [asked, content] of [
        ["Mapupitta-Web", "Under the old name"],
        ["mapupita web", "Under another spelling"],
      ] as const)
        expect(await call("cuba_cronica", { action: "add", entity_name: asked, content })).toMatchObject({
          entity_name: "Mapupita-Web",
          requested_name: asked,
        });
      expect(await rows(db(), sql`select distinct entity_id from brain_observations`)).toEqual([{ entity_id: winner }]);
      expect(await rows(db(), sql`select 1 from brain_entities`)).toHaveLength(1);
    });

    test("finds its text by words at once, without a model", async () => {
      await add("The payments queue is drained by renewToken");
      const found = await rows(
        db(),
        sql`select 1 from brain_observations where search_vector @@ cuba_or_tsquery('renewtoken') and observation_type <> 'superseded'`,
      );
      expect(found).toHaveLength(1);
    });
  });

  describe("delete", () => {
    test("removes a row of the project with its chunks and fact, and leaves a tombstone for row and fact", async () => {
      const call = graph().caller();
      const { id } = await add(`${"A long sentence about it. ".repeat(120)}`);
      expect((await row(db(), sql`select count(*)::int as n from brain_observation_chunks`)).n).toBeGreaterThan(1);
      expect(await call("cuba_cronica", { action: "delete", observation_id: id })).toMatchObject({ action: "delete", deleted_id: id });
      expect(await rows(db(), sql`select table_name from brain_tombstones order by 1`)).toEqual([
        { table_name: "brain_facts" },
        { table_name: "brain_observations" },
      ]);
      expect(await rows(db(), sql`select 1 from brain_observation_chunks`)).toEqual([]);
    });

    test("takes the older name of its argument, and refuses what is no id, unknown, or of another project", async () => {
      const { caller, refusal } = graph();
      const [a, b] = [await project(db(), "A"), await project(db(), "B")];
      const inA = caller({ kind: "project", id: a });
      const inB = caller({ kind: "project", id: b });
      const { id } = await inA("cuba_cronica", { action: "add", entity_name: "E", content: "Only project A may delete it" });
      const foreign = await refusal(inB("cuba_cronica", { action: "delete", observation_id: id }));
      expect([foreign.code, foreign.message.startsWith(`Observation '${id}' not found`)]).toEqual(["not_found", true]);
      expect((await refusal(inA("cuba_cronica", { action: "delete", observation_id: "5" }))).message).toStartWith(
        "observation_id must be a UUID",
      );
      expect((await refusal(inA("cuba_cronica", { action: "delete" }))).field).toBe("observation_id");
      expect(await count()).toBe(1);
      expect(await inA("cuba_cronica", { action: "delete", id: String(id).toUpperCase() })).toMatchObject({ deleted_id: id, warnings: [] });
    });
  });

  describe("long texts", () => {
    test("are stored with their slices, with a model or without, numbered from 0 on", async () => {
      const answer = await add("One sentence of many. ".repeat(140));
      expect(Number(answer.chunks)).toBeGreaterThanOrEqual(2);
      const stored = await rows(db(), sql`select chunk_index, embedding from brain_observation_chunks order by 1`);
      expect(stored).toEqual(Array.from({ length: Number(answer.chunks) }, (_, i) => ({ chunk_index: i, embedding: null })));
      const { chunks, context } = graph();
      const text = { id: String(answer.id), content: "One sentence of many. ".repeat(140) };
      for (let again = 0; again < 2; again++)
        expect(await db().write(context({ kind: "none" }), (tx) => chunks.restore(tx, [text]))).toBe(Number(answer.chunks));
      expect(await rows(db(), sql`select 1 from brain_observation_chunks`)).toHaveLength(Number(answer.chunks));
      expect(await add("x".repeat(1_800))).not.toHaveProperty("chunks");
      expect(await add("y".repeat(1_801))).toMatchObject({ chunks: 2 });
    });
  });
});
