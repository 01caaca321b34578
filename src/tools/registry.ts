/** Every tool of the product, in catalogue order, the meta tools last. Listings, counts, documents and tests derive from this array. */
import analytics from "./analytics.ts";
import artifacts from "./artifacts.ts";
import audit from "./audit.ts";
import calibration from "./calibration.ts";
import callTool from "./call.ts";
import compaction from "./compaction.ts";
import context from "./context.ts";
import contradictions from "./contradictions.ts";
import decisions from "./decisions.ts";
import type { Tool } from "./define.ts";
import discover from "./discover.ts";
import entities from "./entities.ts";
import feedback from "./feedback.ts";
import forget from "./forget.ts";
import gaps from "./gaps.ts";
import hypotheses from "./hypotheses.ts";
import ingest from "./ingest.ts";
import judge from "./judge.ts";
import libraryDocs from "./library-docs.ts";
import maintenance from "./maintenance.ts";
import observations from "./observations.ts";
import pastErrors from "./past-errors.ts";
import procedures from "./procedures.ts";
import projects from "./projects.ts";
import relations from "./relations.ts";
import reportError from "./report-error.ts";
import resolveError from "./resolve-error.ts";
import search from "./search.ts";
import sessions from "./sessions.ts";
import triggers from "./triggers.ts";
import whoami from "./whoami.ts";
import workingMemory from "./working-memory.ts";

export const tools: readonly Tool[] = [
  entities,
  observations,
  relations,
  ingest,
  search,
  reportError,
  resolveError,
  pastErrors,
  sessions,
  decisions,
  projects,
  compaction,
  procedures,
  gaps,
  hypotheses,
  contradictions,
  judge,
  triggers,
  calibration,
  maintenance,
  feedback,
  analytics,
  forget,
  audit,
  workingMemory,
  whoami,
  artifacts,
  context,
  discover,
  callTool,
];

/** Tools that exist only where a person switched them on: elsewhere they are not listed, not found and cannot be called. */
export const optionalTools = { docs: libraryDocs } as const;

/** Every tool of this configuration, the meta tools last. */
export function catalogueOf(on: Readonly<Record<keyof typeof optionalTools, boolean>>): readonly Tool[] {
  const more = on.docs ? [optionalTools.docs] : [];
  return more.length === 0
    ? tools
    : [...tools.filter((tool) => tool.profile !== "meta"), ...more, ...tools.filter((tool) => tool.profile === "meta")];
}
