import { expect, test } from "bun:test";
import { withoutClientParameters } from "../../../src/store/server/client.ts";

test.each([
  ["postgres://u:p@h/db", "postgres://u:p@h/db"],
  ["postgres://u:p@h/db?sslmode=require&channel_binding=require", "postgres://u:p@h/db?sslmode=require"],
  ["postgres://u:p@h/db?channel_binding=prefer", "postgres://u:p@h/db"],
  ["postgres://u:p@h/db?options=-c%20a%3Db&keepalives_idle=3", "postgres://u:p@h/db?options=-c%20a%3Db"],
])("%s is connected to as %s", (given, used) => {
  expect(withoutClientParameters(given)).toBe(used);
});
