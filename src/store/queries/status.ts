import { sql } from "drizzle-orm";
import { z } from "zod";
import { query, uuid } from "../codecs.ts";

/** The row that identifies this database. */
export const nodeIdentity = query(
  z.object({ nodeId: uuid }),
  (_q: object) => sql`select node_id as "nodeId" from brain_node_identity limit 1`,
);

/** The role that statements run as, and whether it skips row security. */
export const runtimeRole = query(
  z.object({ name: z.string(), superuser: z.boolean(), bypassesRls: z.boolean() }),
  (_q: object) => sql`
  select rolname::text as name, rolsuper as superuser, rolbypassrls as "bypassesRls" from pg_roles where rolname = current_user`,
);
