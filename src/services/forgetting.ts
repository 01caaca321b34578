/**
 * The right to be forgotten (`tools-maintenance.md` §8): an entity, everything that hangs from it, and every other row of its project that names it. One
 * transaction, planned by the same code that carries it out. Irreversible.
 */
import { likePatterns, lowered, mentionOf } from "../domain/mentions.ts";
import { cleanName } from "../domain/names.ts";
import type { CallContext } from "../kernel/context.ts";
import { conflict } from "../kernel/errors.ts";
import type { Database, Tx } from "../store/port.ts";
import { asBuilder } from "../store/queries/code-builds.ts";
import {
  aliasesOf,
  cascadeCounts,
  eraseEntity,
  eraseRows,
  type Forgotten,
  type HolderTable,
  holders,
  lockEntity,
  mayMention,
  observationIdsOf,
  othersThatMayMention,
  saveVersions,
  versionsThatMayMention,
} from "../store/queries/forgetting.ts";
import type { Audit } from "./audit.ts";
import { findEntity } from "./entities/resolve.ts";

/** Ids shown of each table. */
const SAMPLES = 5;
/** Old texts that are taken out of rows which stay. */
const HISTORY = "previous_versions";

export type Counts = Readonly<Record<string, number>>;

/** What would go, or what went. */
export interface Erasure {
  /** The entity as it is called; undefined where none has the name. */
  readonly entity: string | undefined;
  /** Rows by table; tables without one are left out. */
  readonly counts: Counts;
  readonly samples: Readonly<Record<string, readonly string[]>>;
  /** Rows of others that speak of it and stay. */
  readonly remaining: readonly string[];
}

export interface Forgetting {
  /** Changes nothing. */
  plan(ctx: CallContext, name: string): Promise<Erasure>;
  /** @param expected counts of a plan. @throws MemoryError `conflict` where they no longer hold; nothing was erased then */
  forget(ctx: CallContext, name: string, expected: Counts | undefined): Promise<Erasure>;
}

export interface ForgettingParts {
  readonly db: Database;
  readonly audit: Pick<Audit, "record">;
  /** Called once rows are gone: nothing computed from them may be kept in memory. */
  readonly onErased: () => void;
}

interface Plan extends Erasure {
  readonly what: Forgotten;
  readonly rows: ReadonlyMap<HolderTable, readonly string[]>;
  readonly histories: readonly { readonly id: string; readonly versions: readonly unknown[] }[];
}

const nothing: Erasure = { entity: undefined, counts: {}, samples: {}, remaining: [] };
const tables = Object.keys(holders).filter((name): name is HolderTable => Object.hasOwn(holders, name));

export function createForgetting({ db, audit, onErased }: ForgettingParts): Forgetting {
  /** @param lock keeps what was found as it is until the transaction ends. */
  const look = async (tx: Tx, ctx: CallContext, rawName: string, lock: boolean): Promise<Plan | undefined> => {
    // What a build of code has not shown yet is forgotten like the rest.
    await tx.first(asBuilder({ mode: "on" }));
    const entity = await findEntity(tx, cleanName(rawName, "entity_name"), ctx.scope, { normalized: false });
    if (entity === undefined) return undefined;
    const entityId = entity.id;
    // Somebody else erased it while this waited: what has the name now, if anything, is another entity.
    if (lock && (await tx.first(lockEntity({ entityId }))) === undefined) return await look(tx, ctx, rawName, lock);
    const names = [entity.name, ...(await tx.all(aliasesOf({ entityId }))).map((alias) => alias.name)];
    const isMention = mentionOf(names);
    const what: Forgotten = {
      entityId,
      projectId: entity.projectId,
      observationIds: (await tx.all(observationIdsOf({ entityId }))).map((row) => row.id),
      names: names.flatMap(lowered),
      patterns: likePatterns(names),
    };
    const counts = new Map<string, number>();
    const samples: Record<string, readonly string[]> = {};
    const count = (name: string, more: number, keys: readonly string[] = []) => {
      if (more === 0) return;
      counts.set(name, (counts.get(name) ?? 0) + more);
      if (keys.length > 0) samples[name] = keys.slice(0, SAMPLES);
    };
    for (const each of await tx.all(cascadeCounts({ what }))) count(each.table, each.count);
    samples.brain_entities = [entityId];
    if (what.observationIds.length > 0) samples.brain_observations = what.observationIds.slice(0, SAMPLES);
    const rows = new Map<HolderTable, readonly string[]>();
    for (const of of tables) {
      const found = (await tx.all(mayMention({ of, what, lock }))).filter((row) => row.belongs || isMention(row.text ?? ""));
      rows.set(
        of,
        found.map((row) => row.row),
      );
      count(
        of,
        found.length,
        found.map((row) => row.key),
      );
    }
    const histories = (await tx.all(versionsThatMayMention({ what }))).flatMap(({ id, versions }) => {
      const kept = versions.filter((version) => !isMention(JSON.stringify(version)));
      return kept.length === versions.length ? [] : [{ id, versions: kept }];
    });
    count(
      HISTORY,
      histories.length,
      histories.map((row) => row.id),
    );
    const remaining = (await tx.all(othersThatMayMention({ what }))).filter((row) => isMention(row.text)).map((row) => row.id);
    return { entity: entity.name, counts: Object.fromEntries([...counts].sort()), samples, remaining, what, rows, histories };
  };

  return {
    plan: (ctx, name) => db.read(ctx, async (tx) => (await look(tx, ctx, name, false)) ?? nothing),

    async forget(ctx, name, expected) {
      const { erasure, erased } = await db.write(ctx, async (tx) => {
        const plan = await look(tx, ctx, name, true);
        if (plan === undefined) return { erasure: nothing, erased: false };
        const { counts } = plan;
        const differs = (table: string) => (expected?.[table] ?? 0) !== (counts[table] ?? 0);
        if (expected !== undefined && [...Object.keys(expected), ...Object.keys(counts)].some(differs))
          throw conflict(
            `What would be erased has changed since the plan: it is ${JSON.stringify(counts)} now. Nothing was erased. Look at the plan again, then pass these counts in expect.`,
            { field: "expect", data: { would_erase: counts } },
          );
        for (const [of, rows] of plan.rows) if (rows.length > 0) await tx.run(eraseRows({ of, rows }));
        for (const history of plan.histories) await tx.run(saveVersions(history));
        await tx.run(eraseEntity({ entityId: plan.what.entityId }));
        await audit.record(tx, "forget.entity", {
          name_sha256: new Bun.CryptoHasher("sha256").update(plan.entity ?? "").digest("hex"),
          erased: counts,
        });
        return { erasure: plan, erased: true };
      });
      if (erased) onErased();
      if (erased) ctx.log.warn("an entity was forgotten", { rows: Object.values(erasure.counts).reduce((sum, count) => sum + count, 0) });
      return { entity: erasure.entity, counts: erasure.counts, samples: erasure.samples, remaining: erasure.remaining };
    },
  };
}
