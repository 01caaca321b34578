/** The composition root: configuration in, the running product out. Calls every constructor; nobody else does. */

import { commandLine } from "../cli/output.ts";
import { nodeName as nodeNameOf } from "../config/environment.ts";
import type { Config } from "../config/load.ts";
import { availableMb } from "../config/machine-readings.ts";
import { requirePath } from "../config/paths.ts";
import type { ServedApp } from "../daemon/served-app.ts";
import type { Embedder } from "../inference/port.ts";
import { unavailable } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { VERSION } from "../kernel/version.ts";
import { createDispatcher, type Dispatcher } from "../mcp/dispatch.ts";
import { createResourceMethods } from "../mcp/resources.ts";
import { createMcpServer } from "../mcp/server.ts";
import { createCodeReferences } from "../services/codegraph/references.ts";
import { createCodeGraph } from "../services/codegraph/store.ts";
import { createEntityDuplicates } from "../services/duplicates/entities.ts";
import { createUnmerge } from "../services/duplicates/unmerge.ts";
import { createSameJudge } from "../services/duplicates/verdicts.ts";
import { reembedThen } from "../services/embedding/reembed.ts";
import { createClientProjects } from "../services/identity/client-projects.ts";
import { createIdentity } from "../services/identity/identity.ts";
import { createClientRegistry } from "../services/identity/registry.ts";
import { inspectWorkspace } from "../services/identity/workspace.ts";
import { createLibraryDocs } from "../services/library-docs/library-docs.ts";
import { type Calls, createCalls, paceBehind } from "../services/pace.ts";
import { createProjects } from "../services/projects.ts";
import { createRecall } from "../services/recall.ts";
import { createAutolink } from "../services/relations/autolink.ts";
import { createReminders } from "../services/reminders.ts";
import { createResources } from "../services/resources.ts";
import { createSessions } from "../services/sessions.ts";
import { createStatus } from "../services/status.ts";
import { createTelemetry } from "../services/telemetry.ts";
import { createVault } from "../services/vault.ts";
import { nodeIdentity } from "../store/queries/node.ts";
import { catalogueOf } from "../tools/registry.ts";
import type { Services } from "../tools/services.ts";
import { createFetchPage, internet } from "../web/fetch-page.ts";
import type { Assets } from "./assets.ts";
import { auditKeyOf } from "./audit-key.ts";
import { type OwnedDatabase, openDatabase } from "./bootstrap.ts";
import { codegraphMethods } from "./codegraph-methods.ts";
import { composeCognition } from "./cognition.ts";
import { composeConsolidation, consolidationMethods } from "./consolidation.ts";
import { duplicateMethods } from "./duplicate-methods.ts";
import { composeGraph } from "./graph.ts";
import { modelsHealth, runtimeHealth } from "./health-facts.ts";
import { startJobs } from "./jobs.ts";
import { chatFacts, ladderFor, nonce } from "./judge.ts";
import { type Models, openModels, warmReranker } from "./models.ts";
import { ownerMethods } from "./owner-methods.ts";
import { typedProgram } from "./process.ts";
import { recallMethod } from "./recall-method.ts";
import { composeRecords } from "./records.ts";
import { composeSearch } from "./search.ts";
import { thresholdMethods } from "./threshold-methods.ts";
import { composeUpkeep, undoFiles } from "./upkeep.ts";
import { vaultMethods } from "./vault-methods.ts";

export interface ComposeOptions {
  readonly config: Config;
  readonly assets: Assets;
  readonly log: Logger;
  /** True where this process opens the HTTP port. */
  readonly servesHttp: boolean;
  /** False in a process that lives for one command: no consolidation cycle starts by the way. */
  readonly consolidates: boolean;
  /** Tells the viewers of the HTTP port what happened; without one nobody listens. */
  readonly publish?: (kind: string, payload: unknown) => void;
}

/** What background work gets when the product closes, after its drain. */
const CLOSE_LIMIT_MS = 2_000;

const ENGINE_BROKE =
  "The embedded database stopped by a fault of its engine or its disk, and this process ends. What was acknowledged is kept; the next start recovers it. Look at the free space, then run 'memory-industry doctor'.";

/**
 * Composes the product over the database of this configuration.
 * @throws MemoryError where starting makes no sense (`openDatabase`, width mismatch); what was opened is closed again.
 */
export async function compose(options: ComposeOptions): Promise<ServedApp> {
  const { config, log } = options;
  for (const { message } of config.warnings) log.warn(message);
  const nodeName = nodeNameOf(config);
  const models = await openModels(options);
  try {
    const db = await openDatabase({ config: models.config, assets: options.assets, nodeName, log, modelWidth: widthOf(models.embedder) });
    return assemble(options, db, models, nodeName);
  } catch (error) {
    await models.close();
    throw error;
  }
}

/** Width of the installed model's vectors; undefined where there is none, and then the columns fit. */
const widthOf = (embedder: Embedder): number | undefined => (embedder.status().state === "missing" ? undefined : embedder.dimensions);

/** The dispatcher, with a count of the calls that are being answered: background work gives way to them. */
function counted(dispatcher: Dispatcher, calls: Calls): Dispatcher {
  return {
    abandoned: dispatcher.abandoned,
    async call(...asked) {
      const leave = calls.enter(asked[0].id);
      try {
        return await dispatcher.call(...asked);
      } finally {
        leave();
      }
    },
  };
}

function assemble(
  { log, servesHttp, consolidates, publish = () => {} }: ComposeOptions,
  db: OwnedDatabase,
  models: Models,
  nodeName: string,
): ServedApp {
  const { config, embedder } = models;
  const { settings, paths } = config;
  const filterOn = settings.PROJECT_FILTER.value;
  const calls = createCalls();
  const paceOf = paceBehind(calls);
  const registry = createClientRegistry(Date.now);
  const telemetry = createTelemetry({ db, log, now: () => new Date() });
  const reminders = createReminders({ db });
  const graph = composeGraph({
    db,
    embedder,
    reminders,
    log,
    bitemporal: settings.BITEMPORAL.value,
    quarantineInference: settings.QUARANTINE_INFERENCE.value,
    chunking: { thresholdChars: settings.CHUNK_THRESHOLD_CHARS.value, sizeChars: settings.CHUNK_CHARS.value },
  });
  const clientProjects = createClientProjects({ db, registry, background: graph.background, nodeName });
  const identity = createIdentity({ db, registry, inspect: inspectWorkspace, clientProjects, log, nodeName, home: paths.home, filterOn });
  const { search, thresholdMeasure, forgetDistributions } = composeSearch(db, models, graph.queue);
  const reembed = reembedThen(graph.reembed, forgetDistributions);
  const records = composeRecords({
    db,
    embedder,
    identity,
    reminders,
    notes: graph.notes,
    queue: graph.queue,
    publish,
    paceOf,
    auditKey: auditKeyOf(config),
  });
  const references = createCodeReferences({ db });
  const tools = catalogueOf({ docs: settings.DOCS.value });
  const services: Services = {
    ...composeCognition({
      db,
      embedder,
      judge: models.judge,
      observations: graph.observations,
      notes: graph.notes,
      ladder: ladderFor(config),
      nonce,
      paceOf,
    }),
    telemetry,
    entities: graph.entities,
    observations: graph.observations,
    episodes: graph.episodes,
    relations: graph.relations,
    search,
    references,
    ...records,
    ...composeUpkeep({
      db,
      embedder,
      graph: { ...graph, reembed },
      audit: records.audit,
      paceOf,
      forgetDistributions,
      keepUndo: undoFiles(() => requirePath(paths, "undoDir")),
    }),
    presentation: { compactChars: settings.COMPACT_CHARS.value },
    sessions: createSessions({ db, registry, identity, reminders }),
    projects: createProjects({ db, registry, identity, clientProjects, filterOn }),
    status: createStatus({
      db,
      identity,
      embedder,
      judge: models.judge,
      llm: () => chatFacts(config),
      servesHttp,
      plan: models.plan,
      availableMemoryMb: availableMb,
    }),
    catalogue: () => tools,
    libraryDocs: createLibraryDocs({ fetchPage: createFetchPage(internet), clock: () => performance.now(), nonce }),
  };
  const dispatcher = counted(createDispatcher({ tools, services, now: () => performance.now(), paceOf }), calls);
  const stopped = new AbortController();
  const rem = composeConsolidation({
    ...graph,
    db,
    config,
    embedder,
    judge: models.judge,
    maintenance: services.maintenance,
    calls,
    log,
  });
  const mcp = createMcpServer({
    tools,
    dispatcher,
    identity,
    log,
    handlerTimeoutMs: settings.HANDLER_TIMEOUT_SECS.value * 1_000,
    profile: settings.TOOL_PROFILE.value,
    typed: commandLine(typedProgram(), []),
    resources: createResourceMethods(dispatcher, createResources({ db, compaction: records.compaction })),
    ownerMethods: ownerMethods({
      models,
      database: { db },
      reembed,
      requestEmbedding: graph.queue.poke,
      further: [
        ...consolidationMethods({ db, rem, stopped: stopped.signal }),
        ...thresholdMethods({ db, thresholdMeasure }),
        ...vaultMethods(createVault({ db })),
        ...duplicateMethods({
          duplicates: createEntityDuplicates({ db, queue: graph.queue, paceOf }),
          unmerge: createUnmerge({ db, queue: graph.queue }),
          // A command has no client whose model it could ask.
          sameJudge: createSameJudge({
            db,
            label: embedder.label,
            ladder: () => ladderFor(config)(undefined),
            nonce,
            timeoutMs: settings.JUEZ_TIMEOUT_SECS.value * 1_000,
          }),
          autolink: createAutolink({ db }),
          paceOf,
        }),
        recallMethod(createRecall({ db, references })),
        ...codegraphMethods(createCodeGraph({ db, facts: graph.facts, queue: graph.queue, paceOf })),
      ],
      evaluation: {
        db,
        services,
        chunks: graph.chunks,
        queue: graph.queue,
        embedder,
        reranker: models.reranker,
        fusion: settings.FUSION.value,
      },
    }),
  });
  // Texts that were stored while no model was there, or whose vectors a shutdown cut short.
  graph.queue.poke();
  warmReranker(models, log, stopped.signal);
  const jobs = startJobs({ rem, db, clients: clientProjects, config, consolidates, stopped: stopped.signal, log });

  const isReachable = async () => {
    const scope = {
      principal: { kind: "system", id: "health" } as const,
      scope: { kind: "everything" } as const,
      signal: new AbortController().signal,
    };
    return await db
      .read(scope, (tx) => tx.first(nodeIdentity()))
      .then(
        () => true,
        () => false,
      );
  };

  let closing: Promise<void> | undefined;
  const broken = db.stopped?.then((cause) => unavailable(ENGINE_BROKE, { cause }));
  return {
    mcp,
    ...(broken === undefined ? {} : { broken }),
    async health() {
      const up = await isReachable();
      const health = modelsHealth(models);
      const failed = Object.values(health).some(({ state }) => state === "failed");
      return {
        status: up && !failed ? "ok" : "degraded",
        version: VERSION,
        database: up ? "up" : "unreachable",
        ready: up,
        models: health,
        runtime: runtimeHealth(models),
      };
    },
    drain: async (limitMs) => {
      const [, , pending] = await Promise.all([
        Promise.race([Promise.all([telemetry.settled(), search.settled()]), Bun.sleep(limitMs)]),
        graph.background.drain(limitMs),
        graph.queue.drain(limitMs),
      ]);
      return pending;
    },
    beforeIdleStop: () => jobs.beforeIdleStop(),
    close() {
      closing ??= (async () => {
        stopped.abort();
        await graph.queue.stop();
        await rem.settled();
        await graph.background.drain(CLOSE_LIMIT_MS);
        await search.settled();
        await telemetry.settled();
        await models.close();
        await db[Symbol.asyncDispose]();
      })();
      return closing;
    },
  };
}
