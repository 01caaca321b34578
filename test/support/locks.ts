/** Who waits for whom on a server. */
import type { OwnerAccess } from "../../src/store/connection.ts";

/** True while somebody in this database waits for a lock. */
export async function isHeldUp(db: OwnerAccess): Promise<boolean> {
  const waiting = await db.asOwner((owner) =>
    owner.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()",
    ),
  );
  return waiting.rows.length > 0;
}
