/**
 * What holds where a caller names nothing, for rules that a command, a tool and the cycle share. Imports nothing: the command line shows these in its
 * help and loads no rule for it (`test/cli/weight.test.ts`).
 */

/** Sessions relate two entities from here on: least NPMI (0 is chance, 1 is always together), and least number of sessions that both are in. */
export const LINK_THRESHOLDS = { threshold: 0.3, minSessions: 2 } as const;

/** Diversification: 1 is relevance only, 0 is difference only. */
export const DIVERSITY_LAMBDA = 0.7;

/** Tokens of what a session starts with, about one page: what a model reads before it knows what it is asked. */
export const RECALL_TOKENS = 900;

/** Two names whose trigrams are more alike than this may be one; 0 to 1. */
export const NEAR_NAMES_ABOVE = 0.7;
