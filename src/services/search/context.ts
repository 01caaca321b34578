/** What stands around the rows: neighbours of their entities, and what happened since the session began. */
import type { Tx } from "../../store/port.ts";
import { neighboursOf, peerStates } from "../../store/queries/search-context.ts";
import type { Filters } from "../../store/queries/search-filters.ts";
import type { Found, Neighbours, PeerNotice } from "./request.ts";

/** Entities of an answer whose neighbours are shown, and neighbours of each. */
const ENTITIES = 3;
const NEIGHBOURS = 5;
/** A peer that was not heard of for a day is behind, seconds. */
const STALE_SECONDS = 86_400;

/** The strongest neighbours of the first entities of an answer; entities without any are left out. */
export async function neighboursAround(tx: Tx, found: readonly Found[], filters: Filters): Promise<readonly Neighbours[]> {
  const names = [...new Set(found.flatMap(({ row }) => (row.entity === null ? [] : [row.entity])))].slice(0, ENTITIES);
  if (names.length === 0) return [];
  const rows = await tx.all(neighboursOf({ names, each: NEIGHBOURS, filters }));
  return names.flatMap((entity) => {
    const neighbors = rows.filter((row) => row.entity === entity).map(({ name, relation, importance }) => ({ name, relation, importance }));
    return neighbors.length === 0 ? [] : [{ entity, neighbors }];
  });
}

/** Known peers; a warning where the last attempt failed, none was ever made, or it is a day old. */
export async function peerNotices(tx: Tx): Promise<readonly PeerNotice[]> {
  const rows = await tx.all(peerStates({}));
  return rows.map(({ name, ageSeconds, failed }) => ({
    name,
    ageSeconds: ageSeconds === null ? undefined : Math.round(ageSeconds),
    warning: failed
      ? "the last exchange failed; what it wrote since is not here"
      : ageSeconds === null
        ? "never exchanged; what it wrote is not here"
        : ageSeconds > STALE_SECONDS
          ? "last exchanged more than a day ago; what it wrote since is not here"
          : undefined,
  }));
}

/** Indices of the rows that were written after a moment, UTC text of one form. */
export const writtenAfter = (found: readonly Found[], startedAt: string): readonly number[] =>
  found.flatMap(({ row }, at) => (row.createdAt > startedAt ? [at] : []));
