/** Every tool of the product, in catalogue order, the meta tools last. Listings, counts, documents and tests derive from this array. */
import callTool from "./call.ts";
import type { Tool } from "./define.ts";
import discover from "./discover.ts";

export const tools: readonly Tool[] = [discover, callTool];
