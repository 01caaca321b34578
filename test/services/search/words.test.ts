import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { z } from "zod";
import { lexemesOf, queryTerms } from "../../../src/domain/lexical.ts";
import { inverseDocumentFrequency, type Posting, topByFullScore } from "../../../src/domain/retrieval/bm25.ts";
import { createAges } from "../../../src/services/search/ages.ts";
import { analyse } from "../../../src/services/search/analyse.ts";
import { rankByWords } from "../../../src/services/search/arms/ranking.ts";
import { searchWords } from "../../../src/services/search/arms/words.ts";
import { query } from "../../../src/store/codecs.ts";
import type { Database } from "../../../src/store/port.ts";
import type { Filters } from "../../../src/store/queries/search-filters.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { seedEntity, seedEpisode, seedError, seedMany, seedObservation, seedProject } from "../../support/search.ts";

const everywhere: Filters = { scope: { kind: "none" }, includeUnscoped: false, after: undefined, before: undefined, tag: undefined };

const Row = z.object({ term: z.string(), kind: z.int(), key: z.string(), id: z.string(), tf: z.int(), length: z.int() });
/** What the index holds, in one order. */
const indexed = query(
  Row,
  () => sql`select term, kind, project_key as key, row_id as id, tf, length from brain_postings order by kind, row_id, term`,
);
/** What it should hold: every served row counted afresh. */
const expected = query(
  Row,
  () => sql`
  with texts as (
    select 1 as kind, o.project_id, o.id, o.search_vector as own, e.search_vector as name
    from brain_observations as o join brain_entities as e on e.id = o.entity_id
    where o.trust = 'trusted' and o.observation_type <> 'superseded'
    union all select 2, project_id, id, search_vector, ''::tsvector from brain_entities
    union all select 3, project_id, id, search_vector, ''::tsvector from brain_errors where trust = 'trusted'
    union all select 4, x.project_id, x.id, x.search_vector, e.search_vector
      from brain_episodes as x join brain_entities as e on e.id = x.entity_id where x.trust = 'trusted'
  )
  select w.lexeme as term, t.kind, coalesce(t.project_id, '00000000-0000-0000-0000-000000000000') as key, t.id,
         sum(cardinality(w.positions))::int as tf, brain_word_count(t.own) + brain_word_count(t.name) as length
  from texts as t cross join lateral (select * from unnest(t.own) union all select * from unnest(t.name)) as w
  group by w.lexeme, t.kind, t.project_id, t.id, t.own, t.name
  order by t.kind, t.id, w.lexeme`,
);
const Total = z.object({ kind: z.int(), key: z.string(), rows: z.number(), words: z.number() });
const totals = query(
  Total,
  () => sql`
  select kind, project_key as key, sum(row_count)::float8 as rows, sum(word_count)::float8 as words
  from brain_posting_totals group by kind, project_key having sum(row_count) <> 0 or sum(word_count) <> 0 order by kind, project_key`,
);
const counted = query(
  Total,
  () => sql`
  select kind, key, count(*)::float8 as rows, sum(length)::float8 as words
  from (select distinct kind, project_key as key, row_id, length from brain_postings) as r group by kind, key order by kind, key`,
);

async function expectTrue(db: Database) {
  const [is, should, sums, rows] = await db.read(testScope({ scope: { kind: "everything" } }), async (tx) => [
    await tx.all(indexed({})),
    await tx.all(expected({})),
    await tx.all(totals({})),
    await tx.all(counted({})),
  ]);
  expect(is).toEqual(should);
  expect(sums).toEqual(rows);
}

eachEngine("the index of words", (engine) => {
  beforeEach(() => engine.db.reset());
  const change = (statement: string) => engine.db.asOwner((connection) => connection.script(statement));

  test("follows every way in which a row is written, changed, moved, retired, promoted and deleted", async () => {
    const { db } = engine;
    const [a, b] = [await seedProject(db, "A"), await seedProject(db, "B")];
    const id = await seedObservation(db, { entity: "Redis Cache", content: "the cache timeout is thirty seconds", project: a });
    await seedObservation(db, { entity: "Redis Cache", content: "!!! ???", project: a });
    await seedObservation(db, { entity: "Redis Cache", content: "quarantined words", trust: "quarantined", project: a });
    await seedEntity(db, { name: "Other", project: a });
    await seedEntity(db, { name: "Elsewhere", project: b });
    await seedEpisode(db, { entity: "Redis Cache", content: "the cache was flushed by hand", project: a });
    await seedError(db, { message: "connection refused", solution: "open the port", project: a });
    await expectTrue(db);
    for (const statement of [
      `update brain_observations set content = 'the cache timeout is a minute' where id = '${id}'`,
      `update brain_observations set content = 'timeouts', lexical = 'timeouts timeout' where id = '${id}'`,
      `update brain_observations set access_count = access_count + 1, importance = 0.9`,
      `update brain_observations set observation_type = 'superseded' where id = '${id}'`,
      `update brain_observations set observation_type = 'fact' where id = '${id}'`,
      `update brain_observations set trust = 'trusted'`,
      `update brain_observations set entity_id = (select id from brain_entities where name = 'Other') where id = '${id}'`,
      `update brain_entities set name = 'Valkey', lexical = 'valkey concept' where name = 'Redis Cache'`,
      `update brain_observations set project_id = '${b}', entity_id = (select id from brain_entities where name = 'Elsewhere') where id = '${id}'`,
      `update brain_episodes set content = 'nothing happened', lexical = null`,
      `update brain_errors set solution = 'restart it', lexical = null`,
      `update brain_errors set trust = 'quarantined'`,
      `update brain_errors set trust = 'trusted'`,
      `delete from brain_observations where id = '${id}'`,
      `delete from brain_entities where name = 'Valkey'`,
      "delete from brain_errors",
      "delete from brain_entities",
    ]) {
      await change(statement);
      await expectTrue(db);
    }
    expect(await db.read(testScope(), (tx) => tx.all(indexed({})))).toEqual([]);
  }, 60_000);

  test("is closed to another project, as the rows are", async () => {
    const { db } = engine;
    const [a, b] = [await seedProject(db, "A"), await seedProject(db, "B")];
    await seedObservation(db, { content: "secret word", project: a });
    const seen = await db.read(testScope({ scope: { kind: "project", id: b } }), (tx) => tx.all(indexed({})));
    expect(seen).toEqual([]);
  });
});

/** A corpus with Zipf-like words, so that some are in nearly every row. */
const VOCABULARY = Array.from({ length: 120 }, (_, at) => `w${at}ord`);
const pick = (random: () => number) => VOCABULARY[Math.min(VOCABULARY.length - 1, Math.floor(VOCABULARY.length * random() ** 3))] ?? "";

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

eachEngine("BM25 over the index of words", (engine) => {
  let rows: { id: string; lexemes: string[] }[] = [];
  beforeAll(async () => {
    await engine.db.reset();
    rows = [];
    const random = seeded(7);
    const contents = Array.from({ length: 400 }, () => Array.from({ length: 3 + Math.floor(random() * 20) }, () => pick(random)).join(" "));
    const ids = await seedMany(engine.db, contents);
    for (const [at, content] of contents.entries())
      rows.push({ id: ids[at] ?? "", lexemes: [...lexemesOf(content), ...lexemesOf("notes concept")] });
  }, 120_000);

  /** The domain's definition: every row scored by every word. */
  const defined = (question: string, limit: number) => {
    const average = rows.reduce((sum, row) => sum + row.lexemes.length, 0) / rows.length;
    const terms = queryTerms(question)
      .filter((term) => term.selects)
      .map((term) =>
        term.forms.map((form) => {
          const postings = rows.flatMap((row): Posting[] => {
            const count = row.lexemes.filter((lexeme) => lexeme === form).length;
            return count === 0 ? [] : [{ id: row.id, count, length: row.lexemes.length }];
          });
          return { idf: inverseDocumentFrequency(rows.length, postings.length), postings };
        }),
      );
    return topByFullScore(terms, average, limit);
  };

  test("ranks and scores the first rows as scoring every row would, pruned or not", async () => {
    const pruning = fc.record({
      packUpTo: fc.constantFrom(0, 40, 200, 4_000),
      fromPostings: fc.constantFrom(0, 300),
      candidates: fc.integer({ min: 1, max: 60 }),
    });
    const question = fc.array(fc.integer({ min: 0, max: VOCABULARY.length - 1 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(
        question,
        fc.integer({ min: 1, max: 20 }),
        fc.option(pruning, { nil: undefined }),
        async (words, exactRank, pruned) => {
          const text = words.map((at) => VOCABULARY[at]).join(" ");
          const { bm25 } = await engine.db.read(testScope(), (tx) =>
            searchWords(tx, {
              analysis: analyse(text),
              kinds: ["observation"],
              filters: everywhere,
              depth: 100,
              exactRank,
              ages: createAges(everywhere),
              pruning: pruned,
            }),
          );
          const round = (hits: readonly { readonly id: string; readonly score: number }[]) =>
            hits
              .map(({ id, score }) => ({ id, score: Number(score.toFixed(4)) }))
              .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
          const [is, should] = [round(bm25), round(defined(text, rows.length))];
          expect(is.slice(0, exactRank).map(({ score }) => score)).toEqual(should.slice(0, exactRank).map(({ score }) => score));
          const scoreOf = new Map(should.map(({ id, score }) => [id, score]));
          // Beyond the exact rank a row may lack what frequent words add; it never has more.
          for (const { id, score } of is) expect(score).toBeLessThanOrEqual(scoreOf.get(id) ?? 0);
        },
      ),
      { numRuns: 60 },
    );
  }, 120_000);
});

eachEngine("rows that are stored while a question is being answered", (engine) => {
  test("are ranked with the others where they come between the counting of a word and its postings", async () => {
    const { db } = engine;
    await db.reset();
    const ids = await seedMany(db, ["harbour", "harbour wall", "the harbour at night"]);
    const counted = {
      kind: "observation",
      rows: 1,
      averageLength: 4,
      rowsWith: new Map([["harbour", 1]]),
      postings: new Map(),
    } as const;
    const options = { exactRank: 10, depth: 10, filters: everywhere };
    const hits = await db.read(testScope(), (tx) => rankByWords(tx, counted, [["harbour"]], options));
    expect(hits.map(({ id }) => id).sort()).toEqual([...ids].sort());
  });
});

eachEngine("a time window over the index of words", (engine) => {
  test("finds the few old rows behind hundreds of better ones, and their equals", async () => {
    const { db } = engine;
    await db.reset();
    const fresh = Array.from({ length: 300 }, (_, at) => `harbour ${at}`);
    const old = [
      "harbour in a long sentence about many other things of the town",
      "harbour in a long sentence about many other rooms of the town",
    ];
    const ids = await seedMany(db, [...fresh, ...old]);
    const oldIds = ids.slice(fresh.length);
    await db.asOwner((connection) =>
      connection.script(`update brain_observations set created_at = '2020-01-01' where id in ('${oldIds.join("', '")}')`),
    );
    const filters: Filters = { ...everywhere, before: "2021-01-01T00:00:00Z" };
    const { bm25 } = await db.read(testScope(), (tx) =>
      searchWords(tx, { analysis: analyse("harbour"), kinds: ["observation"], filters, depth: 1, exactRank: 1, ages: createAges(filters) }),
    );
    expect(bm25).toHaveLength(1);
    const { bm25: both } = await db.read(testScope(), (tx) =>
      searchWords(tx, { analysis: analyse("harbour"), kinds: ["observation"], filters, depth: 5, exactRank: 1, ages: createAges(filters) }),
    );
    expect(both.map(({ id }) => id).sort()).toEqual([...oldIds].sort());
  }, 60_000);
});

describe("what selects", () => {
  test("stop words of three languages are no words of a question", () => {
    expect(analyse("的 the de qué where").words).toEqual([]);
    expect(analyse("the renewToken").lexemes.split(" ")).toContain("renewtoken");
  });
});
