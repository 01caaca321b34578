/**
 * The hash chain of the audit log (`data-model.md` §11.1): `H(prev ‖ "|" ‖ action ‖ "|" ‖ payload ‖ "|" ‖ time)`, HMAC-SHA-256 with a key,
 * else SHA-256. Tamper-evident, not tamper-proof: rows cut from the end do not show.
 */
import { createHash, createHmac } from "node:crypto";
import { invalid } from "../kernel/errors.ts";

export type AuditAlgorithm = "sha256" | "hmac-sha256";

/** What is hashed. `previousHash` of the first row is empty; `payload` is RFC 8785 text; `at` as {@link auditTime} writes it. */
export interface AuditContent {
  readonly previousHash: Uint8Array;
  readonly action: string;
  readonly payload: string;
  readonly at: string;
}

/** The 32 bytes of a row under `algorithm`. `key` is used by HMAC only. */
export function auditHash(content: AuditContent, algorithm: AuditAlgorithm, key: string): Uint8Array {
  const hash = algorithm === "sha256" ? createHash("sha256") : createHmac("sha256", key);
  hash.update(content.previousHash).update(`|${content.action}|${content.payload}|${content.at}`);
  return new Uint8Array(hash.digest());
}

/** `2026-08-03T00:00:00.000000+00:00`: UTC, six digits of which a JavaScript clock knows three. */
export const auditTime = (at: Date): string => at.toISOString().replace("Z", "000+00:00");

/** Refuses an action whose text could pass for the frame around it: the parts of a row are not length-prefixed. */
export function checkAuditAction(action: string): void {
  if (action !== "" && !/[|\p{Cc}]/u.test(action)) return;
  throw invalid("event_action must be a non-empty text without '|' and control characters. Nothing was written.", {
    field: "event_action",
  });
}

/** A stored row. */
export interface AuditRow extends AuditContent {
  readonly id: number;
  /** As stored; null for the first row. */
  readonly storedPrevious: Uint8Array | null;
  readonly hash: Uint8Array;
}

export type AuditBreak = "link" | "downgrade" | "tampered" | "tampered_or_wrong_key";

export interface AuditWalk {
  readonly checked: number;
  /** SHA-256 rows before the first HMAC row: honest, but anybody who may insert could have made them. */
  readonly unprotected: number;
  readonly head: { readonly id: number; readonly hash: Uint8Array } | undefined;
  readonly firstBreak: { readonly id: number; readonly reason: AuditBreak } | undefined;
}

const equal = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/**
 * A verifier that takes the rows in the order of their ids, page by page, and stops at the first break. The first HMAC row seals the chain:
 * a SHA-256 row after it is a downgrade, since whoever may insert but has no key could append perfectly linked forgeries.
 */
export function createAuditVerifier(key: string | undefined): { take(rows: readonly AuditRow[]): void; readonly state: AuditWalk } {
  let checked = 0;
  let unprotected = 0;
  let sealed = false;
  let head: AuditWalk["head"];
  let firstBreak: AuditWalk["firstBreak"];

  const judge = (row: AuditRow): AuditBreak | undefined => {
    const linked = head === undefined ? row.storedPrevious === null : row.storedPrevious !== null && equal(row.storedPrevious, head.hash);
    if (!linked) return "link";
    if (key !== undefined && equal(row.hash, auditHash(row, "hmac-sha256", key))) {
      sealed = true;
      return undefined;
    }
    if (equal(row.hash, auditHash(row, "sha256", ""))) {
      if (sealed) return "downgrade";
      unprotected++;
      return undefined;
    }
    return sealed ? "tampered" : "tampered_or_wrong_key";
  };

  return {
    take(rows) {
      for (const row of rows) {
        if (firstBreak !== undefined) return;
        const reason = judge(row);
        if (reason !== undefined) {
          firstBreak = { id: row.id, reason };
          return;
        }
        checked++;
        head = { id: row.id, hash: row.hash };
      }
    },
    get state() {
      return { checked, unprotected, head, firstBreak };
    },
  };
}
