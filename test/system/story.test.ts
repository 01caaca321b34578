/**
 * One long story through the real program and the official client: two agents, two projects, one daemon. A plan, an error with its fix, a failed approach
 * warned about, a recipe with a record, a decision corrected, a compaction, a claim verified by the client's own model, forgetting, and the audit chain.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CreateMessageRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { readOwner } from "../../src/daemon/owner-lock.ts";
import { lives, until } from "./processes/harness.ts";

setDefaultTimeout(180_000);

const main = resolve(import.meta.dir, "../../src/main.ts");
const home = mkdtempSync(join(tmpdir(), "mi-story-"));
const data = join(home, "data");

type Fields = Record<string, unknown>;
const answer = z.object({
  content: z.array(z.looseObject({ text: z.string().optional() })),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().optional(),
});

interface Agent {
  readonly client: Client;
  /** The answer of a tool that must succeed. */
  call(tool: string, args: Fields): Promise<Fields>;
}

/** What the person behind the planner says whenever its own model is asked about a claim. */
let opinion = { verdict: "supports", confidence: 0.95, reason: "the memory says so" };

async function agent(name: string, withModel: boolean): Promise<Agent> {
  const cwd = join(home, name);
  mkdirSync(cwd);
  const client = new Client({ name, version: "1.0.0" }, { capabilities: withModel ? { sampling: {} } : {} });
  if (withModel)
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      model: "scripted",
      role: "assistant",
      content: { type: "text", text: JSON.stringify(opinion) },
    }));
  const env = { HOME: home, PATH: "/usr/bin:/bin", MEMORY_INDUSTRY_DATA_DIR: data };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [main], cwd, env, stderr: "ignore" }));
  return {
    client,
    call: async (tool, args) => {
      const { content, structuredContent, isError } = answer.parse(await client.callTool({ name: tool, arguments: args }));
      if (isError === true || structuredContent === undefined) throw new Error(`${tool}: ${content[0]?.text}`);
      return structuredContent;
    },
  };
}

let planner: Agent;
let blogger: Agent;
beforeAll(async () => {
  planner = await agent("planner", true);
  blogger = await agent("blogger", false);
});
afterAll(async () => {
  await Promise.all([planner.client.close(), blogger.client.close()]);
  const owner = readOwner(join(data, "daemon.lock"));
  if (owner !== undefined && lives(owner.pid)) {
    process.kill(owner.pid, "SIGTERM");
    await until("the daemon of the story to end", () => !lives(owner.pid));
  }
  rmSync(home, { recursive: true, force: true });
});

const rowsOf = (found: Fields) => z.array(z.looseObject({ id: z.string(), c: z.string().nullable() })).parse(found["results"]);

test("two agents plan, fail, learn, decide, lose their context, check a claim and forget, and neither sees the other's project", async () => {
  await planner.call("cuba_jornada", {
    action: "start",
    name: "Queues for the shop",
    goals: ["orders survive a restart"],
    project: "shop",
  });
  await blogger.call("cuba_jornada", { action: "start", name: "Faster blog", goals: ["pages below 100 ms"], project: "blog" });

  // A decision, and its plan as an artifact that two agents may edit.
  const decided = await planner.call("cuba_decreto", {
    action: "record",
    title: "Queue for orders",
    context: "Orders are lost on restart.",
    alternatives: ["Redis streams", "RabbitMQ"],
    chosen: "Redis streams",
    rationale: "It runs already.",
  });
  await planner.call("cuba_artefacto", { action: "put", path: "plan.md", content: "1. producer\n2. consumer group" });
  expect(await blogger.call("cuba_artefacto", { action: "list" })).toMatchObject({ count: 0 });

  // An error; the same approach is warned of until there is a fix, and then the fix is shown.
  const failed = await planner.call("cuba_alarma", {
    error_type: "TimeoutError",
    error_message: "XREADGROUP timed out after 5000 ms in order-worker",
    context: { file: "worker.ts", attempted: "raise the block timeout to 60 s" },
  });
  const approach = { query: "XREADGROUP timed out", proposed_action: "raise the block timeout of XREADGROUP in order-worker" };
  expect(String((await planner.call("cuba_expediente", approach))["anti_repetition_warning"])).toContain("1 unresolved error");
  expect(await blogger.call("cuba_expediente", approach)).toMatchObject({ count: 0 });
  await planner.call("cuba_remedio", { error_id: failed["error_id"], solution: "The consumer group began at $; begin it at 0." });
  const afterwards = await planner.call("cuba_expediente", approach);
  expect(afterwards["anti_repetition_warning"]).toBeUndefined();
  expect(afterwards["results"]).toMatchObject([{ resolved: true, solution: "The consumer group began at $; begin it at 0." }]);

  // A recipe earns its place by what came of it: the lower end of Wilson's interval at z = 1.96, 2 of 3 → 0.2077.
  const recipe = { name: "Drain the order queue", steps: [{ do: "stop the producers" }, { do: "wait until nothing is pending" }] };
  await planner.call("cuba_receta", { action: "add", trigger: "before a deploy", ...recipe });
  for (const success of [true, true, false]) await planner.call("cuba_receta", { action: "outcome", name: recipe.name, success });
  expect((await planner.call("cuba_receta", { action: "search", query: "drain the queue before a deploy" }))["procedures"]).toMatchObject([
    { name: recipe.name, successes: 2, failures: 1, reliability: 0.2077 },
  ]);
  expect(await blogger.call("cuba_receta", { action: "search", query: "drain the queue before a deploy" })).toMatchObject({ count: 0 });

  // The decision is corrected: the new text is found at once, the old one stays as history and answers nothing.
  const corrected = "**Queue for orders**\nChosen: RabbitMQ\nRationale: Redis streams lost acknowledgements under failover.";
  expect(await planner.call("cuba_eco", { action: "correct", observation_id: decided["id"], correction: corrected })).toMatchObject({
    versioned: true,
  });
  const found = rowsOf(await planner.call("cuba_faro", { query: "which queue do orders use" }));
  expect(found[0]).toMatchObject({ id: decided["id"], c: corrected });
  expect(rowsOf(await blogger.call("cuba_faro", { query: "which queue do orders use" }))).toEqual([]);

  // The context is compacted away and handed back.
  await planner.call("cuba_cronica", { action: "add", entity_name: "order-worker", content: "The order worker listens on port 7001." });
  const snapshot = await planner.call("cuba_pre_compact", { action: "snapshot" });
  expect(snapshot["action"]).toBe("snapshot");
  const restored = JSON.stringify(await planner.call("cuba_pre_compact", { action: "restore" }));
  for (const kept of ["orders survive a restart", "The order worker listens on port 7001.", "RabbitMQ"]) expect(restored).toContain(kept);
  expect(restored).not.toContain("pages below 100 ms");

  // A claim: the client's own model judges; where it denies, the claim is contradicted; without any judge it stays unknown and the difference is named.
  const claim = { mode: "verify", query: "The order worker listens on port 7001." };
  expect(await planner.call("cuba_faro", claim)).toMatchObject({ grounding: "verified", judged_by: "mcp_sampling" });
  opinion = { verdict: "contradicts", confidence: 0.95, reason: "another port" };
  expect(await planner.call("cuba_faro", { ...claim, query: "The order worker listens on port 7002." })).toMatchObject({
    grounding: "contradicted",
    judged_by: "mcp_sampling",
  });
  await blogger.call("cuba_cronica", { action: "add", entity_name: "blog", content: "The blog is served on port 8001." });
  expect(await blogger.call("cuba_faro", { mode: "verify", query: "The blog is served on port 8002." })).toMatchObject({
    grounding: "unknown",
    judged_by: "none",
    evidence: [{ differs: { kind: "number", claim: "8002", memory: "8001" } }],
  });

  // Forgetting: a plan that changes nothing, then everything of that name in this project, and nothing of another's.
  await blogger.call("cuba_cronica", { action: "add", entity_name: "order-worker", content: "The blog shows the order worker's uptime." });
  expect(await planner.call("cuba_forget", { entity_name: "order-worker" })).toMatchObject({ dry_run: true, entity_deleted: false });
  expect(await planner.call("cuba_forget", { entity_name: "order-worker", confirm: true })).toMatchObject({ entity_deleted: true });
  const left = JSON.stringify(await planner.call("cuba_faro", { query: "order worker port 7001", format: "verbose" }));
  expect(left).not.toContain("listens on port 7001.");
  expect(JSON.stringify(await blogger.call("cuba_faro", { query: "order worker uptime" }))).toContain("uptime");

  // What happened stands in the chain, and the chain holds.
  await planner.call("cuba_archivo", { action: "append", event_action: "deploy", payload: { version: "1.2.0" } });
  expect(await planner.call("cuba_archivo", { action: "verify" })).toMatchObject({ ok: true, complete: true });
  const ended = await planner.call("cuba_jornada", { action: "end", outcome: "success", summary: "Orders go through RabbitMQ." });
  expect(ended["action"]).toBe("ended");
  const next = await planner.call("cuba_jornada", { action: "start", name: "Next day", project: "shop" });
  expect(JSON.stringify(next)).toContain("Orders go through RabbitMQ.");
});
