/** Clients that differ in project, name and session, as the tools see them that keep something for each. */
import type { TestEngine } from "./engines.ts";
import { graphOver } from "./graph.ts";

export interface Who {
  readonly project?: string;
  readonly client?: string;
  readonly session?: string;
  readonly bound?: boolean;
}

/** @param name of a client that is given none */
export const callersOf =
  (engine: TestEngine, name: string) =>
  ({ project: id, client = name, session, bound = true }: Who = {}) =>
    graphOver(engine.db).caller(id === undefined ? { kind: "none" } : { kind: "project", id }, {
      client,
      bound,
      session: session === undefined ? undefined : { id: session, startedAt: "2026-01-01T00:00:00.000000+00:00" },
    });
