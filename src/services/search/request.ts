/** What a search is asked for, and what it answers. */
import type { ArmName, FusionMode } from "../../domain/retrieval/fusion.ts";
import type { QueryClass } from "../../domain/retrieval/query-analysis.ts";
import type { RowKind } from "../../store/queries/search-filters.ts";
import type { FoundRow } from "../../store/queries/search-rows.ts";
import type { GateOutcome } from "./gate/gate.ts";
import type { Unranked } from "./rerank.ts";

export const searchScopes = ["all", "entities", "observations", "errors"] as const;
export type SearchScope = (typeof searchScopes)[number];
/** Scopes that hold observations: what has vectors, tags and neighbours to bring. */
export const holdsObservations = (scope: SearchScope): boolean => scope === "all" || scope === "observations";

export interface HybridRequest {
  readonly query: string;
  readonly scope: SearchScope;
  /** Rows wanted, 1 to 50. */
  readonly limit: number;
  /** Instants, RFC 3339; undefined = open. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly tag: string | undefined;
  readonly diversify: boolean;
  readonly mmrLambda: number;
  readonly abstainOod: boolean;
  /** Distance from which the gate refuses, instead of what was measured. */
  readonly oodThreshold: number | undefined;
  readonly enableBm25: boolean;
  /** undefined = on where it pays (`retrieval.md` §4.1). */
  readonly rerank: boolean | undefined;
  readonly associative: boolean;
  readonly includeUnscoped: boolean;
  readonly trackAccess: boolean;
}

/** Arms switched off or replaced, for measurements alone; no client can ask for it. */
export interface Ablation {
  readonly noText?: boolean;
  readonly noVector?: boolean;
  /** The third arm ranks by `ts_rank_cd` in place of BM25. */
  readonly coverDensity?: boolean;
  readonly noEntityLeg?: boolean;
  /** In place of the fusion that is configured. */
  readonly fusion?: FusionMode;
  /** The reranker reads only rows that no word arm found. */
  readonly rerankUnfound?: boolean;
  /** Waits for a model that is not loaded yet for as long as the call lasts: what is measured must not depend on who loaded it. */
  readonly patient?: boolean;
  /** The goals of a session that is not there: lifts what they are about. */
  readonly goals?: readonly string[];
}

/** One row of an answer. */
export interface Found {
  readonly kind: RowKind;
  readonly row: FoundRow;
  /** What the rows are ordered by: the fused score, boosted or replaced by later stages. */
  readonly total: number;
  readonly fusedScore: number;
  readonly shares: Readonly<Record<ArmName, number>>;
  /** Scores as the arms gave them, before fusion. */
  readonly raw: { readonly text?: number; readonly cosine?: number; readonly bm25?: number };
  /** The piece of a long observation that lies nearest to the question. */
  readonly chunk?: string;
  readonly sessionBoosted: boolean;
  readonly entityFactoid: boolean;
  readonly associative: boolean;
  readonly pprExpanded: boolean;
}

export interface Neighbours {
  readonly entity: string;
  readonly neighbors: readonly { readonly name: string; readonly relation: string; readonly importance: number }[];
}

/** What could not be done, in sentences for a person; a healthy answer has none. */
export interface Degradation {
  readonly search: readonly string[];
  readonly bm25: string | undefined;
  readonly reranker: Unranked | undefined;
}

export interface PeerNotice {
  readonly name: string;
  readonly ageSeconds: number | undefined;
  readonly warning: string | undefined;
}

/** What a question about connections brings besides rows. */
export interface Connections {
  readonly backend: "postgres";
  readonly entities: readonly string[];
  readonly paths: readonly { readonly names: readonly string[]; readonly relations: readonly string[]; readonly score: number }[];
  /** The plain list of hops that the paths stand in for. */
  readonly hops: readonly string[];
}

export interface HybridAnswer {
  readonly queryClass: QueryClass;
  readonly found: readonly Found[];
  readonly neighbours: readonly Neighbours[];
  readonly connections: Connections | undefined;
  /** Indices of rows that were written after the caller's session began; undefined without a session. */
  readonly newSinceStart: readonly number[] | undefined;
  readonly degraded: Degradation;
  /** What the abstention gate said; undefined where it was not asked for. */
  readonly gate: GateOutcome | undefined;
  readonly peers: readonly PeerNotice[];
}
