/** A row that an arm found, and the one order of all rankings: best score first, then id (`ties.ts` puts the newest first). */
export interface Hit {
  readonly id: string;
  readonly score: number;
}

export const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
export const byScoreThenId = (a: Hit, b: Hit): number => b.score - a.score || byId(a, b);
