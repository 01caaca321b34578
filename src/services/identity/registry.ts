/**
 * Who is calling and what is open for them: bind key → session, project override, workspace root. In memory; after a restart sessions and
 * what `client-projects.ts` keeps are taken up again from the database (`tools-cognition.md` §1.1–1.3).
 */
import { type CallScope, type ClientKey, everywhere, type Scope, type SessionRef } from "../../kernel/context.ts";

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
  /** The connection's own project was looked for. */
  located: boolean;
  /** What an earlier process left for this client was looked for. */
  adopted: boolean;
  /** It comes back under this key to another process without knowing that it is another: what it chose is kept for that one. */
  outlives: boolean;
  /** When the database was last asked whether its projects are still there, on the clock of `lastSeenMs`. */
  checkedMs: number;
  lastSeenMs: number;
}

/** A caller may invent ids: past this many keys the one seen longest ago goes. */
export const MOST_CLIENTS = 1_000;
/** Idle clients are forgotten after a day. */
export const CLIENT_IDLE_MS = 24 * 3_600_000;

/** A client's key in the database, where several machines may share one. */
export const storedKey = (nodeName: string, client: ClientKey): string => `${nodeName}/${client}`;

/** What is looked up and kept about clients is control plane, whatever project they work in. */
export const asIdentity = (signal: AbortSignal): CallScope => ({
  principal: { kind: "system", id: "identity" },
  scope: everywhere,
  signal,
});

/** Ids of the projects that a client's state names. */
export const projectsIn = ({ session, switched, fallback }: ClientState): readonly string[] => [
  ...new Set([session?.project?.id, switched?.id, fallback?.id].filter((id) => id !== undefined)),
];

export interface ClientRegistry {
  /** State of a bound client, created on first sight; marks it as seen now. */
  of(key: ClientKey): ClientState;
  /** State of a client as it is; undefined where there is none. */
  find(key: ClientKey): ClientState | undefined;
  /** Drops a key and every `key::…` of it. */
  forget(key: ClientKey): void;
  /** Drops what was idle for a day, with every `key::…` of it. An open window is not idle, however long nobody typed in it. */
  sweep(): void;
  keys(): readonly ClientKey[];
  /** A client holds a connection open, under the key it has by then. @returns ends that */
  connect(key: () => ClientKey): () => void;
  /** Clients with state or a connection. */
  clients(): readonly { readonly key: ClientKey; readonly idleMs: number }[];
  /** Every client whose session or switch points at `from` follows the project that took it over. */
  repoint(from: string, to: { readonly id: string; readonly name: string }): void;
}

const unseen = (): ClientState => ({
  session: undefined,
  switched: undefined,
  fallback: undefined,
  located: false,
  adopted: false,
  outlives: false,
  checkedMs: 0,
  lastSeenMs: 0,
});

export function createClientRegistry(now: () => number): ClientRegistry {
  const clients = new Map<ClientKey, ClientState>();
  const connected = new Set<() => ClientKey>();
  const isOf = (key: ClientKey) => (known: ClientKey) => known === key || known.startsWith(`${key}::`);
  return {
    of(key) {
      const state = clients.get(key) ?? unseen();
      state.lastSeenMs = now();
      // Re-inserted, so that the map's order is the order of last sight.
      clients.delete(key);
      clients.set(key, state);
      const oldest = clients.size > MOST_CLIENTS ? clients.keys().next().value : undefined;
      if (oldest !== undefined) clients.delete(oldest);
      return state;
    },
    find: (key) => clients.get(key),
    forget(key) {
      for (const known of [...clients.keys()].filter(isOf(key))) clients.delete(known);
    },
    sweep() {
      const open = new Set([...connected].map((key) => key()));
      const idle = [...clients].filter(([, { lastSeenMs }]) => now() - lastSeenMs >= CLIENT_IDLE_MS);
      for (const [key] of idle) for (const known of [...clients.keys()].filter(isOf(key))) if (!open.has(known)) clients.delete(known);
    },
    keys: () => [...clients.keys()],
    connect(key) {
      connected.add(key);
      return () => connected.delete(key);
    },
    clients() {
      const idle = new Map([...clients].map(([key, { lastSeenMs }]) => [key, now() - lastSeenMs]));
      for (const key of connected) idle.set(key(), 0);
      return [...idle].map(([key, idleMs]) => ({ key, idleMs }));
    },
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
  if (!filterOn) return everywhere;
  return project === undefined ? { kind: "none" } : { kind: "project", id: project.id };
}
