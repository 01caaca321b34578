/**
 * What of a client's choice of project outlives this process: its switch and, over HTTP, the root it posted. A client whose daemon was
 * restarted does not know of it, and would go on writing in another project.
 */
import type { ClientKey } from "../../kernel/context.ts";
import type { Database, Tx } from "../../store/port.ts";
import {
  clientsSeen,
  forgetClientProjects,
  type KeptSource,
  keepClientProject,
  keptProjectsOf,
  trimClientProjects,
} from "../../store/queries/client-projects.ts";
import type { Background } from "../background.ts";
import { asIdentity, CLIENT_IDLE_MS, type ClientRegistry, MOST_CLIENTS, storedKey } from "./registry.ts";

const HOUR_MS = 3_600_000;
/** As long as the registry remembers a client. */
const MAX_IDLE_HOURS = CLIENT_IDLE_MS / HOUR_MS;

export type KeptProjects = Readonly<Partial<Record<KeptSource, { readonly id: string; readonly name: string }>>>;

export interface ClientProjects {
  /** Writes a choice in the transaction that makes it. */
  keep(tx: Tx, client: ClientKey, source: KeptSource, projectId: string): Promise<void>;
  /** What an earlier process kept for this client. */
  kept(tx: Tx, client: ClientKey): Promise<KeptProjects>;
  /** The client was taken up again: what it chose is as young as it is. In the background. */
  seen(client: ClientKey): void;
  /** The client is done. In the background. */
  forget(client: ClientKey): void;
  /** Forgets clients that were idle for a day, here and in the database. */
  sweep(): Promise<void>;
}

export interface ClientProjectsParts {
  readonly db: Database;
  readonly registry: ClientRegistry;
  readonly background: Background;
  /** Label of this machine. */
  readonly nodeName: string;
}

export function createClientProjects({ db, registry, background, nodeName }: ClientProjectsParts): ClientProjects {
  const keyOf = (client: ClientKey) => storedKey(nodeName, client);
  const trim = trimClientProjects({ machine: nodeName, maxIdleHours: MAX_IDLE_HOURS, most: MOST_CLIENTS });
  const write = (work: (tx: Tx) => Promise<unknown>) =>
    db.write(asIdentity(new AbortController().signal), async (tx) => void (await work(tx)));

  return {
    async keep(tx, client, source, projectId) {
      await tx.run(keepClientProject({ clientKey: keyOf(client), source, projectId }));
      // Here too: a daemon that stops when idle may never live for an hour, and a caller may invent ids.
      await tx.run(trim);
    },
    async kept(tx, client) {
      const rows = await tx.all(keptProjectsOf({ clientKey: keyOf(client), maxIdleHours: MAX_IDLE_HOURS }));
      return Object.fromEntries(rows.map(({ source, id, name }) => [source, { id, name }]));
    },
    seen: (client) =>
      background.run("client seen again", () => write((tx) => tx.run(clientsSeen([{ clientKey: keyOf(client), idleSecs: 0 }])))),
    forget: (client) => background.run("client left", () => write((tx) => tx.run(forgetClientProjects(keyOf(client))))),
    async sweep() {
      registry.sweep();
      const seen = registry.clients().map(({ key, idleMs }) => ({ clientKey: keyOf(key), idleSecs: idleMs / 1_000 }));
      await write(async (tx) => {
        await tx.run(clientsSeen(seen));
        await tx.run(trim);
      });
    },
  };
}
