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
  vaultObservationsBehind,
  vaultRelations,
} from "../store/queries/vault.ts";
import { FIRST_ID } from "../store/queries/windows.ts";
import { reliabilityOf } from "./procedures.ts";

export interface VaultPage {
  readonly entities: readonly VaultEntity[];
  readonly relations: readonly VaultRelation[];
}

/** The row at which a page of observations ended. */
export type VaultCursor = Pick<VaultObservation, "entity" | "createdAt" | "id">;

export interface Vault {
  /** Entities by id, those behind `after`, with the relations that start at them; empty behind the last. */
  page(ctx: CallScope, after: string): Promise<VaultPage>;
  /** Observations by the id of their entity, of each the newest first, those behind a row; empty behind the last. */
  observations(ctx: CallScope, after: VaultCursor | undefined): Promise<readonly VaultObservation[]>;
  /** Procedures by id, those behind `after`, with their reliability; empty behind the last. */
  recipes(ctx: CallScope, after: string): Promise<readonly (Procedure & { readonly reliability: number })[]>;
}

/** Rows of one page. */
const PAGE = 50;
/** Observations of one page: some 10 ms. An entity may have thousands, so a page may end inside of one. */
const PAGE_OBSERVATIONS = 1_000;

export function createVault({ db }: { readonly db: Database }): Vault {
  return {
    page: (ctx, after) =>
      db.read(
        ctx,
        async (tx) => {
          const { scope } = ctx;
          const entities = await tx.all(vaultEntities({ scope, after, limit: PAGE }));
          const ids = entities.map(({ id }) => id);
          return { entities, relations: ids.length === 0 ? [] : await tx.all(vaultRelations({ ids, scope })) };
        },
        { byKey: true },
      ),
    observations: (ctx, after) =>
      db.read(
        ctx,
        async (tx) => {
          const { scope } = ctx;
          const rest = after === undefined ? [] : await tx.all(vaultObservationsBehind({ ...after, scope, limit: PAGE_OBSERVATIONS }));
          const limit = PAGE_OBSERVATIONS - rest.length;
          if (limit === 0) return rest;
          return [...rest, ...(await tx.all(vaultObservations({ afterEntity: after?.entity ?? FIRST_ID, scope, limit })))];
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
