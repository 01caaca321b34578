/** Similarities and scores are single precision in the database: four digits are what they say. */
export const round = (value: number): number => Math.round(value * 10_000) / 10_000;
