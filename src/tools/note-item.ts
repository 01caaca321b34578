/** One memory of a list (`cuba_cronica batch_add`, `cuba_ingesta`). Anything passes here: a bad item is reported, the others go in. */
import { z } from "zod";

/** The fields are those of `cuba_cronica add`; said once, there. */
export const noteItem = z.unknown().meta({
  type: "object",
  required: ["entity_name", "content"],
  properties: {
    entity_name: { type: "string" },
    content: { type: "string" },
    observation_type: { type: "string" },
    source: { type: "string" },
    trust: { type: "string", enum: ["quarantined"] },
  },
});

/** The same item where its schema stands beside the one above in every listing: the description of the list says so. */
export const sameNoteItem = z.unknown().meta({ type: "object" });
