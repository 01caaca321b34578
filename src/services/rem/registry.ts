/** Every phase of the consolidation cycle, in order (`tools-maintenance.md` §18.3). The record, `rem` and the tests derive from this array. */
import type { Phase } from "./phase.ts";
import { autolink } from "./phases/autolink.ts";
import { chunks } from "./phases/chunks.ts";
import { communities } from "./phases/communities.ts";
import { decay } from "./phases/decay.ts";
import { duplicates } from "./phases/duplicates.ts";
import { embeddings } from "./phases/embeddings.ts";
import { episodes } from "./phases/episodes.ts";
import { extraction } from "./phases/extraction.ts";
import { pagerank } from "./phases/pagerank.ts";
import { purge } from "./phases/purge.ts";
import { relations } from "./phases/relations.ts";
import { statistics } from "./phases/statistics.ts";
import { words } from "./phases/words.ts";

export const phases: readonly Phase[] = [
  decay,
  episodes,
  autolink,
  embeddings,
  chunks,
  relations,
  extraction,
  words,
  statistics,
  pagerank,
  communities,
  duplicates,
  purge,
];
