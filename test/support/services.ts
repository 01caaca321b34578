/** Services over a test database, with everything that is not under test real. */
import type { CallContext } from "../../src/kernel/context.ts";
import { noDeadline } from "../../src/kernel/deadline.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createBackground } from "../../src/services/background.ts";
import { createClientProjects } from "../../src/services/identity/client-projects.ts";
import { type CallerInfo, createIdentity } from "../../src/services/identity/identity.ts";
import { createClientRegistry } from "../../src/services/identity/registry.ts";
import { inspectWorkspace } from "../../src/services/identity/workspace.ts";
import { createProjects } from "../../src/services/projects.ts";
import { createReminders } from "../../src/services/reminders.ts";
import { createSessions } from "../../src/services/sessions.ts";
import type { Database } from "../../src/store/port.ts";

/** A process's worth of services; two of them over one database are a process and its successor. */
export function processOver(db: Database, options: { nodeName?: string; filterOn?: boolean; home?: string; now?: () => number } = {}) {
  const { nodeName = "laptop", filterOn = true, home = "/home/nobody", now = () => 0 } = options;
  const registry = createClientRegistry(now);
  const background = createBackground(silentLogger);
  const clientProjects = createClientProjects({ db, registry, background, nodeName });
  const identity = createIdentity({ db, registry, inspect: inspectWorkspace, clientProjects, log: silentLogger, nodeName, home, filterOn });
  const reminders = createReminders({ db });
  const sessions = createSessions({ db, registry, identity, reminders });
  const projects = createProjects({ db, registry, identity, clientProjects, filterOn });

  /** A client of this process: `context()` is what its next call runs in. */
  const client = (given: Partial<CallerInfo> = {}) => {
    const caller = identity.caller({
      transport: "bridge",
      principal: { kind: "owner" },
      label: "cursor",
      machine: undefined,
      protocolSession: "one",
      project: undefined,
      directory: undefined,
      ...given,
    });
    const context = async (): Promise<CallContext> => {
      const signal = new AbortController().signal;
      const { scope, session } = await caller.resolve(signal);
      return {
        id: "test",
        client: caller.key(),
        bound: caller.bound,
        principal: { kind: "owner" },
        scope,
        session,
        deadline: noDeadline,
        signal,
        sampling: undefined,
        progress: () => {},
        log: silentLogger,
      };
    };
    return { caller, context };
  };
  return { registry, identity, clientProjects, sessions, projects, client, settled: () => background.drain(10_000) };
}
