import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { causeChain, MemoryError, present } from "../../src/kernel/errors.ts";
import { isConnectionFault, isDuplicate, isRetryable, storeFault, translate } from "../../src/store/failures.ts";
import { eachEngine, testScope } from "../support/engines.ts";
import { entity, rows } from "../support/statements.ts";

const driver = (code: string, more: object = {}) =>
  Object.assign(new Error("driver text with a secret"), { code, detail: "Key (name)=(secret)", ...more });

test.each([
  ["23505", "conflict"],
  ["23503", "conflict"],
  ["23001", "conflict"],
  ["23514", "invalid"],
  ["23502", "invalid"],
  ["22P05", "invalid"],
  ["22P02", "invalid"],
  ["54000", "invalid"],
  ["42501", "refused"],
  ["40001", "busy"],
  ["40P01", "busy"],
  ["55P03", "busy"],
  ["53300", "busy"],
  ["ACQUIRE_TIMEOUT", "busy"],
  ["57014", "timeout"],
  ["53100", "unavailable"],
  ["57P01", "unavailable"],
  ["08006", "unavailable"],
  ["28P01", "unavailable"],
  ["3D000", "unavailable"],
  ["25006", "unavailable"],
  ["ECONNREFUSED", "unavailable"],
  ["CONNECTION_CLOSED", "unavailable"],
  ["CONNECT_TIMEOUT", "unavailable"],
  ["XX001", "corrupt"],
  ["42P01", "internal"],
  ["99999", "internal"],
])("%s is %s, says what to do, and keeps no driver text", (code, ours) => {
  const error = translate(driver(code));
  if (!(error instanceof MemoryError)) throw new Error("not ours");
  expect<string>(error.code).toBe(ours);
  expect(error.message).toContain("Nothing was written.");
  expect(`${error.message} ${present(error).text}`).not.toContain("secret");
});

test("names of the schema survive, from both drivers", () => {
  const pglite = translate(driver("23505", { table: "brain_entities", constraint: "uq_brain_entities_name_project" }));
  const server = translate(driver("23505", { table_name: "brain_entities", constraint_name: "uq_brain_entities_name_project" }));
  for (const error of [pglite, server]) {
    expect(isDuplicate(error, "uq_brain_entities_name_project")).toBe(true);
    expect(isDuplicate(error, "another")).toBe(false);
    expect(storeFault(error)).toMatchObject({ state: "23505", table: "brain_entities" });
  }
});

test("an unknown outcome is not called unwritten", () => {
  expect(String(translate(driver("CONNECTION_CLOSED"), { written: "unknown" }))).toContain("read before you write it again");
});

test("our own errors and bugs pass as they are", () => {
  const ours = new MemoryError("conflict", "x");
  const bug = new TypeError("x");
  expect(translate(ours)).toBe(ours);
  expect(translate(bug)).toBe(bug);
});

test("collisions may be tried again, lost connections are told apart", () => {
  expect(isRetryable(translate(driver("40001")))).toBe(true);
  expect(isRetryable(translate(driver("40P01")))).toBe(true);
  expect(isRetryable(translate(driver("23505")))).toBe(false);
  expect(isConnectionFault(translate(driver("ECONNRESET")))).toBe(true);
  expect(isConnectionFault(translate(driver("23505")))).toBe(false);
});

eachEngine("a refusal of the engine", (engine) => {
  const secret = "hunter2-in-a-memory";
  test("never repeats a value: not in the message, not in the cause", async () => {
    await entity(engine.db, null, secret);
    const statements = [
      sql`insert into brain_entities (name) values (${secret}::text)`,
      sql`insert into brain_entities (name, entity_type) values ('x', ${secret}::text)`,
      sql`select ${secret}::uuid`,
      sql`select ${secret}::jsonb`,
      sql`select ${`[${secret}]`}::vector`,
      sql`insert into brain_relations (from_entity, to_entity, relation_type) select id, gen_random_uuid(), 'uses' from brain_entities where name = ${secret}::text`,
      sql`select no_such_function(${secret}::text)`,
    ];
    for (const statement of statements) {
      const error: unknown = await rows(engine.db, statement, testScope()).then(
        () => undefined,
        (failure: unknown) => failure,
      );
      expect(error).toBeInstanceOf(MemoryError);
      expect(`${String(error)} ${causeChain(error)} ${JSON.stringify(error)} ${present(error).text}`).not.toContain(secret);
    }
  });
});
