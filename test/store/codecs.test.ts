import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { z } from "zod";
import {
  bytes,
  float8,
  floatArray,
  int8,
  intArray,
  json,
  jsonArray,
  numeric,
  query,
  textArray,
  timestamp,
  timestampArray,
  uuid,
  uuidArray,
  vector,
  vectorArray,
  vectorParam,
} from "../../src/store/codecs.ts";
import { eachEngine, testScope } from "../support/engines.ts";
import { row } from "../support/statements.ts";

test("int8 is a number, and refused where a number cannot hold it", () => {
  expect(int8.parse("9007199254740991")).toBe(9_007_199_254_740_991);
  expect(int8.safeParse("9007199254740993").success).toBe(false);
});

test.each([
  ["2026-05-04 03:02:01+00", "2026-05-04T03:02:01.000000+00:00"],
  ["2026-05-04 03:02:01.000123+00", "2026-05-04T03:02:01.000123+00:00"],
  ["2026-05-04 03:02:01.5+00", "2026-05-04T03:02:01.500000+00:00"],
])("the timestamp %p reads as %p", (raw, text) => {
  expect(timestamp.parse(raw)).toBe(text);
});

test("a timestamp of another zone is refused rather than shifted", () => {
  expect(timestamp.safeParse("2026-05-04 03:02:01+02").success).toBe(false);
});

test("json refuses what JSON does not know", () => {
  expect(() => json(undefined)).toThrow(TypeError);
});

eachEngine("values through the engine", (engine) => {
  const one = <T>(schema: z.ZodType<T>, expression: ReturnType<typeof sql>) =>
    engine.db.read(testScope(), async (tx) => (await tx.first(query(z.object({ v: schema }), () => sql`select ${expression} as v`)()))?.v);

  test("arrive the same on every engine, before any codec", async () => {
    const raw = await row(
      engine.db,
      sql`select 1::int2 as i2, 2::int4 as i4, 3::int8 as i8, 1.5::float8 as f8, 1.25::numeric as num, true as yes, null::text as nothing,
                 'x'::text as txt, '{"a":[1,null]}'::jsonb as doc, '2026-01-02 03:04:05.678901+00'::timestamptz as at, '2026-01-02'::date as day,
                 '00000000-0000-4000-8000-000000000001'::uuid as id, array['a','b,"c']::text[] as words, array[1,2]::int[] as ints,
                 array[1.5,null]::float8[] as floats, array['00000000-0000-4000-8000-000000000001']::uuid[] as ids, '[1,2]'::vector as vec,
                 '\\x00ff'::bytea as raw, array[true,false] as flags, array['2026-01-02 03:04:05+00'::timestamptz] as times, 3::oid as oid`,
    );
    expect(raw).toEqual({
      i2: 1,
      i4: 2,
      i8: "3",
      f8: 1.5,
      num: "1.25",
      yes: true,
      nothing: null,
      txt: "x",
      doc: { a: [1, null] },
      at: "2026-01-02 03:04:05.678901+00",
      day: "2026-01-02",
      id: "00000000-0000-4000-8000-000000000001",
      words: ["a", 'b,"c'],
      ints: [1, 2],
      floats: [1.5, null],
      ids: ["00000000-0000-4000-8000-000000000001"],
      vec: "[1,2]",
      raw: Uint8Array.of(0, 255),
      flags: [true, false],
      times: ["2026-01-02 03:04:05+00"],
      oid: 3,
    });
  });

  test("texts come back as they went in, the strange ones too", async () => {
    const text = fc.string({ unit: "grapheme" }).filter((value) => !value.includes("\0"));
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        expect(await one(z.string(), sql`${value}::text`)).toBe(value);
        expect(await one(z.array(z.string()), textArray([value, value]))).toEqual([value, value]);
      }),
      { numRuns: 30 },
    );
  });

  test("doubles come back bit for bit", async () => {
    await fc.assert(
      fc.asyncProperty(fc.double(), async (value) => {
        expect(await one(float8, sql`${value}::float8`)).toBe(value);
      }),
      { numRuns: 30 },
    );
  });

  test("JSON comes back equal, and a JSON text is not encoded twice", async () => {
    await fc.assert(
      fc.asyncProperty(fc.json({ noUnicodeString: true }), async (text) => {
        const value: unknown = JSON.parse(text);
        expect(await one(z.unknown(), json(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 30 },
    );
    expect(await one(z.string(), sql`jsonb_typeof(${json([1])})`)).toBe("array");
    expect(await one(z.array(z.unknown()), jsonArray([{ a: 1 }, "x", null]))).toEqual([{ a: 1 }, "x", null]);
  });

  test("vectors keep their float32 components", async () => {
    const values = Float32Array.of(0.1, -1 / 3, 1e-20, 12345.678);
    expect(await one(vector, vectorParam(values))).toEqual(values);
    expect(await one(vector.nullable(), vectorParam(null))).toBeNull();
    expect(await one(vector, sql`(${vectorArray([null, values])})[2]`)).toEqual(values);
  });

  test("lists of every kind are one parameter", async () => {
    const id = "00000000-0000-4000-8000-000000000001";
    expect(await one(z.array(uuid.nullable()), uuidArray([id, null]))).toEqual([id, null]);
    expect(await one(z.array(z.number()), intArray([1, -2]))).toEqual([1, -2]);
    expect(await one(z.array(z.number()), floatArray([0.1]))).toEqual([0.1]);
    expect(await one(z.array(timestamp), timestampArray(["2026-01-02T03:04:05.000006+00:00"]))).toEqual([
      "2026-01-02T03:04:05.000006+00:00",
    ]);
    expect(await one(z.array(z.string()), textArray([]))).toEqual([]);
  });

  test("a timestamp text keeps its microseconds on the way in", async () => {
    expect(await one(timestamp, sql`${"2026-01-02T03:04:05.000006+00:00"}::timestamptz`)).toBe("2026-01-02T03:04:05.000006+00:00");
  });

  test("bytes and numerics have their codec", async () => {
    expect(await one(bytes, sql`${Uint8Array.of(1, 2)}::bytea`)).toEqual(Uint8Array.of(1, 2));
    expect(await one(numeric, sql`1.25::numeric`)).toBe(1.25);
    expect(await one(int8, sql`(select count(*) from brain_projects)`)).toBeNumber();
  });

  test("a row of another shape than its schema is an error, not a guess", async () => {
    await expect(one(z.number(), sql`'text'::text`)).rejects.toThrow();
  });
});
