import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Trust } from "../../domain/trust.ts";
import { query, textArray, timestamp, uuid } from "../codecs.ts";

export interface NewEpisode {
  readonly entityId: string;
  readonly content: string;
  readonly actors: readonly string[];
  readonly artifacts: readonly string[];
  /** Also the value that the decay starts from. */
  readonly importance: number;
  readonly trust: Trust;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly lexical: string;
  readonly sessionId: string | null;
  readonly projectId: string | null;
}

/** Stores what happened; without `startedAt` it happened now. A session that is gone is no session. */
export const insertEpisode = query(
  z.object({ id: uuid, startedAt: timestamp, endedAt: timestamp.nullable() }),
  (q: NewEpisode) => sql`
  insert into brain_episodes
    (entity_id, content, actors, artifacts, importance, initial_importance, trust, started_at, ended_at, lexical, session_id, project_id)
  values (${q.entityId}::uuid, ${q.content}::text, ${textArray(q.actors)}, ${textArray(q.artifacts)}, ${q.importance}::float8,
          ${q.importance}::float8, ${q.trust}::text, coalesce(${q.startedAt}::timestamptz, least(now(), ${q.endedAt}::timestamptz)), ${q.endedAt}::timestamptz,
          ${q.lexical}::text, (select s.id from brain_sessions as s where s.id = ${q.sessionId}::uuid), ${q.projectId}::uuid)
  returning id, started_at as "startedAt", ended_at as "endedAt"`,
);
