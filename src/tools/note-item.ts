/** One memory of a list (`cuba_cronica batch_add`, `cuba_ingesta`). Anything passes here: a bad item is reported, the others go in. */
import { z } from "zod";
import { expectation, jsonSchema } from "./schema.ts";

const item = {
  type: "object",
  required: ["entity_name", "content"],
  properties: {
    entity_name: { type: "string" },
    content: { type: "string" },
    observation_type: { type: "string" },
    source: { type: "string" },
    trust: { type: "string", enum: ["quarantined"] },
  },
} as const;

/** The fields are those of `cuba_cronica add`; said once, there. */
export const noteItem = z.unknown().meta(item);

/** The same item where its schema stands beside the one above in every listing: the description of the list says so. */
export const sameNoteItem = z.unknown().meta({ type: "object", inFull: item });

/** What an item must be, for one that is reported as none. */
export const wantedItem = expectation(jsonSchema(noteItem));
