/** Memories as a person takes them along: read page by page, so that a large memory holds nobody up. */
import type { CallScope } from "../kernel/context.ts";
import type { Database } from "../store/port.ts";
import { type Procedure, proceduresAfter } from "../store/queries/procedures.ts";
import {
  type VaultEntity,
  type VaultObservation,
  type VaultRelation,
  vaultEntities,
  vaultObservations,
  vaultRelations,
} from "../store/queries/vault.ts";
import { reliabilityOf } from "./procedures.ts";

export interface VaultPage {
  readonly entities: readonly VaultEntity[];
  readonly relations: readonly VaultRelation[];
  readonly observations: readonly VaultObservation[];
}

export interface Vault {
  /** Entities by id, those behind `after`, with what is known of them; empty behind the last. */
  page(ctx: CallScope, after: string): Promise<VaultPage>;
  /** Procedures by id, those behind `after`, with their reliability; empty behind the last. */
  recipes(ctx: CallScope, after: string): Promise<readonly (Procedure & { readonly reliability: number })[]>;
}

/** Rows of one page. */
const PAGE = 50;
/** A page of entities ends where it has so many observations (some 10 ms): an entity may have thousands. */
const PAGE_OBSERVATIONS = 1_000;

/** The first entities that have so many observations together; one at least. */
function firstOf(entities: readonly VaultEntity[]): readonly VaultEntity[] {
  let observations = 0;
  const end = entities.findIndex((entity, at) => {
    observations += entity.observations;
    return at > 0 && observations > PAGE_OBSERVATIONS;
  });
  return end === -1 ? entities : entities.slice(0, end);
}

export function createVault({ db }: { readonly db: Database }): Vault {
  return {
    page: (ctx, after) =>
      db.read(
        ctx,
        async (tx) => {
          const { scope } = ctx;
          const entities = firstOf(await tx.all(vaultEntities({ scope, after, limit: PAGE })));
          const ids = entities.map(({ id }) => id);
          if (ids.length === 0) return { entities, relations: [], observations: [] };
          return {
            entities,
            relations: await tx.all(vaultRelations({ ids, scope })),
            observations: await tx.all(vaultObservations({ ids, scope })),
          };
        },
        { byKey: true },
      ),
    recipes: (ctx, after) =>
      db.read(ctx, async (tx) => {
        const rows = await tx.all(proceduresAfter({ scope: ctx.scope, after, limit: PAGE }));
        return rows.map((row) => ({ ...row, reliability: reliabilityOf(row) }));
      }),
  };
}
