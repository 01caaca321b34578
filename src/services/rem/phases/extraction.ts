/** Facts out of texts that nobody has read yet, by a chosen language model, always into quarantine (`tools-maintenance.md` §18.5). Off unless set. */
import type { CallContext } from "../../../kernel/context.ts";
import { deadlineIn } from "../../../kernel/deadline.ts";
import { findSecret } from "../../../kernel/secrets.ts";
import { extractionFailed, markExtracted, textsToExtract } from "../../../store/queries/rem-reading.ts";
import { READING_SHARE } from "../../ingest/ask.ts";
import { batchSize, readRows, scopeOf } from "../asking.ts";
import type { Phase } from "../phase.ts";

export const extraction: Phase = {
  name: "extraction",
  columns: { count: "factsExtracted", failed: "extractionFailed" },
  run: async (ctx, parts) => {
    const { db, settings, extractor } = parts;
    return await readRows(ctx, parts, {
      variable: "CUBA_REM_EXTRACTION_BATCH",
      setting: settings.extractionBatch,
      rows: () => db.read(ctx, (tx) => tx.all(textsToExtract({ limit: batchSize(settings.extractionBatch, undefined) }))),
      async read(row, ladder) {
        const done = () => db.write(ctx, (tx) => tx.run(markExtracted(row)));
        if (findSecret(row.content) !== undefined) {
          await done();
          return { kind: "refused" };
        }
        const call: CallContext = {
          ...ctx,
          id: "rem",
          client: "rem",
          bound: false,
          scope: scopeOf(row.projectId),
          session: undefined,
          // The whole time of the model; what is written afterwards has no limit but its own.
          deadline: deadlineIn(settings.scanTimeoutMs / READING_SHARE),
          sampling: undefined,
          progress: () => {},
        };
        const found = await extractor(ladder).extract(call, {
          text: row.content,
          hint: row.subject,
          supersede: false,
          untrusted: true,
          allowSecret: false,
        });
        if (found.kind === "none" || !found.found.isReadable) return { kind: "failed" };
        await done();
        return { kind: "read", count: found.stored.added };
      },
      fail: async ({ id }) => {
        await db.write(ctx, (tx) => tx.run(extractionFailed(id)));
      },
    });
  },
};
