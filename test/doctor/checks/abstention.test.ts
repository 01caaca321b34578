import { expect, test } from "bun:test";
import type { DatabaseFacts } from "../../../src/doctor/check.ts";
import abstention from "../../../src/doctor/checks/abstention.ts";
import type { Embedder } from "../../../src/inference/port.ts";
import { eachEngine } from "../../support/engines.ts";
import { LABEL, noEmbedder } from "../../support/search.ts";

const installed: Embedder = { ...noEmbedder, status: () => ({ state: "idle", model: "m" }) };

eachEngine("the doctor's look at the abstention gate", (engine) => {
  const check = (embedder: Embedder) => {
    if (abstention.where !== "database") throw new Error("not a check of the database");
    const scope = { principal: { kind: "owner" }, scope: { kind: "everything" }, signal: new AbortController().signal } as const;
    return abstention.run({ db: engine.db, scope, embedder } as Partial<DatabaseFacts> as DatabaseFacts);
  };
  const put = (metadata: object) =>
    engine.db.asOwner((connection) =>
      connection.query(
        `insert into brain_calibration (key, value, metadata) values ('ood_threshold', 4, '${JSON.stringify(metadata)}')
        on conflict (key) do update set metadata = excluded.metadata`,
      ),
    );

  test("no threshold is no fault; one of another model, another width or a smaller memory no longer holds", async () => {
    await engine.db.reset();
    expect(await check(installed)).toEqual({
      status: "ok",
      detail: "no threshold measured: abstain_ood refuses nothing (memory-industry calibrate --dataset FILE --apply)",
    });
    await put({ embedding_dim: 384, embedding_model: LABEL, corpus_rows: 0 });
    expect((await check(installed)).detail).toStartWith("1 thresholds of abstain_ood, the last measured 20");
    for (const [metadata, why] of [
      [{ embedding_dim: 1024 }, "measured on vectors of 1024 numbers, and those of today have 384"],
      [{ embedding_dim: 384, embedding_model: "other/1" }, `measured with other/1, and ${LABEL} is running`],
      [{ embedding_dim: 384, corpus_rows: 100 }, "measured on 100 memories, and there are 0 now"],
    ] as const) {
      await put(metadata);
      const verdict = await check(installed);
      expect(verdict).toMatchObject({ status: "warn", hint: "memory-industry calibrate --dataset FILE --apply" });
      expect(verdict.detail).toContain(why);
    }
    // A row of a program that read no memory word by word: said where the model of today gives tokens.
    await put({ embedding_dim: 384, rule: { weights: { coverage: 1 }, bias: 0, threshold: 0 } });
    expect((await check(installed)).status).toBe("ok");
    const unread = await check({ ...installed, tokens: async () => [] });
    expect(unread).toMatchObject({ status: "warn", hint: "memory-industry calibrate --dataset FILE --apply" });
    expect(unread.detail).toStartWith("1 of 1 thresholds read no memory word by word");
    // Without a model nothing is compared with one.
    await put({ embedding_dim: 1024 });
    expect((await check(noEmbedder)).status).toBe("ok");
  });
});
