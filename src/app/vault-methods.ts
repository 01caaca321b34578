/** What the commands `export` and `skills` ask of the owner of the memories. */
import { z } from "zod";
import type { CallScope } from "../kernel/context.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import type { Vault } from "../services/vault.ts";
import { FIRST_ID } from "../store/queries/windows.ts";

/** `after`: the id of the last row that was given; without it the walk begins. */
const page = z.object({ after: z.uuid().optional() });

const observations = z.object({ after: z.object({ entity: z.uuid(), createdAt: z.string(), id: z.uuid() }).optional() });

export function vaultMethods(vault: Vault): [string, OwnerMethod][] {
  const own = (work: (ctx: CallScope, after: string) => Promise<unknown>): OwnerMethod => {
    return async (params, { signal, scope }) =>
      await work({ principal: { kind: "owner" }, scope: await scope(), signal }, page.parse(params).after ?? FIRST_ID);
  };
  return [
    ["owner/vault", own((ctx, after) => vault.page(ctx, after))],
    [
      "owner/vault-observations",
      async (params, { signal, scope }) =>
        await vault.observations({ principal: { kind: "owner" }, scope: await scope(), signal }, observations.parse(params).after),
    ],
    ["owner/recipes", own((ctx, after) => vault.recipes(ctx, after))],
  ];
}
