/** What this server is and who is asking. Every part degrades to null rather than fail. */

import type { Embedder } from "../inference/port.ts";
import { type CallContext, everywhere } from "../kernel/context.ts";
import { causeChain } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import type { Database, Query } from "../store/port.ts";
import { nodeIdentity } from "../store/queries/node.ts";
import { runtimeRole } from "../store/queries/status.ts";
import type { Identity } from "./identity/identity.ts";
import type { Judge } from "./judge/judge.ts";

export type ResourceTier = "minimal" | "lean" | "standard" | "full";
const modelSlots = ["embedder", "reranker", "nli"] as const;

/** What the memory plan says of the models, made once at the start (`config-packaging.md` §4). */
export interface ResourcePlan {
  readonly level: ResourceTier;
  readonly models: Readonly<Record<(typeof modelSlots)[number], { readonly state: "runs" | "light" | "off" | "absent" }>>;
  readonly readings: { readonly vramFreeMb: number | undefined };
}

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
    readonly tier: ResourceTier;
    readonly describe: string;
    /** Now, as the kernel estimates it. */
    readonly availableMemoryMb: number;
    /** At the start; null where the runtime can use no card. */
    readonly freeCardMemoryMb: number | null;
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
  readonly plan: ResourcePlan;
  readonly availableMemoryMb: () => number;
}

const named = { embedder: "embedding model", reranker: "reranker", nli: "entailment model" } as const;

/** The plan in one sentence. */
function describePlan({ models }: ResourcePlan): string {
  const those = (...states: readonly string[]) =>
    modelSlots.filter((slot) => states.includes(models[slot].state)).map((slot) => named[slot]);
  const [running, off] = [those("runs", "light"), those("off")];
  const search = models.embedder.state === "runs" ? "search by words and by meaning" : "search by words alone";
  const missing = off.length === 0 ? "" : `; not enough memory for the ${off.join(" and the ")}`;
  return `${running.length === 0 ? "no model" : running.join(", ")}: ${search}${missing}`;
}

const endpoints = { mcp: "/mcp", connect: "/connect", events: "/events", ticket: "/events/ticket" };

export function createStatus({ db, identity, embedder, judge, llm, servesHttp, plan, availableMemoryMb }: StatusParts): Status {
  const resources = (): Whoami["resources"] => {
    // Installed after the start, or put there by an operator who overrules the plan: it runs, although nothing was kept free for it.
    const { state } = embedder.status();
    const runs = state !== "missing" && state !== "failed";
    return {
      tier: runs && plan.level === "minimal" ? "lean" : plan.level,
      describe: describePlan(runs ? { ...plan, models: { ...plan.models, embedder: { state: "runs" } } } : plan),
      availableMemoryMb: availableMemoryMb(),
      freeCardMemoryMb: plan.readings.vramFreeMb ?? null,
    };
  };
  const ask = async <T>(ctx: CallContext, question: Query<T>): Promise<T | undefined> => {
    try {
      return await db.read({ ...ctx, scope: everywhere }, (tx) => tx.first(question));
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
