/** Four digits of a similarity or a score: single precision in the database says no more, and more would look exact. */
export const round = (value: number): number => Math.round(value * 10_000) / 10_000;
