import { z } from "zod";
import { action, defineTool } from "./define.ts";
import { allowSecret, clamped, int, offset, storableText, text } from "./fields.ts";
import { fitRows, readOn } from "./fit.ts";

/** What the table takes, bytes. */
const CONTENT_BYTES = 65_536;
const TAG_CHARS = 200;
/** A month. */
const LONGEST_TTL = 2_592_000;
const DEFAULT_TTL = 3_600;
/** Notes shown at once. */
const PAGE = 100;

const tag = text(1, TAG_CHARS, "label; filters read and clear").optional();

export default defineTool({
  name: "cuba_pizarra",
  group: "maintenance",
  profile: "lean",
  title: "Working memory",
  describe: "Scratchpad of this session. Notes expire; search never returns them.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  actions: {
    write: action({
      input: z.object({
        content: storableText()
          .refine((value) => value.trim() !== "" && Buffer.byteLength(value) <= CONTENT_BYTES, {
            message: `text of 1 to ${CONTENT_BYTES} bytes`,
          })
          .meta({ description: "the note, at most 64 KiB" }),
        tag,
        ttl_seconds: int(1, LONGEST_TTL, "write: seconds to live").default(DEFAULT_TTL),
        ...allowSecret,
      }),
      secretGate: ["content", "tag"],
      run: async (ctx, a, { workingMemory }) => {
        const made = await workingMemory.write(ctx, { content: a.content, tag: a.tag, ttlSeconds: a.ttl_seconds });
        return {
          action: "write",
          id: made.id,
          session_id: ctx.session?.id ?? null,
          tag: a.tag ?? null,
          ttl_seconds: a.ttl_seconds,
          expires_at: made.expiresAt,
        };
      },
    }),
    read: action({
      input: z.object({ tag, limit: clamped(1, PAGE, "read: most notes").optional(), offset: offset.optional() }),
      run: async (ctx, a, { workingMemory }) => {
        const start = a.offset ?? 0;
        const found = await workingMemory.read(ctx, { tag: a.tag, limit: a.limit ?? PAGE, offset: start });
        const page = await fitRows({
          rows: found.rows.map((row) => ({
            id: row.id,
            content: row.content,
            tag: row.tag,
            created_at: row.createdAt,
            expires_at: row.expiresAt,
          })),
          total: found.total,
          offset: start,
          long: "content",
          whole: a.limit === 1,
        });
        return {
          action: "read",
          entries: page.rows,
          count: page.rows.length,
          session_id: ctx.session?.id ?? null,
          ...readOn(page),
        };
      },
    }),
    clear: action({
      deletesAtOnce: true,
      input: z.object({ tag }),
      run: async (ctx, a, { workingMemory }) => ({
        action: "clear",
        deleted: await workingMemory.clear(ctx, a.tag),
        tag: a.tag ?? null,
        session_id: ctx.session?.id ?? null,
      }),
    }),
  },
});
