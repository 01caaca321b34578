/** One memory of a list (`cuba_cronica batch_add`, `cuba_ingesta`). Anything passes here: a bad item is reported, the others go in. */
import { z } from "zod";
import { observationSources, observationTypes } from "../services/observations/kinds.ts";
import { CONTENT_CHARS, NAME_CHARS } from "./fields.ts";

const shape = (description: string, rest: object) => ({ type: "string", description, ...rest });

export const noteItem = z.unknown().meta({
  type: "object",
  required: ["entity_name", "content"],
  properties: {
    entity_name: shape("as above", { minLength: 1, maxLength: NAME_CHARS }),
    content: shape("as above", { minLength: 1, maxLength: CONTENT_CHARS }),
    observation_type: shape("as above", { enum: observationTypes }),
    source: shape("as above", { enum: observationSources }),
    trust: shape("as above", { enum: ["quarantined"] }),
  },
});
