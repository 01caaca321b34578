import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import type { DatabaseFacts } from "../../../src/doctor/check.ts";
import consolidation from "../../../src/doctor/checks/consolidation.ts";
import { eachEngine, testScope } from "../../support/engines.ts";

const everything = testScope({ scope: { kind: "everything" } });

eachEngine("the check of the consolidation cycle", (engine) => {
  test("that no cycle ran, that one found nothing to do, and that one's model gave up look different; parked rows and questions are counted", async () => {
    const db = engine.db;
    await db.reset();
    const found = async () => await consolidation.run({ db, scope: everything } as unknown as DatabaseFacts);
    const cycle = (ago: string, error: string | null, failed: number, calls: number) =>
      db.write(testScope(), (tx) =>
        tx.run(sql`insert into brain_rem_cycles (started_at, finished_at, duration_ms, error, relation_scan_failed, llm_calls)
          values (now() - ${ago}::interval, now() - ${ago}::interval, 12, ${error}::text, ${failed}::int, ${calls}::int)`),
      );
    expect(await found()).toMatchObject({ status: "ok", detail: expect.stringContaining("no cycle has run yet") });
    await cycle("6 hours", null, 0, 0);
    expect(await found()).toMatchObject({ status: "ok", detail: expect.stringContaining("none since") });
    await cycle("2 seconds", null, 0, 0);
    expect((await found()).detail).toMatch(/after 12 ms; 0 questions to a language model today$/);
    await cycle("1 second", null, 2, 3);
    await db.write(testScope(), (tx) => tx.run(sql`insert into brain_entities (name, relation_scan_attempts) values ('a', 8)`));
    expect(await found()).toMatchObject({
      status: "warn",
      detail: expect.stringContaining(
        "3 questions to a language model today; 1 rows that a model failed on 8 times are left out; its language model failed on 2 rows",
      ),
    });
    await cycle("0 seconds", "unfinished: in phase decay", 0, 0);
    expect(await found()).toMatchObject({ status: "warn", detail: expect.stringContaining("unfinished: in phase decay") });
    await db.reset();
  });
});
