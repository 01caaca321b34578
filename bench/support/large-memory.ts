/**
 * A large memory for measurements, made by statements: entities in sessions, dense groups of relations, observations, and what the smaller phases of a
 * consolidation cycle look for. Kept from run to run under its sizes.
 */
import { cpus, loadavg } from "node:os";
import { openBenchDatabase, openBenchServer } from "../retrieval/bench-database.ts";

/** Rows of one statement of the filling. */
const FILLED_AT_ONCE = 2_000;
const OBSERVATIONS_OF_A_SESSION = 100;
/** Of each kind, what phases find beside observations. */
const EPISODES = 2_000;
const NOTES = 1_000;
const PREDICTIONS = 1_000;
/** Observations long enough to be cut into chunks. */
const LONG_TEXTS = 200;
/** Observations whose words are to be prepared. */
const UNPREPARED = 500;

const words = "gateway broker cache queue token session replica index payment invoice customer order cluster release pipeline".split(" ");
const word = (at: string) => `(array[${words.map((each) => `'${each}'`).join(",")}])[1 + (${at}) % ${words.length}]`;

export type LargeMemory = Awaited<ReturnType<typeof openLargeMemory>>;

/** Opens it, fills it where it is new, and says what it is. Arguments: `[--entities N] [--relations N] [--observations N] [--server URL]`. */
export async function openLargeMemory(args: readonly string[]) {
  const option = (name: string) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
  const entities = Number(option("--entities") ?? "10000");
  const relations = Number(option("--relations") ?? "50000");
  const observations = Number(option("--observations") ?? "100000");
  const server = option("--server");
  const name = `large-${entities}-${relations}-${observations}`;
  const { db, fresh } = server === undefined ? await openBenchDatabase(name) : await openBenchServer(server, name);
  console.log(
    `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, engine ${server === undefined ? "embedded" : "server"}, ` +
      `${entities} entities, ${relations} relations, ${observations} observations, words alone`,
  );
  const run = (text: string) => db.asOwner((owner) => owner.script(text));

  if (fresh) {
    const startedAt = performance.now();
    await run(`
      insert into brain_entities (name, lexical)
        select md5(i::text) || ' ' || ${word("i")}, md5(i::text) || ' ' || ${word("i")} from generate_series(1, ${entities}) as i;
      insert into brain_sessions (session_name, ended_at)
        select 's' || i, now() from generate_series(1, ${Math.ceil(observations / OBSERVATIONS_OF_A_SESSION)}) as i;
      create table bench_entities as select id, row_number() over (order by id) as n from brain_entities;
      create table bench_sessions as select id, row_number() over (order by id) as n from brain_sessions;
      create index on bench_entities (n); create index on bench_sessions (n); analyze bench_entities, bench_sessions;`);
    for (let at = 0; at < observations; at += FILLED_AT_ONCE)
      await run(`
        insert into brain_observations (entity_id, session_id, content, lexical, importance)
        select e.id, s.id, t.words, t.words, 0.8
        from generate_series(${at + 1}, ${Math.min(observations, at + FILLED_AT_ONCE)}) as i
        join bench_entities as e on e.n = 1 + (i * 7919) % ${entities}
        join bench_sessions as s on s.n = 1 + (i - 1) / ${OBSERVATIONS_OF_A_SESSION}
        cross join lateral (select ${word("i")} || ' ' || ${word("i / 7")} || ' ' || ${word("i / 91")} || ' number ' || i as words) as t`);
    // Groups of a hundred, dense inside; every tenth edge leaves its group.
    await run(`
      insert into brain_relations (from_entity, to_entity, relation_type, strength)
        select a.id, b.id, 'uses', 0.2 + (i % 8) * 0.1
        from generate_series(1, ${relations}) as i
        join bench_entities as a on a.n = 1 + i % ${entities}
        join bench_entities as b on b.n = 1 + case when i % 10 = 0 then (i::bigint * 7907) % ${entities}
          else least(${entities} - 1, (i % ${entities}) / 100 * 100 + (i::bigint * 31 + i / ${entities}) % 100) end
        where a.id <> b.id on conflict do nothing;
      insert into brain_episodes (entity_id, content, lexical, created_at, started_at)
        select e.id, 'episode ' || i, 'episode ' || i, now() - interval '30 days', now() - interval '30 days'
        from generate_series(1, ${EPISODES}) as i join bench_entities as e on e.n = 1 + i % ${entities};
      drop table bench_entities; drop table bench_sessions;`);
    for (const table of ["brain_postings", "brain_observations", "brain_entities", "brain_relations", "brain_episodes"])
      await db.asOwner((owner) => owner.query(`vacuum analyze ${table}`));
    console.error(`filled in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  }

  return {
    db,
    observations,
    /** Makes this share of the observations due again, and gives every smaller phase something to do. */
    async makeDue(share = 1): Promise<void> {
      // As a replica no trigger runs.
      await run(`
        set session_replication_role = replica;
        update brain_observations set importance = 0.8, last_accessed = now() - interval '30 days', last_decayed_at = now() - interval '30 days'
          where get_byte(uuid_send(id), 0) < ${Math.ceil(share * 256)};
        update brain_episodes set importance = initial_importance;
        update brain_observations set content = repeat(content || '. ', 100)
          where id in (select id from brain_observations where char_length(content) < 1000 order by id desc limit ${LONG_TEXTS});
        delete from brain_observation_chunks;
        update brain_observations set lexical = null where id in (select id from brain_observations order by id limit ${UNPREPARED});
        delete from brain_postings where row_id in (select id from brain_observations order by id limit ${UNPREPARED});
        set session_replication_role = origin;
        delete from brain_relations where provenance = 'predicted';
        insert into brain_wm (content, created_at, expires_at)
          select 'note ' || i, now() - interval '2 days', now() - interval '1 day' from generate_series(1, ${NOTES}) as i;
        insert into brain_verify_log (claim, confidence, grounding_level, created_at)
          select 'claim ' || i, 0.5, 'weak', now() - interval '400 days' from generate_series(1, ${PREDICTIONS}) as i;`);
      await run("vacuum analyze brain_observations");
      await run("checkpoint");
    },
  };
}
