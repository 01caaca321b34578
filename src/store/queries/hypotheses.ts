/** Entities that may be named as causes. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { query, uuid, uuidArray } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { inScope } from "./predicates.ts";

/** Those of these entities that are in scope and that not only withheld text speaks of. */
export const possibleCauses = query(
  z.object({ id: uuid, entityType: z.string(), importance: z.number() }),
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select e.id, e.entity_type as "entityType", e.importance
  from brain_entities as e
  where e.id = any(${uuidArray(q.ids)}) and ${inScope("e", q.scope)} and ${isVouchedFor("e")}
  order by e.name, e.id`,
);
