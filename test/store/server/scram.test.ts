import { expect, test } from "bun:test";
import { newPassword, scramVerifier, withCredentials } from "../../../src/store/server/scram.ts";

test("the verifier is the one of RFC 7677's example exchange", () => {
  // user "user", password "pencil", salt and 4096 rounds of RFC 7677 §3; the server signature there follows from this ServerKey.
  const verifier = scramVerifier("pencil", Buffer.from("W22ZaJ0SNY7soEsUEjb6gQ==", "base64"));
  expect(verifier).toBe(
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
  );
});

test("two verifiers of one password differ by their salt", () => {
  expect(scramVerifier("x")).not.toBe(scramVerifier("x"));
});

test("a new password has 128 random bits", () => {
  expect(newPassword()).toMatch(/^[0-9a-f]{32}$/);
  expect(newPassword()).not.toBe(newPassword());
});

test.each([
  ["postgres://cuba:old@localhost:5488/brain?sslmode=require", "postgres://cuba_app:p%40ss@localhost:5488/brain?sslmode=require"],
  ["postgresql://localhost/brain", "postgresql://cuba_app:p%40ss@localhost/brain"],
  ["postgres://a:b@one:5432,two:5433/brain", "postgres://cuba_app:p%40ss@one:5432,two:5433/brain"],
  ["postgres://a:b%2Fc@[::1]:5432/brain", "postgres://cuba_app:p%40ss@[::1]:5432/brain"],
  ["postgres://a:b@host", "postgres://cuba_app:p%40ss@host"],
])("%s keeps all but its user and password", (url, expected) => {
  expect(withCredentials(url, "cuba_app", "p@ss")).toBe(expected);
});

test("what is no PostgreSQL URL is refused without being repeated", () => {
  expect(() => withCredentials("mysql://root:secret@x/y", "a", "b")).toThrow(/^not a PostgreSQL URL$/);
});
