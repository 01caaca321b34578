/**
 * `cuba_faro` (`retrieval.md` §2): question → arms → fusion → rows. Reads in one transaction; what a question needs of the model is
 * computed before it, what is remembered about the answer is written after it.
 */
import { type FusionMode, fuse } from "../../domain/retrieval/fusion.ts";
import type { Embedder } from "../../inference/port.ts";
import type { CallContext } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import type { Database, Tx } from "../../store/port.ts";
import { sessionTexts } from "../../store/queries/search-context.ts";
import type { Filters } from "../../store/queries/search-filters.ts";
import { recordAccess } from "../../store/queries/search-rows.ts";
import type { Judge } from "../judge/judge.ts";
import { createAges } from "./ages.ts";
import { analyse } from "./analyse.ts";
import { connectionsOf, MOST_EXTRAS } from "./arms/graph.ts";
import { createMentionCache } from "./arms/mentions.ts";
import { embedQuestion, type FreshVectors, type QuestionVector } from "./arms/vector.ts";
import { neighboursAround, peerNotices, writtenAfter } from "./context.ts";
import { degradationOf } from "./degraded.ts";
import { type Gate, type GateOutcome, type OpenGate, type Reading, UNDECIDED } from "./gate/gate.ts";
import { type Gathered, gather } from "./gather.ts";
import { type RunLeg, runLegs } from "./legs.ts";
import { createMissingVectors } from "./missing-vectors.ts";
import { boostBySession, chooseRows, newestFirst, poolSize, readExtras, readPool, stillStanding, withAssociated } from "./pool.ts";
import { type Ablation, type Connections, type Found, type HybridAnswer, type HybridRequest, holdsObservations } from "./request.ts";
import { type RerankStage, rerankBudget, rerankRows, wantsRerank } from "./rerank.ts";
import { createVerifier, type Verifier } from "./verify.ts";

export interface Search extends Verifier {
  /** @throws MemoryError where the database does not answer at all; everything less is in `degraded`. */
  hybrid(ctx: CallContext, request: HybridRequest, ablation?: Ablation): Promise<HybridAnswer>;
  /** Waits until what earlier answers were used for is written down. */
  settled(): Promise<void>;
}

export interface SearchParts {
  readonly db: Database;
  readonly embedder: Embedder;
  /** Undefined where nothing computes vectors behind the writes. */
  readonly fresh?: FreshVectors | undefined;
  readonly fusion: FusionMode;
  /** The leg that brings observations of the entities a question names (`MEMORY_INDUSTRY_ENTITY_FACTOID`). */
  readonly entityLeg: boolean;
  /** Undefined where no reranker can be asked at all. */
  readonly rerank?: RerankStage | undefined;
  /** Undefined where nobody judges claims. */
  readonly judge?: Judge | undefined;
  /** Undefined where no question is ever refused. */
  readonly gate?: Gate | undefined;
}

/** Notes of a session that say what it is about. */
const SESSION_NOTES = 20;

export function createSearch({ db, embedder, fresh, fusion: configured, entityLeg, rerank, judge, gate }: SearchParts): Search {
  const mentionCache = createMentionCache();
  const missingVectors = createMissingVectors(() => performance.now());
  const writing = new Set<Promise<void>>();

  /** The testing effect, after the answer. A failure costs nobody an answer. */
  const reinforce = (ctx: CallContext, found: readonly Found[]) => {
    const ids = found.filter(({ kind }) => kind === "observation").map(({ row }) => row.id);
    if (ids.length === 0) return;
    const scope = { principal: ctx.principal, scope: ctx.scope, signal: new AbortController().signal };
    const written = db
      .write(scope, async (tx) => {
        await tx.run(recordAccess(ids));
      })
      .catch((cause: unknown) => ctx.log.warn("an access could not be recorded", { cause: causeChain(cause) }))
      .finally(() => writing.delete(written));
    writing.add(written);
  };

  const textsOfSession = async (run: RunLeg, ctx: CallContext): Promise<readonly string[]> => {
    const { session } = ctx;
    if (session === undefined) return [];
    const rows = await run("session", (tx) => tx.all(sessionTexts({ sessionId: session.id, notes: SESSION_NOTES })));
    return (rows ?? []).map(({ text }) => text);
  };

  return {
    ...createVerifier({ db, embedder, fresh, judge }),
    async hybrid(ctx, request, ablation = {}) {
      const analysis = analyse(request.query);
      const fusion = ablation.fusion ?? configured;
      const wantsVector = holdsObservations(request.scope) && ablation.noVector !== true;
      const reads = wantsRerank(rerank, request);
      const budget = reads && rerank !== undefined ? rerankBudget(rerank, ctx) : undefined;
      const waitMs = ablation.patient === true ? Number.POSITIVE_INFINITY : budget?.remainingMs();
      const question: QuestionVector | undefined = wantsVector
        ? await embedQuestion(ctx, embedder, request.query, fresh, waitMs)
        : undefined;
      const filters: Filters = {
        scope: ctx.scope,
        includeUnscoped: request.includeUnscoped,
        after: request.after,
        before: request.before,
        tag: request.tag,
      };
      const inTime = { ...ctx, deadline: budget ?? ctx.deadline };
      const opened = request.abstainOod ? await openGate(gate, inTime, request, question, embedder.label) : undefined;
      const refused = opened?.kind === "decided" ? opened.outcome : undefined;
      if (refused?.kind === "abstained") {
        const { value: unseen, failed } = await runLegs(db, ctx, (run) =>
          run("unseen", (tx) => missingVectors.of(tx, filters, embedder.label)),
        );
        return abstained(analysis.class, refused, degradationOf(failed, question, { ...NO_RANKING, unseen }));
      }
      const depth = reads ? (rerank?.depth ?? 0) : 0;
      const finish = async (run: RunLeg, rows: readonly Found[], texts: readonly string[]) => {
        const found = chooseRows(boostBySession(rows, texts), request);
        return { found, neighbours: (await run("neighbours", (t) => neighboursAround(t, found, filters))) ?? [] };
      };
      const first = await runLegs(db, ctx, async (run, tx) => {
        const ages = createAges(filters);
        const gathering = gather(run, {
          analysis,
          request,
          ablation,
          filters,
          question,
          label: embedder.label,
          mentionCache,
          entityLeg: entityLeg && ablation.noEntityLeg !== true,
          atLeast: depth,
          fusion,
          ages,
          missingVectors,
        });
        const [gathered, peers = []] = await Promise.all([gathering, run("peers", peerNotices)]);
        const outcome = opened?.kind === "open" ? await decided(run, opened, gathered) : refused;
        const { wordsLeftOut, unseen } = gathered;
        if (outcome?.kind === "abstained") return { kind: "refused", outcome, wordsLeftOut, unseen } as const;
        const fused = await newestFirst(tx, withAssociated(fuse(fusion, gathered.arms, analysis.weights), gathered), gathered, ages);
        const texts = [...(await textsOfSession(run, ctx)), ...(ablation.goals ?? [])];
        const pool = await readPool(tx, fused, gathered, filters, Math.max(poolSize(request, texts.length > 0), depth));
        const { rows, connections, seeds } =
          analysis.class === "multi_hop" && holdsObservations(request.scope)
            ? await connect(run, tx, gathered, pool, filters)
            : { rows: pool, connections: undefined, seeds: [] };
        return {
          kind: "found",
          outcome,
          rows,
          connections,
          seeds,
          texts,
          wordsLeftOut,
          unseen,
          peers,
          finished: reads || outcome?.kind === "reading" ? undefined : await finish(run, rows, texts),
        } as const;
      });
      const { wordsLeftOut, unseen } = first.value;
      const outcome = first.value.outcome?.kind === "reading" ? await first.value.outcome.finish() : first.value.outcome;
      if (first.value.kind === "refused" || outcome?.kind === "abstained")
        return abstained(analysis.class, outcome, degradationOf(first.failed, question, { ...NO_RANKING, wordsLeftOut, unseen }));
      const { rows, connections, seeds, texts, peers, finished } = first.value;
      // Nothing slow happens inside a transaction: the model reads between two of them.
      const { rows: ranked, unranked } = reads
        ? await rerankRows(rerank, ctx, request.query, rows, budget ?? ctx.deadline, ablation.rerankUnfound)
        : { rows, unranked: undefined };
      // What was forgotten, withheld or rewritten meanwhile is no answer any more.
      const last =
        finished === undefined
          ? await runLegs(db, ctx, async (run, tx) => ({
              ...(await finish(run, await stillStanding(tx, ranked, filters), texts)),
              connections:
                connections === undefined ? undefined : (await run("connections", (t) => connectionsOf(t, seeds, filters)))?.connections,
            }))
          : { value: { ...finished, connections }, failed: [] };
      const value = { ...last.value, peers };
      const failed = [...first.failed, ...last.failed];
      if (request.trackAccess) reinforce(ctx, value.found);
      for (const { leg, cause } of failed) ctx.log.warn("a part of a search failed", { leg, cause: causeChain(cause) });
      return {
        queryClass: analysis.class,
        ...value,
        newSinceStart: ctx.session === undefined ? undefined : writtenAfter(value.found, ctx.session.startedAt),
        degraded: degradationOf(failed, question, { enableBm25: request.enableBm25, unranked, wordsLeftOut, unseen }),
        gate: outcome,
      };
    },
    settled: async () => {
      await Promise.all(writing);
    },
  };
}

const NO_RANKING = { enableBm25: false, unranked: undefined };

/** The gate's decision on what the arms brought; one that could not be made lets the question pass. */
const decided = async (run: RunLeg, gate: Extract<OpenGate, { kind: "open" }>, gathered: Gathered): Promise<GateOutcome | Reading> =>
  (await run("gate", (tx) => gate.decide(tx, gathered))) ?? UNDECIDED;

/** The whole answer where the gate refused; no row, and what could not be searched is still said. */
const abstained = (
  queryClass: HybridAnswer["queryClass"],
  gate: HybridAnswer["gate"],
  degraded: HybridAnswer["degraded"],
): HybridAnswer => ({
  queryClass,
  found: [],
  neighbours: [],
  connections: undefined,
  newSinceStart: undefined,
  degraded,
  gate,
  peers: [],
});

const openGate = async (
  gate: Gate | undefined,
  ctx: CallContext,
  request: HybridRequest,
  vector: QuestionVector | undefined,
  label: string,
): Promise<OpenGate> =>
  gate === undefined
    ? { kind: "decided", outcome: { kind: "unavailable", reason: "This memory has no abstention gate, so nothing was refused." } }
    : await gate.open(ctx, { query: request.query, threshold: request.oodThreshold, vector, label });

/** A question about connections: paths between what it names and what was found, and rows that stand on them. */
async function connect(
  run: RunLeg,
  tx: Tx,
  { mentions }: Gathered,
  pool: readonly Found[],
  filters: Filters,
): Promise<{ rows: readonly Found[]; connections: Connections | undefined; seeds: readonly string[] }> {
  const seeds = [
    ...new Set([...mentions.map(({ entity }) => entity), ...pool.flatMap(({ row }) => (row.entity === null ? [] : [row.entity]))]),
  ];
  const around = await run("connections", (t) => connectionsOf(t, seeds, filters));
  if (around === undefined) return { rows: pool, connections: undefined, seeds };
  const known = new Set(pool.map(({ row }) => row.id));
  const extras = await readExtras(tx, around.rows.filter(({ id }) => !known.has(id)).slice(0, MOST_EXTRAS), filters);
  return { rows: [...pool, ...extras], connections: around.connections, seeds };
}
