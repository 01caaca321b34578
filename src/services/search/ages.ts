/** Puts the newest first among rows with equal scores. The age is read only where an order hangs on it. */
import type { Hit } from "../../domain/retrieval/hits.ts";
import { byScoreThenNewest, openTies } from "../../domain/retrieval/ties.ts";
import type { Tx } from "../../store/port.ts";
import type { Filters, RowKind } from "../../store/queries/search-filters.ts";
import { rowInstants } from "../../store/queries/search-rows.ts";

export interface Ranked {
  readonly kindOf: (id: string) => RowKind;
  /** Best score first. */
  readonly hits: readonly Hit[];
}

/** Of one search: what was read for one ranking serves the next. */
export interface Ages {
  /** The first `limit` rows of each ranking. */
  first(tx: Tx, rankings: readonly Ranked[], limit: number): Promise<Hit[][]>;
  /** Takes what a statement read anyway. */
  learn(rows: readonly { readonly id: string; readonly at: string }[]): void;
}

export function createAges(filters: Filters): Ages {
  const known = new Map<string, string>();
  return {
    learn(rows) {
      for (const { id, at } of rows) known.set(id, at);
    },
    async first(tx, rankings, limit) {
      const wanted = rankings.flatMap(({ kindOf, hits }) => {
        const { inside, across, room } = openTies(hits, limit);
        const unknown = (ids: readonly string[], most: number) => {
          const byKind = Map.groupBy(
            ids.filter((id) => !known.has(id)),
            kindOf,
          );
          return Array.from(byKind, ([kind, of]) => ({ kind, ids: of, most }));
        };
        return [...unknown(inside, inside.length), ...unknown(across, room)];
      });
      if (wanted.length > 0) for (const { id, at } of await tx.all(rowInstants({ wanted, filters }))) known.set(id, at);
      const order = byScoreThenNewest(known);
      return rankings.map(({ hits }) => [...hits].sort(order).slice(0, limit));
    },
  };
}
