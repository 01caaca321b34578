/** From a connection to who is calling, which session is open for them and which project they work in. */
import { cleanLabel, cleanName } from "../../domain/names.ts";
import { identityCandidates, isRepositoryIdentity, projectName, rootDirectory } from "../../domain/projects.ts";
import type { ClientKey, Principal, Scope, SessionRef } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Database, RowOf, Tx } from "../../store/port.ts";
import {
  identitiesOfProject,
  lockNewProjects,
  projectsByIdentity,
  projectsWithId,
  recordIdentity,
  touchProject,
  upsertProject,
} from "../../store/queries/projects.ts";
import { openSessionOf } from "../../store/queries/sessions.ts";
import type { ClientProjects } from "./client-projects.ts";
import { freeProject } from "./project-names.ts";
import {
  type ActiveProject,
  activeProject,
  asIdentity,
  type ClientRegistry,
  type ClientState,
  type OpenSession,
  type ProjectSource,
  projectsIn,
  scopeOf,
  storedKey,
} from "./registry.ts";
import type { inspectWorkspace } from "./workspace.ts";

/** What the transport knows of a caller; the protocol layer's `PeerInfo` has this shape. */
export interface CallerInfo {
  readonly transport: "stdio" | "bridge" | "http" | "cli";
  readonly principal: Principal;
  readonly label: string | undefined;
  readonly machine: string | undefined;
  readonly protocolSession: string | undefined;
  readonly project: string | undefined;
  readonly directory: string | undefined;
}

export interface Resolved {
  readonly scope: Scope;
  readonly session: SessionRef | undefined;
}

/** One connection's caller. */
export interface Caller {
  /** Declared itself or has a protocol session; else no state is kept under its key. */
  readonly bound: boolean;
  key(): ClientKey;
  /** The name a client gives itself in `initialize`: a label for people, never an identity. */
  introduce(name: string): void;
  /** Takes the answer to `roots/list`. */
  adoptRoots(result: unknown): Promise<void>;
  /** A question to the client is under way; the first call waits a moment for its answer. */
  awaitRoots(asked: Promise<void>): void;
  resolve(signal: AbortSignal): Promise<Resolved>;
  /** A call found its project gone: the next one looks whether its projects are there, however short ago one looked. */
  lookAgain(): void;
  /** The connection is gone. @param end `left`: its client said that it is done; else it may come back under this key. */
  leave(end?: "left"): void;
}

export interface Identity {
  caller(info: CallerInfo): Caller;
  /** The active project of a bound client, as `cuba_proyecto current` and `cuba_whoami` tell it. */
  active(client: ClientKey, bound: boolean): ActiveProject | undefined;
  /** `<machine>/<bind key>`, how a session row names its client. */
  sessionKey(client: ClientKey): string;
}

export interface IdentityParts {
  readonly db: Database;
  readonly registry: ClientRegistry;
  readonly inspect: typeof inspectWorkspace;
  readonly clientProjects: ClientProjects;
  readonly log: Logger;
  /** Label of this machine. */
  readonly nodeName: string;
  readonly home: string | undefined;
  /** False under `CUBA_PROJECT_FILTER=off`. */
  readonly filterOn: boolean;
}

/** A session older than this is not taken up again, hours. */
export const SESSION_ADOPTION_HOURS = 24;
/** How long a client's projects are taken to be there without a look, milliseconds: a look is one row by its key. */
const CHECK_MS = 1_000;
/** How long the first call waits for a client's answer about its roots, milliseconds. */
const ROOTS_WAIT_MS = 500;

export function createIdentity(parts: IdentityParts): Identity {
  const { db, registry, inspect, clientProjects, log, nodeName, home, filterOn } = parts;
  const sessionKey = (client: ClientKey) => storedKey(nodeName, client);

  /** The project a name stands for, made when it is new. */
  const byName = (name: string, source: ProjectSource, signal: AbortSignal): Promise<ActiveProject> =>
    db.write(asIdentity(signal), async (tx) => {
      const project = await required(tx, name);
      return { id: project.id, name: project.name, source, identity: null };
    });

  /**
   * The project of the repository or directory, found by identity, made when it is new (`tools-cognition.md` §1.3).
   * @param also what else its transaction writes
   */
  const byDirectory = async (
    directory: string,
    machine: string | undefined,
    source: ProjectSource,
    signal: AbortSignal,
    also?: (tx: Tx, projectId: string) => Promise<void>,
  ): Promise<ActiveProject | undefined> => {
    const facts = await inspect(directory, machine);
    const name = projectName(facts);
    if (name === "" || facts.top === home) return undefined;
    const candidates = identityCandidates(facts);
    const lasting = candidates.filter(isRepositoryIdentity);
    const toRecord = lasting.length > 0 ? lasting : candidates;
    const recognised = async (tx: Tx): Promise<ActiveProject | undefined> => {
      const known = await tx.all(projectsByIdentity({ identities: [...candidates] }));
      for (const identity of candidates) {
        const hit = known.find((row) => row.identity === identity);
        if (hit === undefined) continue;
        // A path is believed only for a project that no repository claims.
        const others = isRepositoryIdentity(identity) ? [] : await tx.all(identitiesOfProject({ projectId: hit.id }));
        if (lasting.length === 0 && others.some((row) => isRepositoryIdentity(row.identity))) continue;
        for (const each of toRecord) await tx.run(recordIdentity(each, hit.id));
        await tx.run(touchProject(hit.id));
        return { id: hit.id, name: hit.name, source, identity };
      }
      return undefined;
    };
    const project = async (tx: Tx): Promise<ActiveProject> => {
      const found = await recognised(tx);
      if (found !== undefined) return found;
      // Two windows of a new repository on two connections must not make a project each: one makes it, the other then finds it.
      await tx.run(lockNewProjects());
      const meanwhile = await recognised(tx);
      if (meanwhile !== undefined) return meanwhile;
      const made = await freeProject(tx, name);
      for (const each of toRecord) await tx.run(recordIdentity(each, made.id));
      return { id: made.id, name: made.name, source, identity: toRecord[0] ?? null };
    };
    return await db.write(asIdentity(signal), async (tx) => {
      const found = await project(tx);
      await also?.(tx, found.id);
      return found;
    });
  };

  /** Where a connection works before it says more: its own variable, else the directory it was started in. */
  const fallbackOf = async (info: CallerInfo, signal: AbortSignal): Promise<ActiveProject | undefined> => {
    if (info.project !== undefined && info.project.trim() !== "")
      return await byName(cleanName(info.project, "CUBA_PROJECT"), "env", signal);
    const directory = info.directory === undefined ? undefined : rootDirectory(info.directory, home);
    return directory === undefined ? undefined : await byDirectory(directory, info.machine, "directory", signal);
  };

  /** Takes up what an earlier process left for this client: the session that is open, and the project it chose. */
  const adopt = async (key: ClientKey, state: ClientState, signal: AbortSignal) => {
    const { session, kept } = await db.read(asIdentity(signal), async (tx) => ({
      session: await tx.first(openSessionOf({ clientKey: sessionKey(key), maxAgeHours: SESSION_ADOPTION_HOURS })),
      kept: state.outlives ? await clientProjects.kept(tx, key) : {},
    }));
    // Another call of this client was faster, and may have changed it since. Where reading failed the next call tries again.
    if (state.adopted) return;
    state.adopted = true;
    state.session ??= session === undefined ? undefined : openSession(session);
    state.switched ??= kept.switch;
    state.fallback ??= kept.root === undefined ? undefined : { ...kept.root, source: "root", identity: null };
    if (kept.switch !== undefined || kept.root !== undefined) clientProjects.seen(key);
  };

  /**
   * Another process on the same server renamed a project, or merged it into another: this one would go on reading and writing under what is gone. The
   * session's own row and what was kept for the client have moved; they are read again.
   */
  const follow = async (state: ClientState, signal: AbortSignal) => {
    const ids = projectsIn(state);
    if (!db.traits.concurrent || ids.length === 0 || state.lastSeenMs - state.checkedMs < CHECK_MS) return;
    const there = new Map((await db.read(asIdentity(signal), (tx) => tx.all(projectsWithId({ ids })))).map((row) => [row.id, row]));
    state.checkedMs = state.lastSeenMs;
    for (const project of there.values()) registry.repoint(project.id, project);
    const isGone = (project: { readonly id: string } | undefined) => project !== undefined && !there.has(project.id);
    if (isGone(state.session?.project)) state.session = undefined;
    if (isGone(state.switched)) state.switched = undefined;
    if (isGone(state.fallback)) state.fallback = undefined;
    if (there.size === ids.length) return;
    state.adopted = false;
    state.located = false;
  };

  function caller(info: CallerInfo): Caller {
    const label = cleanLabel(info.label ?? "");
    const bound = info.transport !== "http" || label !== "" || info.protocolSession !== undefined;
    let name = label === "" ? "anonymous" : label;
    let declared = name !== "anonymous";
    let rootsAsked: Promise<void> | undefined;
    let settling: Promise<void> | undefined;
    /** Directory of the client's first root. */
    let root: string | undefined;
    const outlives = info.transport === "bridge" || info.transport === "http";

    const key = () =>
      `${name}${info.machine === undefined ? "" : `@${info.machine}`}${info.protocolSession === undefined ? "" : `::${info.protocolSession}`}`;

    // A bridge is asked for its roots again; over HTTP there is no way to ask.
    const keepRoot = (tx: Tx, id: string) => clientProjects.keep(tx, key(), "root", id);
    const atRoot = (directory: string, signal: AbortSignal) =>
      byDirectory(directory, info.machine, "root", signal, info.transport === "http" ? keepRoot : undefined);

    const settle = async (state: ClientState, signal: AbortSignal) => {
      if (rootsAsked !== undefined) await Promise.race([rootsAsked, Bun.sleep(ROOTS_WAIT_MS)]);
      rootsAsked = undefined;
      await follow(state, signal);
      if (!state.located && filterOn) {
        const found = root === undefined ? await fallbackOf(info, signal) : await atRoot(root, signal);
        state.located = true;
        state.fallback ??= found;
      }
      if (!state.adopted) await adopt(key(), state, signal);
    };
    const disconnect = info.transport === "http" ? () => {} : registry.connect(key);

    return {
      bound,
      key,
      introduce(given) {
        const clean = cleanLabel(given);
        if (declared || clean === "") return;
        name = clean;
        declared = true;
      },
      awaitRoots(asked) {
        rootsAsked = asked;
      },
      async adoptRoots(result) {
        if (!bound || !filterOn || (info.project !== undefined && info.project.trim() !== "")) return;
        const uri = firstRoot(result);
        const directory = uri === undefined ? undefined : rootDirectory(uri, home);
        if (directory === undefined) return;
        root = directory;
        try {
          const project = await atRoot(directory, new AbortController().signal);
          const state = registry.of(key());
          if (project !== undefined) state.fallback = project;
          state.located = true;
        } catch (cause) {
          log.warn("the client's root could not be made a project", { cause: causeChain(cause) });
        }
      },
      async resolve(signal) {
        if (!bound) return { scope: scopeOf(undefined, filterOn), session: undefined };
        const state = registry.of(key());
        state.outlives = outlives;
        // One at a time: two first calls of a client must not make two projects.
        settling = (settling ?? Promise.resolve()).catch(() => {}).then(() => settle(state, signal));
        await settling;
        const { session } = state;
        return {
          scope: scopeOf(activeProject(state, filterOn), filterOn),
          session: session === undefined ? undefined : { id: session.id, startedAt: session.startedAt },
        };
      },
      lookAgain() {
        const state = registry.find(key());
        if (state !== undefined) state.checkedMs = Number.NEGATIVE_INFINITY;
      },
      leave(end) {
        disconnect();
        if (info.transport !== "bridge" && info.transport !== "cli") return;
        // A bridge that comes back has the same connection id and finds session and switch through the database.
        const state = registry.find(key());
        registry.forget(key());
        const choseNothing = state?.adopted === true && state.switched === undefined;
        if (end === "left" && outlives && !choseNothing) clientProjects.forget(key());
      },
    };
  }

  return {
    caller,
    sessionKey,
    active: (client, bound) => (bound ? activeProject(registry.of(client), filterOn) : undefined),
  };
}

function openSession(row: RowOf<typeof openSessionOf>): OpenSession {
  const { id, startedAt, projectId, projectName } = row;
  return { id, startedAt, project: projectId === null || projectName === null ? undefined : { id: projectId, name: projectName } };
}

/** Upserts a project by name. */
async function required(tx: Tx, name: string): Promise<{ readonly id: string; readonly name: string }> {
  const project = await tx.first(upsertProject({ name }));
  if (project === undefined) throw new Error("an upsert returned no row");
  return project;
}

/** The first root of a `roots/list` answer: clients list the working directory first. */
function firstRoot(result: unknown): string | undefined {
  const roots: unknown = typeof result === "object" && result !== null ? Reflect.get(result, "roots") : undefined;
  const first: unknown = Array.isArray(roots) ? roots[0] : undefined;
  const uri: unknown = typeof first === "object" && first !== null ? Reflect.get(first, "uri") : undefined;
  return typeof uri === "string" ? uri : undefined;
}
