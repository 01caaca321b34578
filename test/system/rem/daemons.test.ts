/**
 * The consolidation cycle in real daemons on one PostgreSQL: killed with `kill -9` in the middle of each phase, and two daemons that would both run it.
 * A phase is stopped by a lock that the test holds, so that nothing hangs on time.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { sql } from "drizzle-orm";
import { phases } from "../../../src/services/rem/registry.ts";
import { openPostgres } from "../../../src/store/postgres.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { openTestServerDatabase, type ServerTestDatabase } from "../../support/engines.ts";
import { isHeldUp } from "../../support/locks.ts";
import { row, rows } from "../../support/statements.ts";
import { until } from "../processes/harness.ts";

const adminUrl = process.env.MEMORY_INDUSTRY_TEST_PG;
const onServer = adminUrl === undefined || adminUrl === "" ? test.skip : test;
const main = resolve(import.meta.dir, "../../../src/main.ts");
const SETUP_MS = 120_000;
const TEST_MS = 20 * 60_000;
/** Any number that nothing else in this database locks. */
const HOLD = "7001";
const OBSERVATIONS = 200;

let base = "";
let db: ServerTestDatabase;
const children: Bun.Subprocess[] = [];

/** Something to do for every phase, and a way to stop a cycle where its record is about to say that a phase begins. */
const fill = `
  insert into brain_entities (name) select 'service ' || i from generate_series(1, 40) as i;
  insert into brain_entities (name) values ('lonely');
  insert into brain_sessions (session_name, ended_at) select 's' || i, now() from generate_series(1, 3) as i;
  insert into brain_observations (entity_id, content, importance, last_accessed, last_decayed_at, extracted_at)
    select e.id, 'note ' || i, 0.8, now() - interval '30 days', now() - interval '30 days', now()
    from generate_series(1, ${OBSERVATIONS}) as i join brain_entities as e on e.name = 'service ' || (i % 40 + 1);
  insert into brain_observations (entity_id, session_id, content, lexical, extracted_at)
    select e.id, s.id, 'worked on together', 'worked', now() from brain_sessions as s join brain_entities as e on e.name in ('service 1', 'service 2')
    where s.session_name <> 's3';
  insert into brain_observations (entity_id, session_id, content, lexical, extracted_at)
    select e.id, s.id, 'worked on alone', 'worked', now() from brain_sessions as s join brain_entities as e on e.name = 'service 3' where s.session_name = 's3';
  insert into brain_observations (entity_id, content, lexical, extracted_at) select id, repeat('A long sentence about it. ', 200), 'long', now() from brain_entities where name = 'service 4';
  insert into brain_observations (entity_id, content, lexical) select id, 'nobody related it to anything', 'lonely' from brain_entities where name = 'lonely';
  insert into brain_observations (entity_id, content, extracted_at) select id, 'words are missing', now() from brain_entities where name = 'service 5';
  insert into brain_episodes (entity_id, content, created_at) select id, 'episode of ' || name, now() - interval '30 days' from brain_entities;
  insert into brain_relations (from_entity, to_entity, relation_type)
    select a.id, b.id, 'uses' from brain_entities as a join brain_entities as b on b.name = 'service ' || (1 + substr(a.name, 9)::int % 7) where a.name like 'service %' and a.id <> b.id
    and not (a.name in ('service 1', 'service 2') and b.name in ('service 1', 'service 2'));
  insert into brain_wm (content, created_at, expires_at) select 'note ' || i, now() - interval '2 days', now() - interval '1 day' from generate_series(1, 5) as i;
  create table test_hold (phase text);
  create function test_hold() returns trigger language plpgsql security definer as $$ begin
    if exists (select from test_hold as h where starts_with(new.error, 'unfinished: in phase ' || h.phase || ' ')) then perform pg_advisory_xact_lock(${HOLD}); end if;
    return new;
  end $$;
  create trigger test_hold before update on brain_rem_cycles for each row execute function test_hold();`;

/** The same stop as a pause that no limit of locks ends, until the row is gone. */
const SLEEPING_HOLD = `
  create or replace function test_hold() returns trigger language plpgsql security definer as $$ begin
    while exists (select from test_hold as h where starts_with(new.error, 'unfinished: in phase ' || h.phase || ' ')) loop perform pg_sleep(0.05); end loop;
    return new;
  end $$;`;

/** What stops a cycle inside of a phase; of the others the record is stopped when the next one is about to begin. */
const locks: Readonly<Record<string, string>> = {
  decay: "select id from brain_observations where content like 'note %' order by id desc limit 1 for update",
  episodes: "select id from brain_episodes order by id desc limit 1 for update",
  autolink: "lock table brain_relations in share row exclusive mode",
  chunks: "lock table brain_observation_chunks in share row exclusive mode",
  words: "select id from brain_observations where content = 'words are missing' for update",
  statistics: "lock table brain_observations in share update exclusive mode",
  pagerank: "lock table brain_node_metrics in share row exclusive mode",
  communities: "lock table brain_communities in share row exclusive mode",
  purge: "select id from brain_wm for update",
};

/** Holds a lock on a connection of its own until it is disposed. */
async function hold(statement: string): Promise<AsyncDisposable> {
  const holder = openPostgres({ url: db.url, nodeName: "holder" });
  const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const work = holder.asOwner(async (connection) => {
    await connection.script(`begin; ${statement}`);
    held.resolve();
    await over.promise;
    await connection.script("rollback");
  });
  await Promise.race([held.promise, work]);
  return {
    async [Symbol.asyncDispose]() {
      over.resolve();
      await work;
      await holder[Symbol.asyncDispose]();
    },
  };
}

/** A language model that never answers until it is told to; `asked` counts. */
const model = { asked: 0, answers: false };
let endpoint: ReturnType<typeof Bun.serve>;

const environment = (data: string, more: Record<string, string> = {}) => ({
  HOME: base,
  PATH: "/usr/bin:/bin",
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: join(base, "transpiled"),
  MEMORY_INDUSTRY_DATA_DIR: data,
  DATABASE_URL: db.url,
  CUBA_REM_FIRST_DELAY_SECS: "0",
  ...more,
});

function daemon(name: string, more: Record<string, string> = {}) {
  const data = join(base, name);
  mkdirSync(data, { recursive: true });
  const child = Bun.spawn([process.execPath, main, "serve", "127.0.0.1:0"], {
    cwd: base,
    env: environment(data, more),
    stdio: ["ignore", "ignore", "pipe"],
  });
  children.push(child);
  let log = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) log += decoder.decode(chunk, { stream: true });
  })();
  return { child, data, log: () => log };
}

const lastCycle = async () =>
  (await rows(db, sql`select id, error, phases, llm_calls from brain_rem_cycles order by started_at desc, id limit 1`))[0];
beforeAll(async () => {
  if (adminUrl === undefined || adminUrl === "") return;
  base = mkdtempSync(join(tmpdir(), "mi-rem-"));
  db = await openTestServerDatabase(adminUrl);
  await db.asOwner((owner) => owner.script(fill));
  endpoint = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch() {
      model.asked++;
      if (!model.answers) await new Promise(() => {});
      return Response.json({ choices: [{ message: { role: "assistant", content: '{"relations": [], "facts": [], "entities": []}' } }] });
    },
  });
}, SETUP_MS);
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.map((child) => child.exited));
  if (base === "") return;
  void endpoint.stop(true);
  await db[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
}, SETUP_MS);

onServer(
  "a daemon killed in any phase leaves a record that says where, everything consistent, and the next one finishes the cycle",
  async () => {
    const llm = {
      MEMORY_INDUSTRY_LLM_PROVIDER: "openai",
      MEMORY_INDUSTRY_LLM_BASE_URL: `http://127.0.0.1:${endpoint.port}/v1`,
      MEMORY_INDUSTRY_LLM_API_KEY: "none",
      MEMORY_INDUSTRY_LLM_MODEL: "m",
    };
    const asking: Readonly<Record<string, Record<string, string>>> = {
      relations: { ...llm, CUBA_REM_RELATION_BATCH: "5" },
      extraction: { ...llm, CUBA_REM_EXTRACTION_BATCH: "5" },
    };
    for (const [at, { name }] of phases.entries()) {
      const next = phases[at + 1]?.name ?? "";
      // Rows changed since statistics were last taken, enough for the phase that takes them.
      if (name === "statistics") await db.asOwner((owner) => owner.script("update brain_observations set access_count = access_count + 1"));
      const lock = locks[name];
      if (lock === undefined && asking[name] === undefined)
        await db.asOwner((owner) => owner.query("insert into test_hold (phase) values ($1::text)", [next]));
      const askedBefore = model.asked;
      const held = await hold(lock ?? `select pg_advisory_xact_lock(${HOLD})`);
      const { child } = daemon("killed", asking[name]);
      await until(`phase ${name} to be stopped`, async () => {
        if (child.exitCode !== null) throw new Error(`the daemon ended by itself in ${name}`);
        return asking[name] === undefined ? await isHeldUp(db) : model.asked > askedBefore;
      });
      const cycle = await lastCycle();
      expect([name, String(cycle?.error).split(" when")[0]]).toEqual([name, `unfinished: in phase ${name}`]);
      if (asking[name] !== undefined) expect(Number(cycle?.llm_calls)).toBe(1);
      child.kill("SIGKILL");
      await child.exited;
      await held[Symbol.asyncDispose]();
      await db.asOwner((owner) => owner.script("delete from test_hold"));
      // The connections of a killed process go when the server notices.
      await until("the killed daemon's connections to end", async () => {
        const { rows: left } = await db.asOwner((owner) =>
          owner.query(
            "select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
          ),
        );
        return left.length === 0 && !(await isHeldUp(db));
      });
      expect([name, await db.asOwner(brokenInvariants)]).toEqual([name, []]);
    }
    model.answers = true;
    const { child } = daemon("killed", { ...asking.relations, ...asking.extraction });
    await until("the cycle to come to its end", async () => (await lastCycle())?.error === null);
    const cycle = await lastCycle();
    expect(Object.keys(Object(cycle?.phases)).sort()).toEqual(phases.map(({ name }) => name).sort());
    expect(await db.asOwner(brokenInvariants)).toEqual([]);
    // Faded once, although thirteen daemons began to: half of 0.8 after one half-life.
    const faded = await row(
      db,
      sql`select count(*)::int as n from brain_observations where content like 'note %' and importance between 0.399 and 0.401`,
    );
    expect(faded.n).toBe(OBSERVATIONS);
    const left = await row(
      db,
      sql`select (select count(*) from brain_wm)::int as notes,
            (select count(*) from brain_observations where lexical is null)::int as unprepared,
            (select count(*) from brain_relations where provenance = 'predicted')::int as predicted,
            (select count(*) > 0 from brain_observation_chunks) as chunked,
            (select count(*) > 30 from brain_node_metrics where pagerank_score > 0 or community_id is not null) as measured,
            (select count(*) from brain_communities as c where not exists (select from brain_node_metrics as m where m.community_id = c.community_id))::int as empty`,
    );
    expect(left).toEqual({ notes: 0, unprepared: 0, predicted: 1, chunked: true, measured: true, empty: 0 });
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  },
  TEST_MS,
);

onServer(
  "of two daemons on one database one runs the cycle; the other says that it is busy, and leaves it at that",
  async () => {
    await db.asOwner((owner) =>
      owner.script(`
        delete from brain_rem_cycles;
        delete from brain_calibration where key like 'decay_ran_at%';
        update brain_observations set importance = 0.8, access_count = 0, last_accessed = now() - interval '30 days', last_decayed_at = now() - interval '30 days' where content like 'note %'`),
    );
    await db.asOwner((owner) => owner.script(`delete from test_hold; ${SLEEPING_HOLD} insert into test_hold (phase) values ('episodes')`));
    const first = daemon("first");
    await until("the first one's cycle to be held up", async () =>
      String((await lastCycle())?.error).startsWith("unfinished: in phase decay"),
    );
    const second = daemon("second");
    await until("the second one to listen", () => second.log().includes('"message":"listening"'));
    // Its own timer has tried by the time it answers, and so does a person through it.
    const rem = async () => {
      const child = Bun.spawn([process.execPath, main, "rem"], {
        cwd: base,
        env: environment(second.data),
        stdio: ["ignore", "pipe", "inherit"],
      });
      children.push(child);
      const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
      return { code, answer: JSON.parse(text) };
    };
    const asked = await rem();
    expect(asked).toMatchObject({ code: 0, answer: { action: "rem", ran: false } });
    expect(asked.answer.reason).toContain("another cycle is running on this database");
    expect((await rows(db, sql`select id from brain_rem_cycles`)).length).toBe(1);
    await db.asOwner((owner) => owner.script("delete from test_hold"));
    await until("the cycle to come to its end", async () => (await lastCycle())?.error === null);
    const cycles = await rows(db, sql`select error from brain_rem_cycles`);
    expect(cycles).toEqual([{ error: null }]);
    const faded = await row(
      db,
      sql`select count(*)::int as n from brain_observations where content like 'note %' and importance between 0.399 and 0.401`,
    );
    expect(faded.n).toBe(OBSERVATIONS);
    for (const { child } of [first, second]) {
      child.kill("SIGTERM");
      expect(await child.exited).toBe(0);
    }
    expect((await rows(db, sql`select id from brain_rem_cycles`)).length).toBe(1);
  },
  TEST_MS,
);
