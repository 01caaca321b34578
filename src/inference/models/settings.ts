/** What a model needs to be told besides its weights, merged from its own file, the catalogue and explicit variables. */
import type { EmbeddingDescription, Golden } from "./description.ts";

export type PoolingChoice = EmbeddingDescription["pooling"];

export interface EmbeddingSettings {
  readonly name: string;
  readonly dimensions: number;
  readonly pooling: PoolingChoice;
  readonly queryPrefix: string;
  readonly passagePrefix: string;
  /** In tokens, specials included. */
  readonly maxTokens: number;
  readonly output: string | undefined;
  readonly golden: Golden | undefined;
}

/** Explicit variables, each `undefined` where a person set none. An empty prefix is a value. */
export interface EmbeddingOverrides {
  /** `CUBA_EMBED_MODEL` */
  readonly name?: string | undefined;
  /** `CUBA_EMBEDDING_DIM` */
  readonly dimensions?: number | undefined;
  /** `CUBA_POOLING` */
  readonly pooling?: "mean" | "cls" | undefined;
  /** `CUBA_QUERY_PREFIX` */
  readonly queryPrefix?: string | undefined;
  /** `CUBA_PASSAGE_PREFIX` */
  readonly passagePrefix?: string | undefined;
}

const variableOf: Readonly<Record<keyof EmbeddingOverrides, string>> = {
  name: "CUBA_EMBED_MODEL",
  dimensions: "CUBA_EMBEDDING_DIM",
  pooling: "CUBA_POOLING",
  queryPrefix: "CUBA_QUERY_PREFIX",
  passagePrefix: "CUBA_PASSAGE_PREFIX",
};
const settingNames = ["name", "dimensions", "pooling", "queryPrefix", "passagePrefix"] as const;

export const settingsOf = (description: EmbeddingDescription): EmbeddingSettings => ({
  name: description.name,
  dimensions: description.dimensions,
  pooling: description.pooling,
  queryPrefix: description.query_prefix,
  passagePrefix: description.passage_prefix,
  maxTokens: description.max_tokens,
  output: description.output,
  golden: description.golden,
});

/**
 * Each variable that says something else than the model's own file, as one sentence; undefined where they agree. Two truths about one model give vectors
 * that look right and compare with nothing, so such a model is refused, not guessed.
 */
export function contradiction(settings: EmbeddingSettings, overrides: EmbeddingOverrides): string | undefined {
  const wrong = settingNames.filter((name) => overrides[name] !== undefined && overrides[name] !== settings[name]);
  if (wrong.length === 0) return undefined;
  const parts = wrong.map(
    (name) => `${variableOf[name]}=${JSON.stringify(overrides[name])} where the file says ${JSON.stringify(settings[name])}`,
  );
  return `the model's own memory-industry.json is contradicted: ${parts.join("; ")}. Unset the variable, or install the model it means.`;
}

/** For a directory without a file of its own (a legacy cache): variables over catalogue. */
export const withOverrides = (settings: EmbeddingSettings, overrides: EmbeddingOverrides): EmbeddingSettings => ({
  ...settings,
  name: overrides.name ?? settings.name,
  dimensions: overrides.dimensions ?? settings.dimensions,
  pooling: overrides.pooling ?? settings.pooling,
  queryPrefix: overrides.queryPrefix ?? settings.queryPrefix,
  passagePrefix: overrides.passagePrefix ?? settings.passagePrefix,
});
