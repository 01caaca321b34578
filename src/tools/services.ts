/** What handlers may call. Each tool takes the two or three it needs; `app/compose.ts` builds them, tests bring their own. */

import type { Tool } from "./define.ts";

export interface Services {
  /** Every tool there is, for the meta tools. */
  readonly catalogue: () => readonly Tool[];
}
