/**
 * Who is calling and what is open for them: bind key → session, project override, workspace root. In memory; sessions are re-adopted
 * from the database after a restart (`tools-cognition.md` §1.1–1.3).
 */
import type { ClientKey, Scope, SessionRef } from "../../kernel/context.ts";

/** Where the active project came from. */
export type ProjectSource = "session" | "switch" | "env" | "root" | "directory";

export interface ActiveProject {
  readonly id: string;
  readonly name: string;
  readonly source: ProjectSource;
  /** `git:…`, `remote:…` or `path:…`; null for a project known by name alone. */
  readonly identity: string | null;
}

export interface OpenSession extends SessionRef {
  readonly project: { readonly id: string; readonly name: string } | undefined;
}

/** What is kept for one bind key. */
export interface ClientState {
  session: OpenSession | undefined;
  /** `cuba_proyecto switch` without a session. */
  switched: { readonly id: string; readonly name: string } | undefined;
  /** Project of the connection: `CUBA_PROJECT`, client root or working directory. */
  fallback: ActiveProject | undefined;
  /** Open sessions of an earlier process were looked for. */
  adopted: boolean;
  lastSeenMs: number;
}

/** A caller may invent ids: past this many keys the one seen longest ago goes. */
const MOST_CLIENTS = 1_000;
/** Idle clients are forgotten after a day. */
export const CLIENT_IDLE_MS = 24 * 3_600_000;

export interface ClientRegistry {
  /** State of a bound client, created on first sight; marks it as seen now. */
  of(key: ClientKey): ClientState;
  /** Drops a key and every `key::…` of it. */
  forget(key: ClientKey): void;
  /** Drops what was idle for a day. */
  sweep(): void;
  keys(): readonly ClientKey[];
  /** Every client whose session or switch points at `from` follows the project that took it over. */
  repoint(from: string, to: { readonly id: string; readonly name: string }): void;
}

export function createClientRegistry(now: () => number): ClientRegistry {
  const clients = new Map<ClientKey, ClientState>();
  const forget = (key: ClientKey) => {
    for (const known of clients.keys()) if (known === key || known.startsWith(`${key}::`)) clients.delete(known);
  };
  return {
    of(key) {
      const state = clients.get(key) ?? { session: undefined, switched: undefined, fallback: undefined, adopted: false, lastSeenMs: 0 };
      state.lastSeenMs = now();
      // Re-inserted, so that the map's order is the order of last sight.
      clients.delete(key);
      clients.set(key, state);
      const oldest = clients.size > MOST_CLIENTS ? clients.keys().next().value : undefined;
      if (oldest !== undefined) clients.delete(oldest);
      return state;
    },
    forget,
    sweep() {
      for (const [key, state] of [...clients]) if (now() - state.lastSeenMs >= CLIENT_IDLE_MS) forget(key);
    },
    keys: () => [...clients.keys()],
    repoint(from, to) {
      for (const state of clients.values()) {
        if (state.session?.project?.id === from) state.session = { ...state.session, project: to };
        if (state.switched?.id === from) state.switched = to;
        if (state.fallback?.id === from) state.fallback = { ...state.fallback, ...to };
      }
    },
  };
}

/** The active project by precedence: session, then switch, then the connection's own; none under the kill switch. */
export function activeProject(state: ClientState | undefined, filterOn: boolean): ActiveProject | undefined {
  if (!filterOn || state === undefined) return undefined;
  if (state.session?.project !== undefined) return { ...state.session.project, source: "session", identity: null };
  if (state.switched !== undefined) return { ...state.switched, source: "switch", identity: null };
  return state.fallback;
}

/** The scope of a call. */
export function scopeOf(project: ActiveProject | undefined, filterOn: boolean): Scope {
  if (!filterOn) return { kind: "everything" };
  return project === undefined ? { kind: "none" } : { kind: "project", id: project.id };
}
