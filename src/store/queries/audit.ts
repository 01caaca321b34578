/** Rows of the audit chain. What is hashed and how a chain is judged stands in `domain/audit-chain.ts`. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { type AuditRow, auditHash, auditTime, checkAuditAction } from "../../domain/audit-chain.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { invalid } from "../../kernel/errors.ts";
import { bytes, int8, query, timestamp } from "../codecs.ts";
import type { Tx } from "../port.ts";

/** AUDIT_CHAIN: 0x0CBAA0D171060001. */
const CHAIN_LOCK = "917222295528144897";
/** The unique index that makes a fork impossible; a violation means: run the append again. */
export const AUDIT_LINEAR = "uq_audit_chain_is_linear";

const tip = query(
  z.object({ current_hash: bytes }),
  () => sql`
  select a.current_hash
  from brain_audit_log as a
  order by a.id desc
  limit 1`,
);

const insert = query(
  z.object({ id: int8 }),
  (row: { previous: Uint8Array | null; action: string; payload: string; algorithm: string; hash: Uint8Array; at: string }) => sql`
    insert into brain_audit_log (prev_hash, action, payload, payload_canonical, hash_alg, current_hash, created_at)
    values (${row.previous}::bytea, ${row.action}::text, ${row.payload}::jsonb, ${row.payload}::text, ${row.algorithm}::text,
            ${row.hash}::bytea, ${row.at}::timestamptz)
    returning id`,
);

export interface AuditEntry {
  readonly action: string;
  /** Any JSON object; refused where it would not survive jsonb. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: Date;
  /** Key of the chain; undefined → plain SHA-256. */
  readonly key: string | undefined;
}

/** What was appended: its id, and its hash in hex. */
export interface AppendedAudit {
  readonly id: number;
  readonly hash: string;
}

/**
 * Appends one row, in the caller's transaction, so that the record and what it records commit together. Takes the chain's lock, then reads
 * the tip with a plain SELECT: READ COMMITTED sees what the last holder of the lock has committed.
 * @throws MemoryError `invalid` for an action or payload that cannot be chained; `conflict` (see {@link AUDIT_LINEAR}) on a fork.
 */
export async function appendAudit(tx: Tx, entry: AuditEntry): Promise<AppendedAudit> {
  checkAuditAction(entry.action);
  let payload: string;
  try {
    payload = canonicalJson(entry.payload);
  } catch (error) {
    throw invalid(
      "payload must be JSON without non-finite numbers, integers beyond 2^53, NUL characters and broken text. Nothing was written.",
      {
        field: "payload",
        cause: error,
      },
    );
  }
  await tx.run(sql`select pg_advisory_xact_lock(${CHAIN_LOCK}::bigint)`);
  const last = await tx.first(tip());
  const previous = last?.current_hash ?? null;
  const at = auditTime(entry.at);
  const algorithm = entry.key === undefined ? "sha256" : "hmac-sha256";
  const hash = auditHash({ previousHash: previous ?? new Uint8Array(), action: entry.action, payload, at }, algorithm, entry.key ?? "");
  const row = await tx.first(insert({ previous, action: entry.action, payload, algorithm, hash, at }));
  if (row === undefined) throw new Error("an insert returned no row");
  return { id: row.id, hash: Buffer.from(hash).toString("hex") };
}

const auditRow = z
  .object({
    id: int8,
    prev_hash: bytes.nullable(),
    action: z.string(),
    payload_canonical: z.string(),
    current_hash: bytes,
    created_at: timestamp,
  })
  .transform(
    (row): AuditRow => ({
      id: row.id,
      storedPrevious: row.prev_hash,
      previousHash: row.prev_hash ?? new Uint8Array(),
      action: row.action,
      payload: row.payload_canonical,
      hash: row.current_hash,
      at: row.created_at,
    }),
  );

/** The next `limit` rows after `afterId`, in the order of the chain. Start with 0. */
export const auditPage = query(
  auditRow,
  (page: { afterId: number; limit: number }) => sql`
  select a.id, a.prev_hash, a.action, a.payload_canonical, a.current_hash, a.created_at
  from brain_audit_log as a
  where a.id > ${page.afterId}::int8
  order by a.id
  limit ${page.limit}::int`,
);

/** Newest first, for people. */
export const auditTail = query(
  z.object({
    id: int8,
    action: z.string(),
    payload: z.record(z.string(), z.unknown()),
    hash_alg: z.string(),
    created_at: timestamp,
    current_hash: bytes,
  }),
  (page: { limit: number; offset: number }) => sql`
    select a.id, a.action, a.payload, a.hash_alg, a.created_at, a.current_hash
    from brain_audit_log as a
    order by a.id desc
    limit ${page.limit}::int
    offset ${page.offset}::int`,
);

export const auditCount = query(z.object({ rows: int8 }), () => sql`select count(*) as rows from brain_audit_log`);
