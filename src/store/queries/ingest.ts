/** What a fact read out of a text may replace. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { query, timestamp, uuid } from "../codecs.ts";
import { fixed, inScope, isServed } from "./predicates.ts";

/** Rows of an entity that a new text is compared with, newest first: what it replaces was written lately, and a busy entity has thousands. */
const COMPARED_ROWS = 200;

/** The served observation of an entity whose words are nearest to a text. */
export const nearestObservation = query(
  z.object({ id: uuid, content: z.string(), createdAt: timestamp, similarity: z.number() }),
  (q: { entityId: string; content: string; scope: Scope }) => sql`
  select n.id, n.content, n.created_at as "createdAt", similarity(n.content, ${q.content}::text)::float8 as similarity
  from (
    select o.id, o.content, o.created_at from brain_observations as o
    where o.entity_id = ${q.entityId}::uuid and ${isServed("o")} and ${inScope("o", q.scope)}
    order by o.created_at desc, o.id
    limit ${fixed(COMPARED_ROWS)}
  ) as n
  order by similarity desc, n.id
  limit 1`,
);
