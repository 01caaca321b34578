/** The graph services over a test database, called through their tools as a client calls them. */
import { type CognitionParts, composeCognition } from "../../src/app/cognition.ts";
import { composeGraph, type GraphParts } from "../../src/app/graph.ts";
import { composeRecords, type RecordsParts } from "../../src/app/records.ts";
import { composeUpkeep, type UpkeepParts } from "../../src/app/upkeep.ts";
import type { CallContext, Scope } from "../../src/kernel/context.ts";
import { noDeadline } from "../../src/kernel/deadline.ts";
import { MemoryError } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { toEnd } from "../../src/kernel/steps.ts";
import { createCalls, paceBehind } from "../../src/services/pace.ts";
import { createReminders } from "../../src/services/reminders.ts";
import type { Database } from "../../src/store/port.ts";
import { tools } from "../../src/tools/registry.ts";
import type { Services } from "../../src/tools/services.ts";
import { testEmbedder } from "./embedder.ts";
import { judgeWith } from "./judge.ts";

export type Reply = Record<string, unknown>;

export function graphOver(db: Database, given: Partial<GraphParts & RecordsParts & CognitionParts & UpkeepParts> = {}) {
  const embedder = testEmbedder("missing");
  const reminders = createReminders({ db });
  const graph = composeGraph({
    db,
    embedder,
    reminders,
    log: silentLogger,
    bitemporal: true,
    quarantineInference: false,
    chunking: { thresholdChars: 1_800, sizeChars: 1_400 },
    ...given,
  });
  const identity = { sessionKey: (client: string) => `test/${client}` };
  const records = composeRecords({
    db,
    embedder,
    identity,
    reminders,
    notes: graph.notes,
    queue: graph.queue,
    publish: () => {},
    auditKey: () => undefined,
    paceOf: paceBehind(createCalls()),
    ...given,
  });
  const services = {
    ...graph,
    ...records,
    ...composeUpkeep({
      db,
      embedder,
      graph,
      audit: records.audit,
      paceOf: paceBehind(createCalls()),
      forgetDistributions: () => {},
      keepUndo: async () => "/undo/prune.json",
      ...given,
    }),
    ...composeCognition({
      db,
      embedder: given.embedder ?? embedder,
      judge: given.judge ?? judgeWith(),
      observations: graph.observations,
      notes: graph.notes,
      ladder: given.ladder ?? (() => ({ chats: [], problem: undefined })),
      nonce: () => "nonce",
      paceOf: paceBehind(createCalls()),
    }),
    catalogue: () => tools,
  } as unknown as Services;

  const context = (scope: Scope, more: Partial<CallContext> = {}): CallContext => ({
    id: newId(),
    client: "tester",
    bound: true,
    principal: { kind: "owner" },
    scope,
    session: undefined,
    deadline: noDeadline,
    signal: new AbortController().signal,
    sampling: undefined,
    progress: () => {},
    log: silentLogger,
    ...more,
  });

  /** A caller with a scope: `call("cuba_alma", { … })` answers what the client would read, or throws the error it would see. */
  const caller =
    (scope: Scope = { kind: "none" }, more: Partial<CallContext> = {}) =>
    async (name: string, args: Record<string, unknown>): Promise<Reply> => {
      const tool = tools.find((each) => each.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      const parsed = toEnd(tool.parse(args));
      if (parsed.kind !== "run") throw new Error("the call was forwarded");
      return JSON.parse(JSON.stringify({ ...(await parsed.run(context(scope, more), services)), warnings: parsed.warnings }));
    };

  /** What the client would read of a failing call; fails the test where it succeeds. */
  const refusal = async (work: Promise<unknown>): Promise<MemoryError> => {
    try {
      await work;
    } catch (error) {
      if (error instanceof MemoryError) return error;
      throw error;
    }
    throw new Error("the call succeeded");
  };

  return { ...graph, embedder: given.embedder ?? embedder, context, caller, refusal };
}
