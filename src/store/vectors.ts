/** The vector columns as the owner sees them, discovered in the catalogue (`data-model.md` §11.2). None has an index: vectors are found by their signs (decision 0130). */
import { unavailable } from "../kernel/errors.ts";
import { allOrNothing, type Connection } from "./connection.ts";
import { translate } from "./failures.ts";

export interface VectorColumn {
  readonly table: string;
  readonly column: string;
  readonly type: "vector" | "halfvec";
  readonly dimensions: number;
}

/** Every column of type vector or halfvec in the schema; its length is -1 where none was declared. */
export const VECTOR_COLUMNS = `
  select c.relname as table_name, a.attname as column_name, t.typname as type_name, a.atttypmod as dimensions
  from pg_attribute as a
  join pg_class as c on c.oid = a.attrelid
  join pg_type as t on t.oid = a.atttypid
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
    and t.typname in ('vector', 'halfvec')
  order by c.relname, a.attname`;

export async function vectorColumns(connection: Connection): Promise<VectorColumn[]> {
  const { rows } = await connection.query(VECTOR_COLUMNS);
  return rows.map((row) => ({
    table: String(row.table_name),
    column: String(row.column_name),
    type: row.type_name === "halfvec" ? "halfvec" : "vector",
    dimensions: Number(row.dimensions),
  }));
}

/**
 * Start-up check, before anything is served: a width that differs from the model's shows otherwise only as search that got lexical.
 * @throws MemoryError naming the columns.
 */
export async function checkVectorWidth(connection: Connection, modelDimensions: number): Promise<void> {
  const wrong = (await vectorColumns(connection)).filter((column) => column.dimensions !== modelDimensions);
  if (wrong.length === 0) return;
  const names = wrong.map((column) => `${column.table}.${column.column} (${column.dimensions})`).join(", ");
  throw unavailable(
    `The embedding model makes vectors of ${modelDimensions} dimensions, but these columns have another width: ${names}. Nothing was changed. Install the model that the database was made with, or run 'memory-industry reembed --dim ${modelDimensions} --apply'.`,
    { reason: "vector_width" },
  );
}

/**
 * Changes the width of every vector column in one transaction: vectors go, texts stay; measured thresholds of the old vectors are deleted. Observations keep their version: no text changes.
 * @returns the columns that changed.
 */
export async function changeVectorWidth(connection: Connection, dimensions: number): Promise<VectorColumn[]> {
  const changed = (await vectorColumns(connection)).filter((column) => column.dimensions !== dimensions);
  if (changed.length === 0) return [];
  try {
    return await allOrNothing(connection, async () => {
      await connection.script("set local statement_timeout = 0");
      await connection.script("delete from brain_vector_signs; delete from brain_vector_centers");
      for (const { table, column, type } of changed) {
        const model = await connection.query("select 1 from pg_attribute where attrelid = $1::regclass and attname = 'embedding_model'", [
          table,
        ]);
        const alsoModel = model.rows.length > 0 ? ", embedding_model = null" : "";
        await connection.script(`update ${quoted(table)} set ${quoted(column)} = null${alsoModel} where ${quoted(column)} is not null`);
        await connection.script(`alter table ${quoted(table)} alter column ${quoted(column)} type ${type}(${Math.trunc(dimensions)})`);
      }
      await connection.script("delete from brain_calibration where key = 'ood_threshold' or key like 'ood\\_threshold:%'");
      return changed;
    });
  } catch (error) {
    throw translate(error);
  }
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
