import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { changeVectorWidth, checkVectorWidth, vectorColumns } from "../../src/store/vectors.ts";
import { eachEngine } from "../support/engines.ts";
import { entity, observation, row, rows } from "../support/statements.ts";

const unit = (dimensions: number) => `[${Array.from({ length: dimensions }, (_, index) => (index === 0 ? 1 : 0)).join(",")}]`;

eachEngine("vector columns", (engine) => {
  test("are found in the catalogue, all of one width", async () => {
    const columns = await engine.db.asOwner(vectorColumns);
    expect(columns.map((column) => `${column.table}.${column.column} ${column.type} ${column.dimensions}`)).toEqual([
      "brain_cube_flat.embedding vector 384",
      "brain_episodes.embedding vector 384",
      "brain_observation_chunks.embedding vector 384",
      "brain_observations.embedding vector 384",
      "brain_preferences.embedding vector 384",
      "brain_procedures.embedding vector 384",
    ]);
  });

  test("of another width than the model's stop the start, each named", async () => {
    await engine.db.asOwner((owner) => checkVectorWidth(owner, 384));
    const refused = engine.db.asOwner((owner) => checkVectorWidth(owner, 1024));
    await expect(refused).rejects.toThrow(
      /brain_episodes\.embedding \(384\).*brain_observation_chunks\.embedding \(384\).*brain_observations\.embedding \(384\).*brain_procedures\.embedding \(384\)/,
    );
    await expect(engine.db.asOwner((owner) => checkVectorWidth(owner, 1024))).rejects.toThrow("reembed --dim 1024 --apply");
  });

  test("that somebody changed under a running process say so to what it stores and compares", async () => {
    const id = await observation(engine.db, await entity(engine.db), { content: "kept" });
    const says = /^The vectors of this database have another length .* Start this process again .*doctor/;
    await expect(rows(engine.db, sql`update brain_observations set embedding = ${unit(8)}::vector where id = ${id}::uuid`)).rejects.toThrow(
      says,
    );
    await rows(
      engine.db,
      sql`update brain_observations set embedding = ${unit(384)}::vector, embedding_model = 'm' where id = ${id}::uuid`,
    );
    await expect(
      rows(engine.db, sql`select embedding <=> ${unit(8)}::vector from brain_observations where id = ${id}::uuid`),
    ).rejects.toThrow(says);
  });

  test("have no index: an insert would pay for one, and no search would use it", async () => {
    const { rows: indexes } = await engine.db.asOwner((owner) =>
      owner.query("select indexname from pg_indexes where indexdef ~* 'using (hnsw|ivfflat)'"),
    );
    expect(indexes).toEqual([]);
  });

  test("change their width in one go: vectors gone, texts, versions and other measures kept", async () => {
    const id = await observation(engine.db, await entity(engine.db), { content: "kept" });
    await rows(
      engine.db,
      sql`update brain_observations set embedding = ${unit(384)}::vector, embedding_model = 'm' where id = ${id}::uuid`,
    );
    await rows(
      engine.db,
      sql`insert into brain_calibration (key, value) values ('ood_threshold', 1), ('ood_threshold:x', 1), ('other', 1)`,
    );

    const changed = await engine.db.asOwner((owner) => changeVectorWidth(owner, 8));
    expect(changed).toHaveLength(6);
    expect((await engine.db.asOwner(vectorColumns)).map((column) => column.dimensions)).toEqual([8, 8, 8, 8, 8, 8]);
    expect(
      await row(engine.db, sql`select content, version, embedding, embedding_model from brain_observations where id = ${id}::uuid`),
    ).toEqual({ content: "kept", version: 1, embedding: null, embedding_model: null });
    expect(await rows(engine.db, sql`select key from brain_calibration`)).toEqual([{ key: "other" }]);
    await rows(
      engine.db,
      sql`update brain_observations set embedding = ${unit(8)}::vector, embedding_model = 'small' where id = ${id}::uuid`,
    );
    expect(await engine.db.asOwner((owner) => changeVectorWidth(owner, 8))).toEqual([]);
    expect((await row(engine.db, sql`select embedding_model from brain_observations where id = ${id}::uuid`)).embedding_model).toBe(
      "small",
    );
  });
});
