/** Relations that sessions suggest, found a page at a time. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { strongestFirst } from "../../../src/domain/graph/cooccurrence.ts";
import { createCalls, paceBehind } from "../../../src/services/pace.ts";
import { createAutolink, type Proposal } from "../../../src/services/relations/autolink.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { entity, rows } from "../../support/statements.ts";

eachEngine("relations that sessions suggest", (engine) => {
  beforeEach(() => engine.db.reset());
  const ctx = () => ({ ...testScope({ scope: { kind: "everything" } }), pace: paceBehind(createCalls())() });
  const thresholds = { threshold: 0.05, minSessions: 2 };
  const found = async (pagePairs?: number, enough = Number.POSITIVE_INFINITY) => {
    const all: Proposal[] = [];
    await createAutolink({ db: engine.db, ...(pagePairs === undefined ? {} : { pagePairs }) }).propose(ctx(), thresholds, async (some) => {
      all.push(...some);
      return all.length < enough;
    });
    return all;
  };
  /** Eight entities; the session of number n has those whose number divides it. */
  const filled = async () => {
    const ids: string[] = [];
    for (let at = 1; at <= 8; at++) ids.push(await entity(engine.db, null, `e${at}`));
    for (let n = 1; n <= 24; n++) {
      const session = String((await rows(engine.db, sql`insert into brain_sessions (session_name) values ('s') returning id`))[0]?.id);
      for (const [at, id] of ids.entries())
        if (n % (at + 1) === 0)
          await rows(
            engine.db,
            sql`insert into brain_observations (entity_id, content, session_id) values (${id}::uuid, ${`note ${n} ${at}`}::text, ${session}::uuid) returning id`,
          );
    }
    return ids;
  };

  test("come in one order whatever fits in memory, and end when enough is found", async () => {
    const ids = await filled();
    const whole = await found();
    expect(whole.length).toBeGreaterThan(4);
    expect(whole.map(({ npmi }) => npmi)).toEqual(whole.map(({ npmi }) => npmi).sort((a, b) => b - a));
    for (const pagePairs of [1, 2, 3, whole.length]) expect([pagePairs, await found(pagePairs)]).toEqual([pagePairs, whole]);
    expect((await found(2, 1)).length).toBeLessThan(whole.length);
    const [first] = whole;
    await rows(
      engine.db,
      sql`insert into brain_relations (from_entity, to_entity, relation_type) values (${first?.b ?? ""}::uuid, ${first?.a ?? ""}::uuid, 'uses') returning id`,
    );
    for (const pagePairs of [1, 3]) expect(await found(pagePairs)).toEqual(whole.slice(1));
    expect(ids).toHaveLength(8);
  });

  test("in no order they are the same, and are stored while they are found, each once", async () => {
    await filled();
    const whole = await found();
    const autolink = createAutolink({ db: engine.db, pagePairs: 2 });
    let made = 0;
    const again: Proposal[] = [];
    await autolink.each(ctx(), thresholds, async (some) => {
      again.push(...some);
      made += await autolink.store(ctx(), some);
    });
    expect([again.sort(strongestFirst), made]).toEqual([whole, whole.length]);
    expect(await found(2)).toEqual([]);
  });
});
