import { z } from "zod";
import type { AuditVerdict } from "../services/audit.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { allowSecret, clamped, filledText, offset, storedObject } from "./fields.ts";
import { fitRows, readOn } from "./fit.ts";

const ACTION_CHARS = 200;
/** So that one event always fits into an answer. */
const PAYLOAD_KIB = 8;
/** Events shown where nothing else was asked for, and at most. */
const TAIL_ROWS = 20;
const MOST_TAIL_ROWS = 200;
const MOST_WALKED = 1_000_000;

/** One range for two actions; `tail` takes less of it. */
const limit = clamped(1, MOST_WALKED, `verify: rows to check (all); tail: rows (${TAIL_ROWS}, at most ${MOST_TAIL_ROWS})`).optional();

export default defineTool({
  name: "cuba_archivo",
  group: "maintenance",
  profile: "full",
  title: "Audit log",
  describe:
    "Append-only, hash-chained audit log: append an event, verify the chain, tail the newest. Events of clients are stored as client.*.",
  hints: { readOnly: false, destructive: false, openWorld: false },
  actions: {
    append: action({
      input: z.object({
        event_action: filledText(ACTION_CHARS, "append: event type"),
        payload: storedObject(PAYLOAD_KIB, "append: any JSON object").default({}),
        ...allowSecret,
      }),
      secretGate: ["event_action", "payload"],
      run: async (ctx, a, { audit }) => {
        const { id, hash, retries } = await audit.append(ctx, { action: a.event_action.trim(), payload: a.payload });
        return { action: "append", id, current_hash: hash, retries };
      },
    }),
    verify: action({
      input: z.object({ limit }),
      run: async (ctx, a, { audit }) => verified(await audit.verify(ctx, a.limit)),
    }),
    tail: action({
      input: z.object({ limit, offset: offset.optional() }),
      run: async (ctx, a, { audit }) => {
        const start = a.offset ?? 0;
        const found = await audit.tail(ctx, { limit: Math.min(a.limit ?? TAIL_ROWS, MOST_TAIL_ROWS), offset: start });
        const rows = found.rows.map((row) => ({ id: row.id, action: row.action, payload: row.payload, created_at: row.createdAt }));
        const page = await fitRows({ rows, total: found.total, offset: start });
        return {
          action: "tail",
          entries: page.rows,
          count: page.rows.length,
          ...readOn(page),
        };
      },
    }),
  },
});

function verified(verdict: AuditVerdict): Answer {
  const { checked, total, unprotected, head, firstBreak, complete } = verdict;
  const walk = {
    rows_checked: checked,
    unprotected_rows: unprotected,
    total_rows: total,
    complete,
    head_id: head?.id ?? null,
    head_hash: head?.hash ?? null,
  };
  const plain =
    unprotected === 0
      ? ""
      : `${unprotected} of ${checked} rows are plain SHA-256, which anybody who may insert could have made: set CUBA_AUDIT_KEY. `;
  const rest = complete ? "" : `Only ${checked} of ${total} rows were checked; nothing is known about the others. `;
  const caveat = `${plain}${rest}Rows cut from the end do not show: keep head_id and head_hash somewhere else and compare.`;
  return {
    action: "verify",
    ok: firstBreak === undefined,
    ...(firstBreak === undefined ? {} : { first_break_id: firstBreak.id, reason: reasons[firstBreak.reason] }),
    ...walk,
    what_this_does_not_establish: caveat,
  };
}

const reasons = {
  link: "the row does not follow the one before it: a row was removed, inserted or moved",
  downgrade: "a plain SHA-256 row after the chain was sealed by a key: whoever wrote it did not have the key",
  tampered: "the row's hash does not fit its content, and the chain was sealed by this key: the row was changed",
  tampered_or_wrong_key: "the row's hash does not fit its content: it was changed, or CUBA_AUDIT_KEY is not the key of this chain",
} as const;
