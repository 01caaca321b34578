/** Who this installation is. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { query, timestamp, uuid } from "../codecs.ts";

/** The one row of `brain_node_identity`: a uuid that never changes, and the label it had when it was made. */
export const nodeIdentity = query(
  z.object({ node_id: uuid, label: z.string().nullable(), created_at: timestamp }),
  () => sql`select n.node_id, n.label, n.created_at from brain_node_identity as n`,
);
