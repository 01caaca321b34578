import { sql } from "drizzle-orm";
import { z } from "zod";
import { query } from "../codecs.ts";

/** The role that statements run as, and whether it skips row security. */
export const runtimeRole = query(
  z.object({ name: z.string(), superuser: z.boolean(), bypassesRls: z.boolean() }),
  (_q: object) => sql`
  select rolname::text as name, rolsuper as superuser, rolbypassrls as "bypassesRls" from pg_roles where rolname = current_user`,
);
