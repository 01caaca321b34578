import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createDispatcher } from "../../src/mcp/dispatch.ts";
import { createCalls, paceBehind } from "../../src/services/pace.ts";
import { createTelemetry } from "../../src/services/telemetry.ts";
import { tools } from "../../src/tools/registry.ts";
import type { Services } from "../../src/tools/services.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver } from "../support/graph.ts";
import { rows } from "../support/statements.ts";

const TOKEN = "ghp_abcdefghijklmnop";

eachEngine("a failing call", (engine) => {
  beforeEach(() => engine.db.reset());

  test("is written down with the tool, the client and the reason, and a token in it is masked", async () => {
    const telemetry = createTelemetry({ db: engine.db, log: silentLogger, now: () => new Date() });
    const graph = graphOver(engine.db);
    const dispatcher = createDispatcher({
      tools,
      services: { ...graph, telemetry } as unknown as Services,
      now: () => 0,
      paceOf: paceBehind(createCalls()),
    });
    const ctx = graph.context({ kind: "none" });
    const opening = {
      id: "call",
      client: "tester",
      principal: ctx.principal,
      signal: ctx.signal,
      log: silentLogger,
      open: async () => ctx,
    };
    const calls: [tool: string, args: Record<string, unknown>][] = [
      ["cuba_alma", { action: "get", name: `Vault ${TOKEN}` }],
      ["cuba_alma", { action: "delete", name: `Vault ${TOKEN}`, confirm: TOKEN }],
      ["cuba_cronica", { action: TOKEN }],
      ["cuba_cronica", { action: "add", entity_name: "E", content: TOKEN }],
      ["cuba_call", { tool: "cuba_cronica", args: { action: "delete", observation_id: TOKEN } }],
    ];
    for (const [tool, args] of calls) expect((await dispatcher.call(opening, tool, args)).ok).toBe(false);
    await telemetry.settled();
    const stored = await rows(engine.db, sql`select tool, client, error from brain_handler_failures order by created_at, id`);
    expect(stored.map(({ tool, client }) => [tool, client])).toEqual(
      ["cuba_alma", "cuba_alma", "cuba_cronica", "cuba_cronica", "cuba_cronica"].map((tool) => [tool, "tester"]),
    );
    expect(JSON.stringify(stored)).not.toContain("abcdefghijklmnop");
    expect(stored.map(({ error }) => String(error)).find((error) => error.includes("not found"))).toStartWith(
      "Entity 'Vault ***' not found",
    );
  });
});
