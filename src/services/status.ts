/** What this server is and who is asking. Every part degrades to null rather than fail. */
import type { CallContext } from "../kernel/context.ts";
import { causeChain } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import type { Database, Query } from "../store/port.ts";
import { nodeIdentity, runtimeRole } from "../store/queries/status.ts";
import type { Identity } from "./identity/identity.ts";

export interface Whoami {
  readonly version: string;
  readonly clientLabel: string | null;
  readonly protocolSession: string | null;
  readonly sessionId: string | null;
  /** The database enforces project isolation as a second wall; false when unknown. */
  readonly rlsEnforced: boolean;
  readonly nodeId: string | null;
  readonly project: { readonly id: string; readonly name: string } | null;
}

export interface Status {
  whoami(ctx: CallContext): Promise<Whoami>;
}

export function createStatus({ db, identity }: { readonly db: Database; readonly identity: Identity }): Status {
  const ask = async <T>(ctx: CallContext, question: Query<T>): Promise<T | undefined> => {
    try {
      return await db.read({ ...ctx, scope: { kind: "everything" } }, (tx) => tx.first(question));
    } catch (cause) {
      ctx.log.warn("a part of the status is unknown", { cause: causeChain(cause) });
      return undefined;
    }
  };
  return {
    async whoami(ctx) {
      const node = await ask(ctx, nodeIdentity({}));
      const role = await ask(ctx, runtimeRole({}));
      const project = identity.active(ctx.client, ctx.bound);
      const [label, session] = ctx.client.split("::");
      return {
        version: VERSION,
        clientLabel: label === undefined || label === "anonymous" ? null : label,
        protocolSession: session ?? null,
        sessionId: ctx.session?.id ?? null,
        rlsEnforced: role !== undefined && !role.superuser && !role.bypassesRls,
        nodeId: node?.nodeId ?? null,
        project: project === undefined ? null : { id: project.id, name: project.name },
      };
    },
  };
}
