/** From a connection to who is calling, which session is open for them and which project they work in. */
import { cleanLabel, cleanName } from "../../domain/names.ts";
import { identityCandidates, isRepositoryIdentity, projectName, rootDirectory } from "../../domain/projects.ts";
import type { CallScope, ClientKey, Principal, Scope, SessionRef } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Database, Tx } from "../../store/port.ts";
import {
  identitiesOfProject,
  lockNewProjects,
  projectsByIdentity,
  recordIdentity,
  touchProject,
  upsertProject,
} from "../../store/queries/projects.ts";
import { openSessionOf } from "../../store/queries/sessions.ts";
import { freeProject } from "./project-names.ts";
import { type ActiveProject, activeProject, type ClientRegistry, type ClientState, type ProjectSource, scopeOf } from "./registry.ts";
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
  /** The connection is gone. */
  leave(): void;
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
  readonly log: Logger;
  /** Label of this machine. */
  readonly nodeName: string;
  readonly home: string | undefined;
  /** False under `CUBA_PROJECT_FILTER=off`. */
  readonly filterOn: boolean;
}

/** A session older than this is not taken up again, hours. */
export const SESSION_ADOPTION_HOURS = 24;
/** How long the first call waits for a client's answer about its roots, milliseconds. */
const ROOTS_WAIT_MS = 500;

export function createIdentity(parts: IdentityParts): Identity {
  const { db, registry, inspect, log, nodeName, home, filterOn } = parts;
  const sessionKey = (client: ClientKey) => `${nodeName}/${client}`;
  const everywhere = (signal: AbortSignal): CallScope => ({
    principal: { kind: "system", id: "identity" },
    scope: { kind: "everything" },
    signal,
  });

  /** The project a name stands for, made when it is new. */
  const byName = (name: string, source: ProjectSource, signal: AbortSignal): Promise<ActiveProject> =>
    db.write(everywhere(signal), async (tx) => {
      const project = await required(tx, name);
      return { id: project.id, name: project.name, source, identity: null };
    });

  /** The project of the repository or directory, found by identity, made when it is new (`tools-cognition.md` §1.3). */
  const byDirectory = async (
    directory: string,
    machine: string | undefined,
    source: ProjectSource,
    signal: AbortSignal,
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
    return await db.write(everywhere(signal), async (tx) => {
      const found = await recognised(tx);
      if (found !== undefined) return found;
      // Two windows of a new repository on two connections must not make a project each: one makes it, the other then finds it.
      await tx.run(lockNewProjects());
      const meanwhile = await recognised(tx);
      if (meanwhile !== undefined) return meanwhile;
      const project = await freeProject(tx, name);
      for (const each of toRecord) await tx.run(recordIdentity(each, project.id));
      return { id: project.id, name: project.name, source, identity: toRecord[0] ?? null };
    });
  };

  /** Where a connection works before it says more: its own variable, else the directory it was started in. */
  const fallbackOf = async (info: CallerInfo, signal: AbortSignal): Promise<ActiveProject | undefined> => {
    if (info.project !== undefined && info.project.trim() !== "")
      return await byName(cleanName(info.project, "CUBA_PROJECT"), "env", signal);
    const directory = info.directory === undefined ? undefined : rootDirectory(info.directory, home);
    return directory === undefined ? undefined : await byDirectory(directory, info.machine, "directory", signal);
  };

  /** Takes up the session that an earlier process left open for this client. */
  const adoptSession = async (key: ClientKey, state: ClientState, signal: AbortSignal) => {
    state.adopted = true;
    const open = await db.read(everywhere(signal), (tx) =>
      tx.first(openSessionOf({ clientKey: sessionKey(key), maxAgeHours: SESSION_ADOPTION_HOURS })),
    );
    if (open === undefined || state.session !== undefined) return;
    const project = open.projectId === null || open.projectName === null ? undefined : { id: open.projectId, name: open.projectName };
    state.session = { id: open.id, startedAt: open.startedAt, project };
  };

  function caller(info: CallerInfo): Caller {
    const label = cleanLabel(info.label ?? "");
    const bound = info.transport !== "http" || label !== "" || info.protocolSession !== undefined;
    let name = label === "" ? "anonymous" : label;
    let declared = name !== "anonymous";
    let rootsAsked: Promise<void> | undefined;
    let settling: Promise<void> | undefined;
    let hasFallback = false;

    const key = () =>
      `${name}${info.machine === undefined ? "" : `@${info.machine}`}${info.protocolSession === undefined ? "" : `::${info.protocolSession}`}`;

    const settle = async (state: ClientState, signal: AbortSignal) => {
      if (rootsAsked !== undefined) await Promise.race([rootsAsked, Bun.sleep(ROOTS_WAIT_MS)]);
      rootsAsked = undefined;
      if (!hasFallback && filterOn) {
        const found = await fallbackOf(info, signal);
        hasFallback = true;
        state.fallback ??= found;
      }
      if (!state.adopted) await adoptSession(key(), state, signal);
    };

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
        try {
          const project = await byDirectory(directory, info.machine, "root", new AbortController().signal);
          if (project !== undefined) registry.of(key()).fallback = project;
          hasFallback = true;
        } catch (cause) {
          log.warn("the client's root could not be made a project", { cause: causeChain(cause) });
        }
      },
      async resolve(signal) {
        if (!bound) return { scope: scopeOf(undefined, filterOn), session: undefined };
        const state = registry.of(key());
        // One at a time: two first calls of a client must not make two projects.
        settling = (settling ?? Promise.resolve()).catch(() => {}).then(() => settle(state, signal));
        await settling;
        const { session } = state;
        return {
          scope: scopeOf(activeProject(state, filterOn), filterOn),
          session: session === undefined ? undefined : { id: session.id, startedAt: session.startedAt },
        };
      },
      leave() {
        // A bridge that comes back has the same connection id and finds its session through the database.
        if (info.transport === "bridge" || info.transport === "cli") registry.forget(key());
      },
    };
  }

  return {
    caller,
    sessionKey,
    active: (client, bound) => (bound ? activeProject(registry.of(client), filterOn) : undefined),
  };
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
