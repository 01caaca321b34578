import { expect, test } from "bun:test";
import {
  type AuditAlgorithm,
  type AuditRow,
  auditHash,
  auditTime,
  checkAuditAction,
  createAuditVerifier,
} from "../../src/domain/audit-chain.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const content = { previousHash: new Uint8Array(), action: "test", payload: '{"a":1}', at: "2026-08-03T00:00:00.000000+00:00" };

test("the hashes are those of the specification", () => {
  expect(hex(auditHash(content, "sha256", ""))).toBe("fbdcb37026cacc5df1f28251d3eba3aa1653d2950e0a7c530b2a8fa92709540d");
  expect(hex(auditHash(content, "hmac-sha256", "k3y"))).toBe("aca9cd75adc8e6606a0a3406c18a5748a86f48cd6969f3da3ddeb88e371eed80");
});

test("the time has six digits, the last three zero", () => {
  expect(auditTime(new Date(Date.UTC(2026, 7, 3, 4, 5, 6, 78)))).toBe("2026-08-03T04:05:06.078000+00:00");
});

test.each(["", "a|b", "a\nb", "a\u0000b", "a\u007fb"])("the action %j is refused", (action) => {
  expect(() => checkAuditAction(action)).toThrow("event_action");
});

test("an ordinary action passes", () => {
  expect(() => checkAuditAction("memory.promote")).not.toThrow();
});

/** A chain of honest rows, one for each algorithm. */
function chain(key: string, ...algorithms: AuditAlgorithm[]): AuditRow[] {
  const made: AuditRow[] = [];
  for (const [index, algorithm] of algorithms.entries()) {
    const previous = made.at(-1)?.hash ?? null;
    const row = { ...content, previousHash: previous ?? new Uint8Array(), payload: `{"n":${index}}` };
    made.push({ ...row, id: index + 1, storedPrevious: previous, hash: auditHash(row, algorithm, key) });
  }
  return made;
}

const walk = (rows: readonly AuditRow[], key: string | undefined) => {
  const verifier = createAuditVerifier(key);
  verifier.take(rows);
  return verifier.state;
};

test("an empty log holds", () => {
  expect(walk([], "k")).toEqual({ checked: 0, unprotected: 0, head: undefined, firstBreak: undefined });
});

test("rows from before the key are counted as unprotected", () => {
  const state = walk(chain("k", "sha256", "sha256", "hmac-sha256"), "k");
  expect(state).toMatchObject({ checked: 3, unprotected: 2, firstBreak: undefined, head: { id: 3 } });
});

test("a correctly linked SHA-256 row after the seal is a downgrade", () => {
  expect(walk(chain("k", "sha256", "hmac-sha256", "sha256"), "k").firstBreak).toEqual({ id: 3, reason: "downgrade" });
});

test("a changed text breaks, and is told from a wrong key once the key is proven", () => {
  const rows = chain("k", "hmac-sha256", "hmac-sha256");
  const [first, second] = rows;
  if (first === undefined || second === undefined) throw new Error("two rows");
  expect(walk([first, { ...second, payload: "{}" }], "k").firstBreak).toEqual({ id: 2, reason: "tampered" });
  expect(walk([{ ...first, payload: "{}" }, second], "k").firstBreak).toEqual({ id: 1, reason: "tampered_or_wrong_key" });
  expect(walk(rows, "wrong").firstBreak).toEqual({ id: 1, reason: "tampered_or_wrong_key" });
  expect(walk(rows, undefined).firstBreak).toEqual({ id: 1, reason: "tampered_or_wrong_key" });
});

test("a row taken out of the middle breaks the link", () => {
  const [first, , third] = chain("k", "sha256", "sha256", "sha256");
  if (first === undefined || third === undefined) throw new Error("three rows");
  expect(walk([first, third], undefined).firstBreak).toEqual({ id: 3, reason: "link" });
  expect(walk([third], undefined).firstBreak).toEqual({ id: 3, reason: "link" });
});

test("pages join into one walk", () => {
  const rows = chain("k", "sha256", "sha256", "sha256");
  const verifier = createAuditVerifier(undefined);
  for (const row of rows) verifier.take([row]);
  expect(verifier.state).toEqual(walk(rows, undefined));
});
