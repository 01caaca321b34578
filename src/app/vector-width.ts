/** What `reembed --dim` does: another model's length for every vector column. */
import { changeVectorWidth, vectorColumns } from "../store/vectors.ts";
import type { ProcessFacts } from "./process.ts";
import { asSchemaOwner } from "./schema-owner.ts";

/** @returns the columns that differ, as `table.column (length)`; with `apply` they have been changed. */
export async function changeWidth(
  facts: ProcessFacts,
  { dimensions, apply }: { readonly dimensions: number; readonly apply: boolean },
  signal: AbortSignal,
): Promise<readonly string[]> {
  return await asSchemaOwner(
    facts,
    {
      onlyLook: !apply,
      run: ({ db }) =>
        db.asOwner(async (connection) => {
          const columns = apply
            ? await changeVectorWidth(connection, dimensions)
            : (await vectorColumns(connection)).filter((column) => column.dimensions !== dimensions);
          return columns.map(({ table, column, dimensions: length }) => `${table}.${column} (${length})`);
        }),
    },
    signal,
  );
}
