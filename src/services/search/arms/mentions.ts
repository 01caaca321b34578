/** The entities that a question names, and the leg that brings their observations. */
import { createMentionFinder, type MentionFinder } from "../../../domain/names.ts";
import type { Hit } from "../../../domain/retrieval/hits.ts";
import type { Tx } from "../../../store/port.ts";
import { entityNames, observationsOfMentioned } from "../../../store/queries/search-context.ts";
import type { Filters } from "../../../store/queries/search-filters.ts";
import type { Analysis } from "../analyse.ts";

export interface Mention {
  /** The name that stands in the question. */
  readonly name: string;
  readonly entityId: string;
  /** The entity's own name; another one where an alias was used. */
  readonly entity: string;
}

interface Names {
  readonly version: number;
  readonly find: MentionFinder;
  readonly byName: ReadonlyMap<string, { readonly id: string; readonly entity: string }>;
}

/** Scopes whose names are remembered; a list of 10,000 names takes some 3 MB. */
const REMEMBERED_SCOPES = 8;

export interface MentionCache {
  /** @param version from the word statistics: names are read again only when an entity changed. */
  find(tx: Tx, query: string, filters: Filters, version: number): Promise<readonly Mention[]>;
}

export function createMentionCache(): MentionCache {
  const remembered = new Map<string, Names>();

  const namesIn = async (tx: Tx, filters: Filters, version: number): Promise<Names> => {
    const { scope, includeUnscoped } = filters;
    const key = `${scope.kind === "project" ? scope.id : scope.kind}|${includeUnscoped}`;
    const known = remembered.get(key);
    remembered.delete(key);
    let names = known;
    if (names === undefined || names.version !== version) {
      const rows = await tx.all(entityNames({ filters }));
      const own = new Map(rows.filter(({ alias }) => !alias).map(({ id, name }) => [id, name]));
      const byName = new Map<string, { id: string; entity: string }>();
      // An entity's own name wins over an alias of another.
      for (const { id, name, alias } of rows) if (!alias || !byName.has(name)) byName.set(name, { id, entity: own.get(id) ?? name });
      names = { version, find: createMentionFinder([...byName.keys()]), byName };
    }
    remembered.set(key, names);
    const oldest = remembered.size > REMEMBERED_SCOPES ? remembered.keys().next().value : undefined;
    if (oldest !== undefined) remembered.delete(oldest);
    return names;
  };

  return {
    async find(tx, query, filters, version) {
      const names = await namesIn(tx, filters, version);
      return names.find(query).flatMap((name): Mention[] => {
        const entity = names.byName.get(name);
        return entity === undefined ? [] : [{ name, entityId: entity.id, entity: entity.entity }];
      });
    },
  };
}

/** Observations of the entities that a question names, scored like the text arm. */
export async function searchMentioned(
  tx: Tx,
  q: { readonly mentions: readonly Mention[]; readonly analysis: Analysis; readonly limit: number; readonly filters: Filters },
): Promise<readonly Hit[]> {
  const rows = await tx.all(
    observationsOfMentioned({
      entityIds: [...new Set(q.mentions.map(({ entityId }) => entityId))],
      text: q.analysis.lexemes,
      limit: q.limit,
      filters: q.filters,
    }),
  );
  return rows.map(({ id, words }) => ({ id, score: words }));
}
