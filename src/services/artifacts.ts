/** Shared versioned texts of the agents of one daemon (`tools-maintenance.md` §13): optimistic versions, short leases, events after the commit. */
import { createHash } from "node:crypto";
import type { CallContext } from "../kernel/context.ts";
import { conflict, invalid, type MemoryError, notFound, refused } from "../kernel/errors.ts";
import type { Steps } from "../kernel/steps.ts";
import type { Database, Tx } from "../store/port.ts";
import {
  type ArtifactFacts,
  artifactContent,
  artifactCount,
  artifactList,
  artifactSlice,
  artifactToChange,
  insertArtifact,
  leaseArtifact,
  releaseArtifact,
  updateArtifact,
} from "../store/queries/artifacts.ts";
import type { Page } from "./observations/observations.ts";
import { inTurns, type PaceOfCall } from "./pace.ts";

export type { ArtifactFacts } from "../store/queries/artifacts.ts";

/** Longest content, bytes. */
export const CONTENT_BYTES = 2_097_152;

/** A patch whose text changed under it is tried so often; beyond, the caller hears of the other version. Of n patches at once the last needs n tries at most. */
const MOST_PATCH_TRIES = 10;

export const artifactEvents = ["artifact.updated", "artifact.locked", "artifact.unlocked", "artifact.conflict"] as const;

/** Tells whoever listens; never throws, and nobody waits for it. */
export type Publish = (kind: (typeof artifactEvents)[number], payload: unknown) => void;

export interface Stored {
  readonly id: string;
  readonly path: string;
  readonly version: number;
  readonly hash: string;
  readonly updatedAt: string;
}

export interface Patch {
  readonly path: string;
  readonly find: string;
  readonly replace: string;
  readonly admit: (before: string, after: string) => Steps<void>;
}

export interface Artifacts {
  list(ctx: CallContext, asked: Page & { readonly prefix: string }): Promise<{ rows: readonly ArtifactFacts[]; total: number }>;
  /** At most `chars` characters from `fromChar` on; `total` is the length of the whole. @throws MemoryError `not_found`. */
  get(
    ctx: CallContext,
    asked: { path: string; fromChar: number; chars: number },
  ): Promise<ArtifactFacts & { readonly slice: string; readonly total: number }>;
  /** @param baseVersion the version that was edited; undefined or 0 creates. @throws MemoryError `conflict` naming the current version, or who holds the lease. */
  put(ctx: CallContext, written: { path: string; content: string; baseVersion: number | undefined }): Promise<Stored>;
  /** Replaces the one place where `find` stands. @param admit looks at the content before and after, in steps, and throws where it may not be stored. */
  patch(ctx: CallContext, patch: Patch): Promise<Stored>;
  /** Takes or renews a lease. @throws MemoryError `refused` for a client that cannot be told from others. */
  lock(
    ctx: CallContext,
    path: string,
    ttlSeconds: number,
  ): Promise<{ readonly version: number; readonly lockedBy: string; readonly lockUntil: string }>;
  /** The holder's own, or one that has run out. */
  unlock(ctx: CallContext, path: string): Promise<void>;
}

export interface ArtifactsParts {
  readonly db: Database;
  readonly publish: Publish;
  readonly paceOf: PaceOfCall;
}

const hashOf = (content: string) => createHash("sha256").update(content).digest("hex");

/** Who acts: the client's whole key, so that two windows of one editor are two. */
const actorOf = (ctx: CallContext) => (ctx.bound ? ctx.client : "anonymous");

const isHeldByOther = (ctx: CallContext, { lockedBy }: ArtifactFacts) => lockedBy !== null && (lockedBy !== actorOf(ctx) || !ctx.bound);

const missing = (path: string) =>
  notFound("artifact", path, {
    where: "(within current project scope)",
    next: "Nothing was written. cuba_artefacto action=list shows what there is.",
  });

const held = (path: string, { lockedBy, lockUntil }: ArtifactFacts) =>
  conflict(`Artifact '${path}' is locked by ${lockedBy} until ${lockUntil}. Nothing was written. Wait, or ask its holder to unlock it.`, {
    data: { locked_by: lockedBy, lock_until: lockUntil },
  });

const otherVersion = (path: string, current: Pick<ArtifactFacts, "version" | "hash">, base: number | undefined) =>
  conflict(
    base === undefined
      ? `Artifact '${path}' exists at version ${current.version}. Nothing was written. Get it, then put with base_version: ${current.version}.`
      : `Artifact '${path}' is at version ${current.version}, not ${base}. Nothing was written. Get it, put your change into it and try again with base_version: ${current.version}.`,
    { field: "base_version", data: { current_version: current.version, current_hash: current.hash } },
  );

/** Where a text stands in another, overlaps included; two places are enough to know that it is not unique. */
function placesOf(find: string, content: string): number[] {
  const places: number[] = [];
  for (let at = content.indexOf(find); at !== -1; at = content.indexOf(find, at + 1)) places.push(at);
  return places;
}

type Put =
  | { readonly kind: "stored"; readonly stored: Stored }
  | { readonly kind: "conflict"; readonly current: Pick<ArtifactFacts, "version" | "hash">; readonly error: MemoryError }
  | { readonly kind: "refused"; readonly error: MemoryError };

export function createArtifacts({ db, publish, paceOf }: ArtifactsParts): Artifacts {
  const write = async (
    tx: Tx,
    ctx: CallContext,
    { path, content, baseVersion }: { path: string; content: string; baseVersion: number | undefined },
  ): Promise<Put> => {
    const { scope } = ctx;
    const hash = hashOf(content);
    const known = await tx.first(artifactToChange({ path, scope }));
    if (known === undefined) {
      if (baseVersion !== undefined && baseVersion !== 0) return { kind: "refused", error: missing(path) };
      const made = await tx.first(insertArtifact({ path, scope, content, hash, client: actorOf(ctx) }));
      if (made !== undefined) return { kind: "stored", stored: { ...made, path, hash } };
      const first = await tx.first(artifactToChange({ path, scope }));
      if (first === undefined)
        return {
          kind: "refused",
          error: conflict(`Artifact '${path}' came and went while it was being written. Nothing was written. Try again.`),
        };
      return { kind: "conflict", current: first, error: otherVersion(path, first, baseVersion) };
    }
    if (isHeldByOther(ctx, known)) return { kind: "refused", error: held(path, known) };
    if (baseVersion === undefined) return { kind: "refused", error: otherVersion(path, known, undefined) };
    if (baseVersion !== known.version) return { kind: "conflict", current: known, error: otherVersion(path, known, baseVersion) };
    const stored = await tx.first(updateArtifact({ id: known.id, content, hash, client: actorOf(ctx) }));
    if (stored === undefined) throw new Error("a locked row was not updated");
    return { kind: "stored", stored: { ...stored, path, hash } };
  };

  /** @throws what kept it from being stored */
  const settle = (ctx: CallContext, path: string, baseVersion: number | undefined, result: Put): Stored => {
    const about = { path, by: actorOf(ctx) };
    if (result.kind === "stored") {
      publish("artifact.updated", { ...about, version: result.stored.version, content_hash: result.stored.hash });
      return result.stored;
    }
    if (result.kind === "conflict")
      publish("artifact.conflict", { ...about, base_version: baseVersion ?? 0, current_version: result.current.version });
    throw result.error;
  };

  /** The text with the one place replaced. */
  const patched = (known: { readonly content: string; readonly version: number }, { path, find, replace }: Patch): string => {
    const [place, ...more] = placesOf(find, known.content);
    if (place === undefined || more.length > 0)
      throw invalid(
        place === undefined
          ? `find does not stand in '${path}' (version ${known.version}), 0 occurrences. Nothing was written. Get it and copy the text exactly.`
          : `find stands in '${path}' more than once: ${more.length + 1} occurrences. Nothing was written. Take more of the text around it.`,
        { field: "find", data: { occurrences: place === undefined ? 0 : more.length + 1 } },
      );
    const content = known.content.slice(0, place) + replace + known.content.slice(place + find.length);
    if (Buffer.byteLength(content) > CONTENT_BYTES)
      throw invalid(`'${path}' would have more than ${CONTENT_BYTES} bytes. Nothing was written. Split it into several artifacts.`, {
        field: "replace",
      });
    return content;
  };

  return {
    list: (ctx, { prefix, ...page }) =>
      db.read(ctx, async (tx) => ({
        rows: await tx.all(artifactList({ prefix, scope: ctx.scope, ...page })),
        total: (await tx.first(artifactCount({ prefix, scope: ctx.scope })))?.count ?? 0,
      })),

    async get(ctx, asked) {
      const found = await db.read(ctx, (tx) => tx.first(artifactSlice({ ...asked, scope: ctx.scope })));
      if (found === undefined) throw missing(asked.path);
      const { chars: total, ...facts } = found;
      return { ...facts, total };
    },

    put: async (ctx, written) => settle(ctx, written.path, written.baseVersion, await db.write(ctx, (tx) => write(tx, ctx, written))),

    async patch(ctx, patch) {
      const { path } = patch;
      for (let tries = 1; ; tries++) {
        const known = await db.read(ctx, (tx) => tx.first(artifactContent({ path, scope: ctx.scope })));
        if (known === undefined) throw missing(path);
        const content = patched(known, patch);
        await inTurns(paceOf(ctx.id), ctx.signal, patch.admit(known.content, content));
        const result = await db.write(ctx, (tx) => write(tx, ctx, { path, content, baseVersion: known.version }));
        // Somebody else wrote between the two: the place is looked for again in what stands there now.
        if (result.kind !== "conflict" || tries === MOST_PATCH_TRIES) return settle(ctx, path, known.version, result);
      }
    },

    async lock(ctx, path, ttlSeconds) {
      if (!ctx.bound)
        throw refused(
          "This client declared no identity, so its lock could not be told from another's. Nothing was locked. Send the header Mcp-Client-Id.",
        );
      const lockedBy = actorOf(ctx);
      const lease = await db.write(ctx, async (tx) => {
        const known = await tx.first(artifactToChange({ path, scope: ctx.scope }));
        if (known === undefined) throw missing(path);
        if (isHeldByOther(ctx, known)) throw held(path, known);
        const leased = await tx.first(leaseArtifact({ id: known.id, client: lockedBy, ttlSeconds }));
        if (leased === undefined) throw new Error("a locked row was not updated");
        return { version: known.version, lockedBy, lockUntil: leased.lockUntil };
      });
      publish("artifact.locked", { path, locked_by: lockedBy, lock_until: lease.lockUntil });
      return lease;
    },

    async unlock(ctx, path) {
      await db.write(ctx, async (tx) => {
        const known = await tx.first(artifactToChange({ path, scope: ctx.scope }));
        if (known === undefined) throw missing(path);
        if (isHeldByOther(ctx, known)) throw held(path, known);
        await tx.run(releaseArtifact(known.id));
      });
      publish("artifact.unlocked", { path, by: actorOf(ctx) });
    },
  };
}
