/** Memories as a person takes them along: read page by page, so that a large memory holds nobody up. */
import type { CallScope } from "../kernel/context.ts";
import type { Database } from "../store/port.ts";
import { type Procedure, procedureList } from "../store/queries/procedures.ts";
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
  /** Entities by importance with what is known of them. */
  page(ctx: CallScope, offset: number): Promise<VaultPage>;
  /** Procedures with their reliability, the most reliable first. */
  recipes(ctx: CallScope, offset: number): Promise<readonly (Procedure & { readonly reliability: number })[]>;
}

/** Entities of one page; an entity may have a thousand observations. */
export const VAULT_PAGE = 50;

export function createVault({ db }: { readonly db: Database }): Vault {
  return {
    page: (ctx, offset) =>
      db.read(ctx, async (tx) => {
        const { scope } = ctx;
        const entities = await tx.all(vaultEntities({ scope, limit: VAULT_PAGE, offset }));
        const ids = entities.map(({ id }) => id);
        if (ids.length === 0) return { entities, relations: [], observations: [] };
        return {
          entities,
          relations: await tx.all(vaultRelations({ ids, scope })),
          observations: await tx.all(vaultObservations({ ids, scope })),
        };
      }),
    recipes: (ctx, offset) =>
      db.read(ctx, async (tx) => {
        const rows = await tx.all(procedureList({ scope: ctx.scope, limit: VAULT_PAGE, offset }));
        return rows.map((row) => ({ ...row, reliability: reliabilityOf(row) }));
      }),
  };
}
