/** The call context: made once per call by the edge, frozen, passed as the first argument all the way down. */
import type { Deadline } from "./deadline.ts";
import type { Logger } from "./logger.ts";

/** `label[@machine][::session]` (`cli-daemon.md` §4.4): the key under which a caller's state is kept. */
export type ClientKey = string;

/** Who is asking. `owner`: full scope; `peer`: another machine, five verbs; `user`: a principal of `brain_principals`; `system`: our own timers. */
export type Principal =
  | { readonly kind: "owner" }
  | { readonly kind: "peer"; readonly id: string }
  | { readonly kind: "user"; readonly id: string }
  | { readonly kind: "system"; readonly id: string };

/**
 * Which rows a call sees. `project`: only rows of that project. `none`: no active project, reads unfiltered, writes unscoped.
 * `everything`: project scoping is switched off on purpose (kill switch, maintenance over all projects).
 */
export type Scope = { readonly kind: "project"; readonly id: string } | { readonly kind: "none" } | { readonly kind: "everything" };

/** What belongs to a client or to the whole memory, whatever project is active. */
export const everywhere: Scope = { kind: "everything" };

/** The caller's open working session (`cuba_jornada start`). */
export interface SessionRef {
  readonly id: string;
  readonly startedAt: string;
}

/** Asks the client's own model; present only inside a request of a client that announced `sampling`. */
export interface Sampling {
  complete(request: { readonly prompt: string; readonly maxTokens: number }, signal: AbortSignal): Promise<string>;
}

/** Progress towards the client; does nothing where the client sent no token. `done` and `total` in the same unit. */
export type Progress = (done: number, total?: number, message?: string) => void;

export interface CallContext {
  /** In every log line of this call. */
  readonly id: string;
  readonly client: ClientKey;
  /** The client declared itself or sent a protocol session, so state may be kept under its key; never somebody else's. */
  readonly bound: boolean;
  readonly principal: Principal;
  readonly scope: Scope;
  readonly session: SessionRef | undefined;
  readonly deadline: Deadline;
  /** Reaches SQL, fetch and ONNX runs, not only the wait. */
  readonly signal: AbortSignal;
  readonly sampling: Sampling | undefined;
  readonly progress: Progress;
  readonly log: Logger;
}

/** What a database transaction needs to know of the call. */
export type CallScope = Pick<CallContext, "principal" | "scope" | "signal">;

/** The project that a write is stored under: its id, or null where no project is active. */
export function projectOf(scope: Scope): string | null {
  return scope.kind === "project" ? scope.id : null;
}
