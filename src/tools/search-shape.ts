/** The public form of a search: short keys for models, long ones for people and measurements, and the token budget over both. */
import { fitToBudget } from "../domain/retrieval/budget.ts";
import { firstChars } from "../kernel/text.ts";
import { mostTokens, tokenCounter } from "../kernel/tokens.ts";
import { NOT_IN_TREE_NOTE } from "../services/codegraph/references.ts";
import type { GateMeasures, GateOutcome } from "../services/search/gate/gate.ts";
import type { Connections, Degradation, Found, HybridAnswer } from "../services/search/request.ts";
import type { Verification } from "../services/search/verify.ts";
import type { Answer } from "./define.ts";
import { fitRows } from "./fit.ts";

export type ResultFormat = "compact" | "verbose";

export interface Presentation {
  readonly format: ResultFormat;
  /** Tokens for rows and graph context, cl100k. */
  readonly maxTokens: number;
  /** Code points of one text in a compact answer. */
  readonly compactChars: number;
}

type Row = Readonly<Record<string, unknown>>;

/** Digits that a reader of the short form can use; the long form keeps more for measurements. */
const SHORT_DIGITS = 4;
const LONG_DIGITS = 9;
const rounded = (value: number, digits: number) => Number(value.toFixed(digits));

const evidenceOf = ({ row }: Found): Row =>
  row.evidence === null || row.evidence === "asserted"
    ? {}
    : { evidence: row.evidence, ...(row.verifiedAt === null ? {} : { verified_at: row.verifiedAt }) };

/** What a row says: of an error its message and, where there is one, what solved it; of a long text the piece that was found. */
const textOf = ({ kind, row, chunk }: Found): string | null =>
  kind === "error" && row.solution !== null ? `${row.content ?? ""} → ${row.solution}` : (chunk ?? row.content);

/** What a row says of code that is gone. */
const missingKeys = (missing: readonly string[] | undefined): Row =>
  missing === undefined || missing.length === 0 ? {} : { not_in_tree: missing };
const missingNote = (missing: readonly (readonly string[])[]): Row =>
  missing.some((names) => names.length > 0) ? { not_in_tree_note: NOT_IN_TREE_NOTE } : {};

function compactRow(found: Found, compactChars: number): Row {
  const { kind, row, fusedScore } = found;
  const text = textOf(found);
  const cut = text === null ? null : firstChars(text, compactChars);
  return {
    id: row.id,
    e: kind === "error" ? row.label : row.entity,
    c: cut,
    s: rounded(fusedScore, SHORT_DIGITS),
    t: kind,
    i: row.importance === null ? null : rounded(row.importance, SHORT_DIGITS),
    ...(kind === "error" ? { resolved: row.resolved } : {}),
    ...evidenceOf(found),
    ...(cut === text ? {} : { truncated: true }),
  };
}

function verboseRow(found: Found, tag: string | undefined): Row {
  const { kind, row, shares, raw } = found;
  const named: Readonly<Record<typeof kind, Row>> = {
    observation: { entity_name: row.entity, content: row.content, observation_type: row.label, importance: row.importance, tags: row.tags },
    episode: { entity_name: row.entity, content: row.content, importance: row.importance },
    entity: { name: row.entity, entity_type: row.label, importance: row.importance },
    error: { error_type: row.label, error_message: row.content, solution: row.solution, resolved: row.resolved },
  };
  const score = (value: number) => rounded(value, LONG_DIGITS);
  return {
    id: row.id,
    type: kind,
    ...named[kind],
    created_at: row.createdAt,
    ...(found.chunk === undefined ? {} : { matched_chunk: found.chunk }),
    score: score(found.total),
    fused_score: score(found.fusedScore),
    text_score: score(shares.text),
    vector_score: score(shares.vector),
    bm25_score: score(shares.bm25),
    ...(shares.entity === 0 ? {} : { entity_score: score(shares.entity) }),
    ...(raw.text === undefined ? {} : { raw_text_score: score(raw.text) }),
    ...(raw.cosine === undefined ? {} : { cosine_similarity: score(raw.cosine) }),
    ...(raw.bm25 === undefined ? {} : { raw_bm25_score: score(raw.bm25) }),
    session_boosted: found.sessionBoosted,
    ...(tag === undefined || kind !== "observation" ? {} : { matched_tag: tag }),
    ...(found.associative ? { associative: true } : {}),
    ...(found.entityFactoid ? { entity_factoid: true } : {}),
    ...(found.pprExpanded ? { ppr_expanded: true } : {}),
    ...evidenceOf(found),
  };
}

/** The key of a row's text that the budget may cut. */
const textKeys = ["c", "content", "error_message"] as const;
const textKeyOf = (row: Row) => textKeys.find((key) => typeof row[key] === "string");
const cuttableText = (row: Row): string => {
  const key = textKeyOf(row);
  const text = key === undefined ? undefined : row[key];
  return typeof text === "string" ? text : "";
};
const withCutText = (row: Row, text: string): Row => {
  const key = textKeyOf(row);
  return key === undefined ? row : { ...row, [key]: text };
};

/** The share of the budget that the surroundings of the rows may take; beyond it they are left out. */
const CONTEXT_SHARE = 0.25;

/** Rows and surroundings within the budget. */
async function withinBudget(rows: readonly Row[], context: readonly Row[], maxTokens: number) {
  // Every token is at least one byte: most answers are settled without counting.
  if (mostTokens(JSON.stringify(rows)) + mostTokens(JSON.stringify(context)) <= maxTokens) return { rows, context, omitted: 0 };
  const count = await tokenCounter();
  const contextCost = context.length === 0 ? 0 : count(JSON.stringify(context));
  const kept = contextCost <= CONTEXT_SHARE * maxTokens ? context : [];
  const fitted = fitToBudget(rows, maxTokens - (kept.length === 0 ? 0 : contextCost), count, cuttableText, withCutText);
  return { rows: fitted.rows, context: kept, omitted: fitted.omitted };
}

const NEW_SINCE_NOTE = "indices into results of rows written after this session began: other agents or sessions may have added them";

const degradedKeys = ({ search, bm25, reranker }: Degradation): Row => ({
  ...(search.length === 0 ? {} : { degraded: true, degraded_reason: search.join(" ") }),
  ...(bm25 === undefined ? {} : { bm25_degraded: true, bm25_degraded_reason: bm25 }),
  ...(reranker === undefined
    ? {}
    : { reranker_degraded: true, reranker_degraded_reason: reranker.reason, reranker_degraded_code: reranker.code }),
});

const orNull = (value: number | undefined) => (value === undefined ? null : rounded(value, LONG_DIGITS));

/** What the gate compared, for people and measurements. */
const gateNumbers = (measures: GateMeasures): Row => {
  const { statistics, decidedBy, score, scoreThreshold } = measures;
  return {
    decided_by: decidedBy,
    score: orNull(score),
    score_threshold: orNull(scoreThreshold),
    mahalanobis_distance: orNull(measures.distance),
    ood_threshold: orNull(measures.distanceThreshold),
    ...(statistics === undefined ? {} : { word_coverage: orNull(statistics.words.coverage), words_known: orNull(statistics.words.known) }),
    ...(statistics?.meaning === undefined
      ? {}
      : {
          best_cosine: orNull(statistics.meaning.bestCosine),
          lead: orNull(statistics.meaning.lead),
          near_word_coverage: orNull(statistics.meaning.nearCoverage),
          word_match: orNull(statistics.match),
        }),
  };
};

const limitedKeys = ({ limited }: GateMeasures): Row =>
  limited === undefined ? {} : { ood_gate: limited.state, ood_gate_reason: limited.reason };

/** `ood` is true where the gate refused; the long form has the numbers in its place. */
function gateKeys(gate: GateOutcome | undefined, format: ResultFormat): Row {
  switch (gate?.kind) {
    case undefined:
      return {};
    case "uncalibrated":
    case "unavailable":
      return { ood_gate: gate.kind, ood_gate_reason: gate.reason };
    case "answered":
      return { ...limitedKeys(gate), ...(format === "verbose" ? { ood: { abstained: false, ...gateNumbers(gate) } } : {}) };
    case "abstained":
      return {
        ...limitedKeys(gate),
        ood: format === "verbose" ? { abstained: true, ...gateNumbers(gate) } : true,
        mahalanobis_distance: gate.distance === undefined ? null : rounded(gate.distance, SHORT_DIGITS),
        ood_threshold: gate.distanceThreshold === undefined ? null : rounded(gate.distanceThreshold, SHORT_DIGITS),
        abstain_reason: gate.reason,
      };
  }
}

async function connectionKeys(connections: Connections | undefined): Promise<Row> {
  if (connections === undefined) return {};
  const paths = connections.paths.map(({ names, relations, score }) => ({ n: names, r: relations, s: rounded(score, 3) }));
  const count = await tokenCounter();
  const graphTokens = count(JSON.stringify({ paths, entities: connections.entities }));
  const hopTokens = count(JSON.stringify(connections.hops));
  return {
    graph_backend: connections.backend,
    ppr_entities: connections.entities,
    graph_paths: paths,
    graph_context_tokens: graphTokens,
    graph_hop_ball_tokens: hopTokens,
    graph_token_ratio: hopTokens === 0 ? 0 : rounded(graphTokens / hopTokens, 3),
  };
}

/** The answer of `mode=hybrid`. */
export async function shapeHybrid(
  query: string,
  answer: HybridAnswer,
  missing: readonly (readonly string[])[],
  tag: string | undefined,
  { format, maxTokens, compactChars }: Presentation,
): Promise<Answer> {
  const shaped = answer.found.map((found, at) => ({
    ...(format === "compact" ? compactRow(found, compactChars) : verboseRow(found, tag)),
    ...missingKeys(missing[at]),
  }));
  const neighbours = answer.neighbours.map(({ entity, neighbors }) => ({
    entity,
    neighbors: neighbors.map(({ name, relation, importance }) => ({ name, relation, importance: rounded(importance, SHORT_DIGITS) })),
  }));
  const { rows, context, omitted } = await withinBudget(shaped, neighbours, maxTokens);
  const fresh = answer.newSinceStart?.filter((at) => at < rows.length) ?? [];
  return {
    mode: "hybrid",
    query,
    query_class: answer.queryClass,
    results: rows,
    count: rows.length,
    graphrag_context: context,
    ...(omitted === 0
      ? {}
      : { truncated: true, total: shaped.length, next: "ask with a larger max_tokens, a smaller limit or a narrower question" }),
    ...(await connectionKeys(answer.connections)),
    ...missingNote(missing.slice(0, rows.length)),
    ...(fresh.length === 0 ? {} : { new_since_you_started: fresh, new_since_you_started_note: NEW_SINCE_NOTE }),
    ...gateKeys(answer.gate, format),
    ...degradedKeys(answer.degraded),
    ...(answer.peers.length === 0
      ? {}
      : {
          sync_peers: answer.peers.map(({ name, ageSeconds, warning }) => ({
            name,
            ...(ageSeconds === undefined ? {} : { age_seconds: ageSeconds }),
            ...(warning === undefined ? {} : { warning }),
          })),
        }),
  };
}

/** Similarities are single precision: four digits are what they say. */
const SIMILARITY_DIGITS = 4;

/** The answer of `mode=verify`. @param missing what the claim and, behind it, each evidence says of code that is gone */
export async function shapeVerification(
  claim: string,
  v: Verification,
  [ofClaim, ...missing]: readonly (readonly string[])[],
  compactChars: number,
): Promise<Answer> {
  const rows = v.evidence.map(({ id, content, similarity, type, entity, judgment, differs }, at) => {
    const cut = firstChars(content, compactChars);
    return {
      id,
      content: cut,
      similarity: rounded(similarity, SIMILARITY_DIGITS),
      type,
      entity,
      ...(cut === content ? {} : { truncated: true }),
      ...(judgment === undefined
        ? {}
        : {
            verdict: judgment.verdict,
            confidence: rounded(judgment.confidence, SIMILARITY_DIGITS),
            ...(judgment.reason === null ? {} : { reason: judgment.reason }),
            judged_by: judgment.backend,
          }),
      ...(differs === undefined ? {} : { differs }),
      ...missingKeys(missing[at]),
    };
  });
  const page = await fitRows({ rows, total: rows.length, offset: 0, long: "content" });
  return {
    mode: "verify",
    claim,
    ...(ofClaim === undefined || ofClaim.length === 0 ? {} : { claim_not_in_tree: ofClaim }),
    confidence: rounded(v.confidence, SIMILARITY_DIGITS),
    grounding: v.grounding,
    interpretation: v.interpretation,
    evidence: page.rows,
    evidence_count: v.evidence.length,
    judged_by: v.judgedBy,
    verdicts_reached: v.verdictsReached,
    calibrated_accuracy: v.calibratedAccuracy ?? null,
    calibrated_n: v.calibratedN,
    ...(v.verifyId === undefined ? {} : { verify_id: v.verifyId }),
    ...missingNote([...(ofClaim === undefined ? [] : [ofClaim]), ...missing]),
    ...(page.truncated ? { truncated: true, total: page.total } : {}),
    ...(v.tried.length === 0 ? {} : { tried: v.tried }),
    ...(v.degraded.length === 0 ? {} : { degraded: true, degraded_reason: v.degraded.join(" ") }),
  };
}
