import { faultOf, isMeasuredUnread, projectOfKey } from "../../services/search/gate/thresholds.ts";
import { abstentionThresholds, servedObservations } from "../../store/queries/abstention.ts";
import { databaseCheck, ok, warn } from "../check.ts";

const MEASURE = "memory-industry calibrate --dataset FILE --apply";

export default databaseCheck("abstention", async ({ db, scope, embedder }) => {
  const model = embedder.status().state === "missing" ? undefined : { label: embedder.label, dimensions: embedder.dimensions };
  const stored = await db.read(scope, async (tx) => {
    const rows = await tx.all(abstentionThresholds());
    const sized = [];
    for (const row of rows)
      sized.push({ row, rows: (await tx.first(servedObservations({ projectId: projectOfKey(row.key) })))?.rows ?? 0 });
    return sized;
  });
  if (stored.length === 0) return ok(`no threshold measured: abstain_ood refuses nothing (${MEASURE})`);
  const faults = stored.flatMap(({ row, rows }) => faultOf(row, rows, model) ?? []);
  const newest = stored.map(({ row }) => row.updatedAt).reduce((a, b) => (a > b ? a : b));
  const [fault] = faults;
  if (fault !== undefined) return warn(`${faults.length} of ${stored.length} thresholds no longer hold: ${fault}`, MEASURE);
  const unread = model === undefined || embedder.tokens === undefined ? 0 : stored.filter(({ row }) => isMeasuredUnread(row)).length;
  if (unread > 0)
    return warn(
      `${unread} of ${stored.length} thresholds read no memory word by word, as this program can: they hold, and refuse fewer questions`,
      MEASURE,
    );
  return ok(`${stored.length} thresholds of abstain_ood, the last measured ${newest.slice(0, 10)}`);
});
