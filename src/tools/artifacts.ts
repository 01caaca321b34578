import { z } from "zod";
import { secretSteps } from "../kernel/secrets.ts";
import type { Steps } from "../kernel/steps.ts";
import { charCount } from "../kernel/text.ts";
import { type ArtifactFacts, artifactEvents, CONTENT_BYTES, type Stored } from "../services/artifacts.ts";
import { type Answer, action, defineTool, refuseSecrets } from "./define.ts";
import { allowSecret, clamped, int, offset, storableText } from "./fields.ts";
import { fitRows, readOn, tokensLeft } from "./fit.ts";

const PATH_BYTES = 512;
const LIST_ROWS = 100;
const MOST_ROWS = 500;
const SHORTEST_LEASE = 5;
const LONGEST_LEASE = 3_600;
const DEFAULT_LEASE = 60;
/** Characters read for one answer: English text needs some 40,000 to fill one. */
const SLICE_CHARS = 60_000;

const path = storableText()
  .refine((value) => value !== "" && Buffer.byteLength(value) <= PATH_BYTES, { message: `a path of 1 to ${PATH_BYTES} bytes` })
  .meta({ description: "logical path, e.g. notes/plan.md", maxLength: PATH_BYTES });
const body = (describe: string) =>
  storableText()
    .refine((value) => Buffer.byteLength(value) <= CONTENT_BYTES, { message: `text of at most ${CONTENT_BYTES} bytes` })
    .describe(describe);

export default defineTool({
  name: "cuba_artefacto",
  group: "coordination",
  profile: "lean",
  title: "Shared artifacts",
  describe:
    "Versioned texts that agents share. put names the version it edited; patch replaces one place; lock keeps others from writing for a while.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  actions: {
    list: action({
      input: z.object({
        prefix: storableText().describe("list: how paths begin").optional(),
        limit: clamped(1, MOST_ROWS, `list: most rows (${LIST_ROWS})`).optional(),
        offset: offset.optional(),
      }),
      run: async (ctx, a, { artifacts }) => {
        const start = a.offset ?? 0;
        const found = await artifacts.list(ctx, { prefix: a.prefix ?? "", limit: a.limit ?? LIST_ROWS, offset: start });
        const page = await fitRows({ rows: found.rows.map(shownFacts), total: found.total, offset: start });
        return {
          action: "list",
          artifacts: page.rows,
          count: page.rows.length,
          ...readOn(page),
        };
      },
    }),
    get: action({
      input: z.object({ path, from_char: int(0, CONTENT_BYTES, "get: first character returned").optional() }),
      run: async (ctx, a, { artifacts }) => {
        const fromChar = a.from_char ?? 0;
        const { slice, total, ...facts } = await artifacts.get(ctx, { path: a.path, fromChar, chars: SLICE_CHARS });
        return await shownContent({ action: "get", ...shownFacts(facts) }, slice, fromChar, total);
      },
    }),
    put: action({
      input: z.object({
        path,
        content: body("put: whole content, at most 2 MiB"),
        base_version: int(0, Number.MAX_SAFE_INTEGER, "put: version you edited; 0 or absent creates").optional(),
        ...allowSecret,
      }),
      secretGate: ["content", "path"],
      run: async (ctx, a, { artifacts }) => ({
        action: "put",
        ...shownStored(await artifacts.put(ctx, { path: a.path, content: a.content, baseVersion: a.base_version })),
      }),
    }),
    patch: action({
      input: z.object({
        path,
        find: body("patch: text that stands there exactly once").refine((value) => value !== "", { message: "text that is not empty" }),
        replace: body("patch: what takes its place"),
        ...allowSecret,
      }),
      secretGate: ["replace"],
      run: async (ctx, a, { artifacts }) => {
        /** Two halves of a credential are none until they meet. What was let in before is not this patch's affair. */
        function* admit(before: string, after: string): Steps<void> {
          if (a.allow_secret === true || (yield* secretSteps(before)) !== undefined) return;
          yield* refuseSecrets({ content: after }, ["content"]);
        }
        return { action: "patch", ...shownStored(await artifacts.patch(ctx, { path: a.path, find: a.find, replace: a.replace, admit })) };
      },
    }),
    lock: action({
      input: z.object({ path, ttl_seconds: clamped(SHORTEST_LEASE, LONGEST_LEASE, "lock: seconds").default(DEFAULT_LEASE) }),
      run: async (ctx, a, { artifacts }) => {
        const { version, lockedBy, lockUntil } = await artifacts.lock(ctx, a.path, a.ttl_seconds);
        return { action: "lock", path: a.path, version, locked_by: lockedBy, lock_until: lockUntil, ttl_seconds: a.ttl_seconds };
      },
    }),
    unlock: action({
      input: z.object({ path }),
      run: async (ctx, a, { artifacts }) => {
        await artifacts.unlock(ctx, a.path);
        return { action: "unlock", path: a.path };
      },
    }),
    watch_hint: action({
      lenient: true,
      input: z.object({}),
      run: async () => ({
        action: "watch_hint",
        events_url: "/events",
        kinds: [...artifactEvents, "peer.notice", "sync.import", "sync.fetch", "sync.conflict_resolved", "crdt.*"],
      }),
    }),
  },
});

const shownFacts = (row: ArtifactFacts) => ({
  id: row.id,
  path: row.path,
  content_hash: row.hash,
  version: row.version,
  locked_by: row.lockedBy,
  lock_until: row.lockUntil,
  updated_at: row.updatedAt,
  origin_node: row.originNode,
});

const shownStored = ({ id, path: at, version, hash, updatedAt }: Stored) => ({
  id,
  path: at,
  version,
  content_hash: hash,
  updated_at: updatedAt,
});

/** As much of the content as an answer holds, and the argument that reads on. */
async function shownContent(head: Answer, slice: string, fromChar: number, total: number): Promise<Answer> {
  const { rows } = await fitRows({ rows: [{ content: slice }], total: 1, offset: 0, budget: await tokensLeft(head), long: "content" });
  const content = rows[0]?.content ?? "";
  const read = fromChar + charCount(content);
  return {
    ...head,
    content,
    ...(fromChar > 0 || read < total ? { truncated: true, total, next: read < total ? { from_char: read } : null } : {}),
  };
}
