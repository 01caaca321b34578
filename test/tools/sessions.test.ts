import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { toEnd } from "../../src/kernel/steps.ts";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import type { Answer } from "../../src/tools/define.ts";
import type { Services } from "../../src/tools/services.ts";
import sessionsTool from "../../src/tools/sessions.ts";
import { eachEngine, testScope } from "../support/engines.ts";
import { processOver } from "../support/services.ts";

/** What an agent may get at once, cl100k tokens. */
const MOST_TOKENS = 10_000;

eachEngine("cuba_jornada with many and long sessions", (engine) => {
  beforeEach(() => engine.db.reset());
  const open = () => {
    const { sessions, client } = processOver(engine.db);
    const window = client();
    return async (args: Record<string, unknown>): Promise<Answer> => {
      const parsed = toEnd(sessionsTool.parse(args));
      if (parsed.kind !== "run") throw new Error("the tool forwards nothing");
      return await parsed.run(await window.context(), { sessions } as Partial<Services> as Services);
    };
  };
  const everywhere = testScope({ scope: { kind: "everything" } });
  const seed = (count: number, summary: string) =>
    engine.db.write(everywhere, async (tx) => {
      await tx.run(sql`
        insert into brain_sessions (session_name, goals, outcome, summary, client_key, started_at, ended_at)
        select 'session ' || n, '[]'::jsonb, 'success', ${summary}::text || n, 'x', now() - n * interval '1 hour', now() - n * interval '1 hour'
        from generate_series(1, ${count}::int) as n`);
    });
  const tokensOf = async (answer: Answer) => (await tokenCounter())(JSON.stringify(answer));
  const listed = (answer: Answer) => answer.sessions as Answer[];

  test("list keeps below the limit, and reading on with next and limit 1 brings every summary whole", async () => {
    const long = "界".repeat(20_000);
    await seed(7, long);
    const call = open();
    const first = await call({ action: "list" });
    expect(await tokensOf(first)).toBeLessThanOrEqual(MOST_TOKENS);
    expect(first).toMatchObject({ truncated: true, total: 7, next: { offset: 0, limit: 1 } });
    expect(listed(first)[0]).toMatchObject({ name: "session 1", summary_truncated: true, summary_chars: 20_001 });
    for (let at = 0; at < 7; at++) {
      const alone = await call({ action: "list", offset: at, limit: 1 });
      expect(listed(alone)[0]).toMatchObject({ name: `session ${at + 1}`, summary: `${long}${at + 1}` });
      expect(alone.next).toEqual(at === 6 ? undefined : { offset: at + 1 });
    }
  });

  test("a start is answered although the reminders cannot be read", async () => {
    const call = open();
    await engine.db.write(everywhere, async (tx) => {
      await tx.run(
        sql`insert into brain_triggers (entity_pattern, condition_type, message) values ('cursor', 'on_session_start', 'mind the gap')`,
      );
    });
    await engine.db.asOwner((owner) => owner.script("alter table brain_triggers rename to brain_triggers_away"));
    try {
      const started = await call({ action: "start", name: "work" });
      expect(started).toMatchObject({ action: "started", session: { session_name: "work" } });
      expect(started).not.toHaveProperty("triggered_reminders");
    } finally {
      await engine.db.asOwner((owner) => owner.script("alter table brain_triggers_away rename to brain_triggers"));
    }
    // What could not be delivered was not used up.
    expect((await call({ action: "start", name: "more work" })).triggered_reminders).toMatchObject([{ message: "mind the gap" }]);
  });

  test("list shows twenty short sessions, or as many as are asked for", async () => {
    await seed(60, "done ");
    const call = open();
    expect(listed(await call({ action: "list" }))).toHaveLength(20);
    expect(await call({ action: "list", limit: 3, offset: 57 })).toMatchObject({ count: 3, sessions: [{ name: "session 58" }, {}, {}] });
    expect(await call({ action: "list", limit: 50 })).toMatchObject({ count: 50, truncated: true, total: 60, next: { offset: 50 } });
  });

  test("start keeps below the limit with a summary, goals, reminders and notices of the longest kind", async () => {
    await seed(1, "界".repeat(49_000));
    await engine.db.write(everywhere, async (tx) => {
      await tx.run(sql`
        insert into brain_triggers (entity_pattern, condition_type, message, max_fires)
        select 'cursor', 'on_session_start', repeat('界', 2000), 1 from generate_series(1, 10)`);
      await tx.run(sql`
        insert into brain_peer_notices (node_name, summary, manifest_hash) select 'peer', repeat('界', 1000), n::text from generate_series(1, 20) as n`);
    });
    const answer = await open()({ action: "start", goals: Array.from({ length: 50 }, (_, at) => `${at} ${"界".repeat(990)}`) });
    expect(await tokensOf(answer)).toBeLessThanOrEqual(MOST_TOKENS);
    expect(answer.session).toMatchObject({ goals_truncated: true, goals_total: 50 });
    expect(answer.previous_session).toMatchObject({ name: "session 1", summary_truncated: true, summary_chars: 49_001 });
    expect(answer.triggered_reminders).toHaveLength(10);
    expect(answer).toMatchObject({ peer_notices_total: 20 });
  });
});
