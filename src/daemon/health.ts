/** `GET /health`: always 200, more for full scope (`cli-daemon.md` §4.7). */
import type { HealthFacts } from "./served-app.ts";

export interface HealthContext {
  readonly version: string;
  readonly uptimeSecs: number;
  readonly served: number;
  readonly clients: readonly { readonly client: string; readonly idleSecs: number }[];
}

/** The body. @param facts undefined while the product is composed, or where that failed */
export function healthBody(
  facts: HealthFacts | undefined,
  context: HealthContext,
  access: "full" | "restricted",
): Readonly<Record<string, unknown>> {
  const graph = facts?.graph ?? { backend: "off", reachable: false };
  const common = {
    status: facts?.status ?? "starting",
    version: context.version,
    uptime_secs: context.uptimeSecs,
    requests_served: context.served,
    database: facts?.database ?? "unreachable",
    ready: facts?.ready ?? false,
    graph_db: { backend: graph.backend, reachable: graph.reachable },
    connect: "/connect",
    events: "/events",
  };
  if (access === "restricted") return { ...common, clients_count: context.clients.length };
  return {
    ...common,
    graph_db: graph,
    clients: context.clients.map(({ client, idleSecs }) => ({ client, idle_secs: idleSecs })),
    runtime: { ...facts?.runtime, models: facts?.models ?? {} },
  };
}
