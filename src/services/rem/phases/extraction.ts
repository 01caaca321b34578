/** Facts out of texts that nobody has read yet, by a chosen language model, always into quarantine (`tools-maintenance.md` §18.5). Off unless set. */
import type { CallContext } from "../../../kernel/context.ts";
import { deadlineIn } from "../../../kernel/deadline.ts";
import { conflict, MemoryError } from "../../../kernel/errors.ts";
import { findSecret } from "../../../kernel/secrets.ts";
import { extractionFailed, isStillThere, markExtracted, textsToExtract } from "../../../store/queries/rem-reading.ts";
import { READING_SHARE } from "../../ingest/ask.ts";
import { batchSize, readRows, scopeOf } from "../asking.ts";
import type { Phase } from "../phase.ts";

/** The `reason` of an error that undoes what was read out of a text. */
const GONE = "source_gone";

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
        // Forgotten, withheld or rewritten while the rows before it were read.
        if ((await db.read(ctx, (tx) => tx.first(isStillThere(row)))) === undefined) return { kind: "refused" };
        if (findSecret(row.content) !== undefined) {
          await db.write(ctx, (tx) => tx.run(markExtracted(row)));
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
        try {
          const found = await extractor(ladder).extract(call, {
            text: row.content,
            hint: row.subject,
            supersede: false,
            untrusted: true,
            allowSecret: false,
            // What was read out of a text stands or falls with it.
            async after(tx, { isReadable }) {
              if (isReadable && (await tx.run(markExtracted(row))) === 0)
                throw conflict("The text was changed or taken away while a model read it. Nothing was written.", { reason: GONE });
            },
          });
          if (found.kind === "none" || !found.found.isReadable) return { kind: "failed" };
          return { kind: "read", count: found.stored.added };
        } catch (error) {
          if (error instanceof MemoryError && error.reason === GONE) return { kind: "refused" };
          throw error;
        }
      },
      fail: async ({ id }) => {
        await db.write(ctx, (tx) => tx.run(extractionFailed(id)));
      },
    });
  },
};
