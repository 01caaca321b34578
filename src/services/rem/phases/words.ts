/** Prepared words of rows that have none (`data-model.md` §4.0). */
import { lexicalText } from "../../../domain/lexical.ts";
import { saveWords, unprepared, wordTables } from "../../../store/queries/rem-chores.ts";
import { walk } from "../../walk.ts";
import type { Phase } from "../phase.ts";

/** Rows of one cycle. */
const MOST_ROWS = 500;
/** Rows prepared in one transaction; the index of words is rewritten with each. */
const AT_ONCE = 10;
const WINDOW = { first: 500, most: 5_000 };

export const words: Phase = {
  name: "words",
  run: async (ctx, parts) => {
    let count = 0;
    for (const table of wordTables)
      await walk(ctx, parts, { table, ...WINDOW, writes: true }, async (tx, window) => {
        const found = await tx.all(unprepared({ ...window, table, limit: Math.min(AT_ONCE, MOST_ROWS - count) }));
        const prepared = found.map((row) => ({ ...row, lexical: lexicalText(row.text) }));
        const saved = prepared.length === 0 ? 0 : await tx.run(saveWords({ table, rows: prepared }));
        return {
          upTo: found.length < AT_ONCE ? undefined : found.at(-1)?.id,
          stop: count + saved >= MOST_ROWS,
          committed: () => {
            count += saved;
          },
        };
      });
    return { count };
  },
};
