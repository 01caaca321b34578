/** What time leaves of memories: the same whether a formula is asked or the cycle has run. */

/** Importance, type, idle days, uses → importance that is left. */
export const fadedImportance: readonly (readonly [importance: number, type: string, idleDays: number, uses: number, left: number])[] = [
  [0.8, "fact", 30, 0, 0.4],
  [0.8, "fact", 30, 9, 0.6485],
  [0.5, "context", 7, 0, 0.25],
  [0.7, "error", 14, 3, 0.5235],
  [0.02, "fact", 365, 0, 0.01],
  [0.6, "lesson", 365, 0, 0.6],
];

/** Initial importance of an episode, its age in days → importance that is left. */
export const agedEpisodes: readonly (readonly [initial: number, days: number, left: number])[] = [
  [0.5, 10, 0.3536],
  [0.5, 30, 0.25],
  [0.5, 90, 0.1581],
  [0.5, 365, 0.0816],
  [0.8, 10, 0.5657],
];
