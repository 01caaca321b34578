/** What the commands `export` and `skills` ask of the owner of the memories. */
import { z } from "zod";
import type { CallScope } from "../kernel/context.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import type { Vault } from "../services/vault.ts";

const page = z.object({ offset: z.number().int().min(0) });

export function vaultMethods(vault: Vault): [string, OwnerMethod][] {
  const own = (work: (ctx: CallScope, offset: number) => Promise<unknown>): OwnerMethod => {
    return async (params, { signal, scope }) =>
      await work({ principal: { kind: "owner" }, scope: await scope(), signal }, page.parse(params).offset);
  };
  return [
    ["owner/vault", own((ctx, offset) => vault.page(ctx, offset))],
    ["owner/recipes", own((ctx, offset) => vault.recipes(ctx, offset))],
  ];
}
