import { sql } from "drizzle-orm";
import { z } from "zod";
import { query } from "../codecs.ts";

/** Every vector column of ours with its declared width; null where it has none. */
export const vectorColumns = query(
  z.object({ table: z.string(), column: z.string(), type: z.string(), dimensions: z.int().nullable() }),
  (_q: object) => sql`
  select c.relname::text as "table", a.attname::text as "column", format_type(a.atttypid, a.atttypmod) as type,
         nullif(a.atttypmod, -1)::int as dimensions
  from pg_attribute as a
  join pg_class as c on c.oid = a.attrelid
  join pg_type as t on t.oid = a.atttypid
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and not a.attisdropped and t.typname in ('vector', 'halfvec')
  order by 1, 2`,
);
