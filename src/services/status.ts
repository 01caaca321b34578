/** What this server is and who is asking. Every part degrades to null rather than fail. */

import type { Embedder } from "../inference/port.ts";
import type { CallContext } from "../kernel/context.ts";
import { causeChain } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import type { Database, Query } from "../store/port.ts";
import { nodeIdentity } from "../store/queries/node.ts";
import { runtimeRole } from "../store/queries/status.ts";
import type { Identity } from "./identity/identity.ts";
import type { Judge } from "./judge/judge.ts";

export interface Whoami {
  readonly version: string;
  readonly clientLabel: string | null;
  readonly protocolSession: string | null;
  readonly sessionId: string | null;
  /** The database enforces project isolation as a second wall; false when unknown. */
  readonly rlsEnforced: boolean;
  readonly nodeId: string | null;
  readonly project: { readonly id: string; readonly name: string } | null;
  readonly resources: {
    readonly tier: "minimal" | "lean";
    readonly describe: string;
    readonly ram_available_mb: number;
    readonly vram_free_mb: null;
  };
  readonly llm: {
    /** A person set a chat endpoint. */
    readonly configured: boolean;
    readonly provider: string | null;
    /** Somebody can judge a claim for this client. */
    readonly judgeAvailable: boolean;
    readonly hint: string;
  };
  /** Paths of the HTTP port; undefined where this process opens none. */
  readonly endpoints: { readonly mcp: string; readonly connect: string; readonly events: string; readonly ticket: string } | undefined;
}

export interface Status {
  whoami(ctx: CallContext): Promise<Whoami>;
}

export interface StatusParts {
  readonly db: Database;
  readonly identity: Identity;
  readonly embedder: Pick<Embedder, "status">;
  readonly judge: Pick<Judge, "preferred" | "problem">;
  /** The chat endpoint that a person set, and what merely lies there; read at each call. */
  readonly llm: () => { readonly configured: boolean; readonly provider: string | null; readonly lying: readonly string[] };
  /** True where this process serves HTTP. */
  readonly servesHttp: boolean;
  readonly availableMemoryMb: () => number;
}

const endpoints = { mcp: "/mcp", connect: "/connect", events: "/events", ticket: "/events/ticket" };

export function createStatus({ db, identity, embedder, judge, llm, servesHttp, availableMemoryMb }: StatusParts): Status {
  const resources = () => {
    const { state } = embedder.status();
    const installed = state !== "missing" && state !== "failed";
    return {
      tier: installed ? ("lean" as const) : ("minimal" as const),
      describe: installed ? "embedding model: search by words and by meaning" : "no model: search by words",
      ram_available_mb: availableMemoryMb(),
      vram_free_mb: null,
    };
  };
  const ask = async <T>(ctx: CallContext, question: Query<T>): Promise<T | undefined> => {
    try {
      return await db.read({ ...ctx, scope: { kind: "everything" } }, (tx) => tx.first(question));
    } catch (cause) {
      ctx.log.warn("a part of the status is unknown", { cause: causeChain(cause) });
      return undefined;
    }
  };
  const judging = (ctx: CallContext): Whoami["llm"] => {
    const { configured, provider, lying } = llm();
    const first = judge.preferred(ctx, "claim");
    const unused = lying.length === 0 ? "" : ` There but not chosen, so never used: ${lying.join(", ")}.`;
    const hint =
      first === "none"
        ? `${judge.problem(ctx) ?? "Nobody can judge: cuba_faro mode=verify answers unknown. 'memory-industry models nli' installs a local model."}${unused}`
        : `cuba_faro mode=verify asks ${first} first.${unused}`;
    return { configured, provider, judgeAvailable: first !== "none", hint };
  };
  return {
    async whoami(ctx) {
      const node = await ask(ctx, nodeIdentity());
      const role = await ask(ctx, runtimeRole({}));
      const project = identity.active(ctx.client, ctx.bound);
      const [label, session] = ctx.client.split("::");
      return {
        version: VERSION,
        clientLabel: label === undefined || label === "anonymous" ? null : label,
        protocolSession: session ?? null,
        sessionId: ctx.session?.id ?? null,
        rlsEnforced: role !== undefined && !role.superuser && !role.bypassesRls,
        nodeId: node?.node_id ?? null,
        project: project === undefined ? null : { id: project.id, name: project.name },
        resources: resources(),
        llm: judging(ctx),
        endpoints: servesHttp ? endpoints : undefined,
      };
    },
  };
}
