import { expect, test } from "bun:test";
import { markIndexPages } from "../../src/store/upkeep.ts";
import { eachEngine } from "../support/engines.ts";
import { seedMany } from "../support/search.ts";

eachEngine("the index of words", (engine) => {
  test("has its new pages marked once, and is left alone while few are new", async () => {
    await seedMany(
      engine.db,
      Array.from({ length: 900 }, (_, at) => Array.from({ length: 12 }, (_, word) => `w${at}x${word}`).join(" ")),
    );
    expect(await engine.db.asOwner(markIndexPages)).toBe(true);
    await seedMany(engine.db, ["one more row"]);
    expect(await engine.db.asOwner(markIndexPages)).toBe(false);
  }, 60_000);
});
