/** Shared versioned texts. Every statement names the project exactly: without one the unscoped rows are meant, never somebody else's. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { projectOf, type Scope } from "../../kernel/context.ts";
import { int8, query, timestamp, uuid } from "../codecs.ts";
import { ofScope } from "./predicates.ts";

const Facts = z.object({
  id: uuid,
  path: z.string(),
  hash: z.string(),
  version: int8,
  lockedBy: z.string().nullable(),
  lockUntil: timestamp.nullable(),
  updatedAt: timestamp,
  originNode: z.string().nullable(),
});
export type ArtifactFacts = z.output<typeof Facts>;

/** A lease that has run out is none. */
const facts = sql`a.id, a.path, a.content_hash as hash, a.version, case when a.lock_until > now() then a.locked_by end as "lockedBy",
  case when a.lock_until > now() then a.lock_until end as "lockUntil", a.updated_at as "updatedAt", a.origin_node as "originNode"`;

interface ByPath {
  readonly path: string;
  readonly scope: Scope;
}

const at = (q: ByPath) => sql`a.path = ${q.path}::text and ${ofScope("a", q.scope)}`;

interface Listed {
  readonly prefix: string;
  readonly scope: Scope;
}

export const artifactList = query(
  Facts,
  (q: Listed & { limit: number; offset: number }) => sql`
  select ${facts}
  from brain_artifacts as a
  where ${ofScope("a", q.scope)} and starts_with(a.path, ${q.prefix}::text)
  order by a.path collate "C", a.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

export const artifactCount = query(
  z.object({ count: z.int() }),
  (q: Listed) => sql`
  select count(*)::int as count from brain_artifacts as a where ${ofScope("a", q.scope)} and starts_with(a.path, ${q.prefix}::text)`,
);

/** Last changed first. */
export const newestArtifacts = query(
  z.object({ path: z.string(), version: int8, hash: z.string() }),
  (q: { scope: Scope; limit: number }) => sql`
  select a.path, a.version, a.content_hash as hash
  from brain_artifacts as a
  where ${ofScope("a", q.scope)}
  order by a.updated_at desc, a.id
  limit ${q.limit}::int`,
);

/** `slice`: at most `chars` characters from `fromChar` on. */
export const artifactSlice = query(
  Facts.extend({ slice: z.string(), chars: z.int() }),
  (q: ByPath & { fromChar: number; chars: number }) => sql`
  select ${facts}, substr(a.content, ${q.fromChar + 1}::int, ${q.chars}::int) as slice, char_length(a.content) as chars
  from brain_artifacts as a
  where ${at(q)}`,
);

export const artifactContent = query(
  z.object({ version: int8, content: z.string() }),
  (q: ByPath) => sql`select a.version, a.content from brain_artifacts as a where ${at(q)}`,
);

/** The row, locked until the transaction ends. */
export const artifactToChange = query(Facts, (q: ByPath) => sql`select ${facts} from brain_artifacts as a where ${at(q)} for update`);

export interface Written extends ByPath {
  readonly content: string;
  readonly hash: string;
  readonly client: string;
}

const Stored = z.object({ id: uuid, version: int8, updatedAt: timestamp });

/** Two machines both have a client of one name, so the actor of the merge clock carries the node too. */
const actor = (client: string) => sql`(select n.node_id || ':' || ${client}::text from brain_node_identity as n)`;
const thisNode = sql`(select n.node_id::text from brain_node_identity as n)`;

/** Nothing where another writer made it first. */
export const insertArtifact = query(
  Stored,
  (q: Written) => sql`
  insert into brain_artifacts as a (path, project_id, content, content_hash, origin_node, crdt_actor)
  values (${q.path}::text, ${projectOf(q.scope)}::uuid, ${q.content}::text, ${q.hash}::text, ${thisNode}, ${actor(q.client)})
  on conflict on constraint uq_brain_artifacts_project_path do nothing
  returning a.id, a.version, a.updated_at as "updatedAt"`,
);

export const updateArtifact = query(
  Stored,
  (q: Omit<Written, "path" | "scope"> & { id: string }) => sql`
  update brain_artifacts as a
  set content = ${q.content}::text, content_hash = ${q.hash}::text, version = a.version + 1, crdt_counter = a.crdt_counter + 1,
      crdt_actor = ${actor(q.client)}, origin_node = ${thisNode}, updated_at = now()
  where a.id = ${q.id}::uuid
  returning a.id, a.version, a.updated_at as "updatedAt"`,
);

export const leaseArtifact = query(
  z.object({ lockUntil: timestamp }),
  (q: { id: string; client: string; ttlSeconds: number }) => sql`
  update brain_artifacts as a
  set locked_by = ${q.client}::text, lock_until = now() + make_interval(secs => ${q.ttlSeconds}::int)
  where a.id = ${q.id}::uuid
  returning a.lock_until as "lockUntil"`,
);

export const releaseArtifact = (id: string) => sql`
  update brain_artifacts as a set locked_by = null, lock_until = null where a.id = ${id}::uuid`;
