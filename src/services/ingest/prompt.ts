/** What a model is asked when it reads a text for what lasts (`tools-graph.md` §4.4). */
import { relationTypes } from "../../domain/graph/edges.ts";
import { redact } from "../../kernel/secrets.ts";
import { dataRules, fenced } from "../judge/prompts.ts";
import { observationTypes } from "../observations/kinds.ts";

/** Redacted whatever the caller allows: storing is its choice, sending to a third party is not. */
export const extractionPrompt = (text: string, hint: string | undefined, nonce: string): string =>
  [
    "Write down what the TEXT says that will still matter in a month: decisions with their reason, lessons, errors with their fixes, preferences, key facts. Leave out greetings, progress and what holds for today only.",
    dataRules(nonce),
    `A fact is one sentence that can be understood by itself, in the language of the text, about one named thing (entity_name). Nothing that the text does not say. observation_type is one of ${observationTypes.join(", ")}.`,
    `A relation links two named things, and only where the text says so. relation_type is one of ${relationTypes.join(", ")}. Empty lists are a good answer.`,
    ...(hint === undefined ? [] : [`The text is probably about this:\n${fenced("SUBJECT", redact(hint), nonce)}`]),
    fenced("TEXT", redact(text), nonce),
    'Answer with JSON and nothing else: {"facts": [{"entity_name": "…", "content": "…", "observation_type": "…"}], "relations": [{"from": "…", "to": "…", "relation_type": "…"}]}',
  ].join("\n\n");
