/** Every tool of the product, in catalogue order, the meta tools last. Listings, counts, documents and tests derive from this array. */
import callTool from "./call.ts";
import type { Tool } from "./define.ts";
import discover from "./discover.ts";
import projects from "./projects.ts";
import sessions from "./sessions.ts";
import whoami from "./whoami.ts";

export const tools: readonly Tool[] = [sessions, projects, whoami, discover, callTool];
