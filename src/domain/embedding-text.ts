/** The text a vector is made of, and the label that says so. Everything that stores or compares vectors goes through here. */

/**
 * Version of the text form below. Part of every stored label, so a change of the form makes old vectors visible as stale (`reembed`).
 * Form chosen by measurement (`retrieval.md` §5.2): nDCG@10 on LoCoMo, vector arm alone: bare .161, `[type:name] text` .335, `name (type): text` .467.
 */
const TEXT_FORM = "name-type-1";

/**
 * The text embedded for a stored observation, episode or chunk, without the model's prefix (the embedder adds it by role).
 * `contextualText("Postgres", "tool", "needs a restart")` → `Postgres (tool): needs a restart`.
 */
export const contextualText = (entityName: string, entityType: string, text: string): string => `${entityName} (${entityType}): ${text}`;

/** What stands in `embedding_model` beside a vector: `multilingual-e5-small/name-type-1`. */
export const embeddingLabel = (modelName: string): string => `${modelName}/${TEXT_FORM}`;
