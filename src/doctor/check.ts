/** What a check is: one file each, one array (`registry.ts`). A check reads and judges; it repairs nothing, migrates nothing, downloads nothing. */
import type { GoldenPairs } from "../inference/models/description.ts";
import type { Embedder, Entailment, Reranker } from "../inference/port.ts";
import type { CallScope } from "../kernel/context.ts";
import type { Database } from "../store/port.ts";

export type Status = "ok" | "warn" | "fail";

export interface Verdict {
  readonly status: Status;
  /** What is the case, one line. */
  readonly detail: string;
  /** What to do about it. */
  readonly hint?: string;
}

export interface Finding extends Verdict {
  readonly name: string;
}

export const ok = (detail: string): Verdict => ({ status: "ok", detail });
export const warn = (detail: string, hint?: string): Verdict => ({ status: "warn", detail, ...(hint === undefined ? {} : { hint }) });
export const fail = (detail: string, hint?: string): Verdict => ({ status: "fail", detail, ...(hint === undefined ? {} : { hint }) });

/** State of one migration file, as the runner tells it. */
export interface MigrationFact {
  readonly name: string;
  readonly state: "applied" | "pending" | "edited" | "dirty" | "unknown";
}

export interface ModelPlanFacts {
  readonly state: "runs" | "light" | "off" | "absent";
  readonly reason: string;
}

/** What the memory governor made of the machine; sizes in MiB. */
export interface PlanFacts {
  readonly level: string;
  readonly budgetMb: number;
  readonly committedMb: number;
  readonly readings: {
    readonly availableMb: number;
    readonly cgroupLimitMb: number | undefined;
    readonly vramFreeMb: number | undefined;
    readonly hasCard?: boolean;
    readonly hasCardLibrary?: boolean;
  };
  readonly models: Readonly<Record<"embedder" | "reranker" | "nli", ModelPlanFacts>>;
  readonly rerankerOnCard: boolean;
  readonly card: { readonly capMb: number } | undefined;
}

/** Who judges, as far as a person chose it. */
export interface JudgeFacts {
  readonly choice: string | undefined;
  /** Chat backends that may be asked without a client, in order. */
  readonly chosen: readonly string[];
  readonly problem: string | undefined;
  /** Programs and keys that lie there and are nobody's choice. */
  readonly lying: readonly string[];
}

/** What the owner of the database knows: the daemon, or a process that found none. */
export interface OwnerFacts {
  readonly mode: { readonly name: string; readonly description: string };
  /** Where the memories are, without a password. */
  readonly place: string;
  readonly isEmbedded: boolean;
  /** Names and texts of variables that could not be used as they are. */
  readonly configurationWarnings: readonly string[];
  /** `openFiles`: how many this process may have; undefined where the system does not say. */
  readonly machine: {
    readonly totalMb: number;
    readonly availableMb: number;
    readonly cores: number;
    readonly openFiles: number | undefined;
  };
  /** The memory plan that this process started with. */
  readonly plan: PlanFacts;
  readonly reranker: Reranker;
  readonly rerank: { readonly byDefault: boolean; readonly depth: number };
  readonly entailment: Entailment;
  readonly judge: JudgeFacts;
  /** Longest load of one model with `--deep`, milliseconds. */
  readonly deepMs: number;
  readonly auditKey: { readonly isSet: boolean };
  /** The server identifies callers as principals. */
  readonly identifiesCallers: boolean;
  readonly embedder: Embedder;
  /** Proof that the model still gives the vectors it gave; undefined where it has no golden vector. Loads the model. */
  readonly goldenCosine: ((signal: AbortSignal) => Promise<number>) | undefined;
  /** Pairs whose values are known; undefined where the model has none. */
  readonly goldenPairs: { readonly reranker: GoldenPairs | undefined; readonly nli: GoldenPairs | undefined };
  /** Undefined where it could not be opened; `reason` says why. `isNew`: there is none yet, which is no fault. */
  readonly database:
    | { readonly db: Database; readonly migrations: () => Promise<readonly MigrationFact[]> }
    | { readonly db: undefined; readonly reason: string; readonly isNew: boolean };
  /** Tables of the shipped schema. */
  readonly tables: readonly string[];
  /** Load the models and compare their golden vectors. */
  readonly deep: boolean;
  readonly signal: AbortSignal;
}

/** The part of the facts that a check of the open database sees. */
export interface DatabaseFacts extends OwnerFacts {
  readonly db: Database;
  readonly migrations: () => Promise<readonly MigrationFact[]>;
  /** Sees every project. */
  readonly scope: CallScope;
}

/** A process of ours that runs. */
export interface OurProcess {
  readonly pid: number;
  readonly program: string;
  /** It runs an image that has been replaced or deleted since. */
  readonly isStale: boolean;
}

/** Who owns the data directory, as an outsider sees it. */
export type OwnerState =
  | { readonly kind: "none" }
  | {
      readonly kind: "answers";
      readonly pid: number;
      readonly version: string;
      readonly how: "auto" | "serve";
      readonly address: string | undefined;
    }
  /** It holds the lock and does not answer: stopped, starting or overloaded. */
  | { readonly kind: "silent"; readonly pid: number | undefined; readonly version: string | undefined }
  /** A record of a process that is gone; the next starter takes over. */
  | { readonly kind: "dead"; readonly pid: number };

/** What the asking process sees from outside. */
export interface OutsideFacts {
  readonly version: string;
  readonly httpAddress: string;
  /** Asks the address: nobody, one of ours, or another program. */
  readonly probePort: () => Promise<"free" | "ours" | "taken">;
  readonly owner: OwnerState;
  readonly dataDirectory: string;
  readonly processes: () => Promise<readonly OurProcess[] | undefined>;
  /** Why sessions lately began without their memories, newest first. */
  readonly hookFailures: () => readonly { readonly at: string; readonly reason: string }[];
  /** Files that hold a secret and can be read by others. */
  readonly exposedFiles: () => Promise<readonly string[]>;
}

interface Named {
  readonly name: string;
}
export interface OutsideCheck extends Named {
  readonly where: "outside";
  readonly run: (facts: OutsideFacts) => Promise<Verdict>;
}
export interface OwnerCheck extends Named {
  readonly where: "owner";
  readonly run: (facts: OwnerFacts) => Promise<Verdict>;
}
export interface DatabaseCheck extends Named {
  readonly where: "database";
  readonly run: (facts: DatabaseFacts) => Promise<Verdict>;
}
export type Check = OutsideCheck | OwnerCheck | DatabaseCheck;

export const outsideCheck = (name: string, run: OutsideCheck["run"]): OutsideCheck => ({ name, where: "outside", run });
export const ownerCheck = (name: string, run: OwnerCheck["run"]): OwnerCheck => ({ name, where: "owner", run });
export const databaseCheck = (name: string, run: DatabaseCheck["run"]): DatabaseCheck => ({ name, where: "database", run });
