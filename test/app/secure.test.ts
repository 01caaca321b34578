import { expect, test } from "bun:test";
import { shownAddress } from "../../src/app/secure.ts";

test("the address to run with holds the password while that is new, and never again; the admin's never", () => {
  expect(shownAddress("postgres://admin:root@h:5433/d?sslmode=require", "s3/cret", true)).toBe(
    "postgres://cuba_app:s3%2Fcret@h:5433/d?sslmode=require",
  );
  expect(shownAddress("postgres://admin:root@h:5433/d?sslmode=require", "s3/cret", false)).toBe(
    "postgres://cuba_app:PASSWORD@h:5433/d?sslmode=require",
  );
});
