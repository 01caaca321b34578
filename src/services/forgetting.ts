/**
 * The right to be forgotten (`tools-maintenance.md` §8): an entity, everything that hangs from it, and every other row of its project that names it.
 * Irreversible. Who names it is looked for in slices, since that reads every text there is; then one transaction, planned by the same code that carries it
 * out, looks at what was found and at what was written since.
 */
import { likePatterns, lowered, mentionOf, untelling } from "../domain/mentions.ts";
import { cleanName } from "../domain/names.ts";
import type { CallContext } from "../kernel/context.ts";
import { busy, conflict } from "../kernel/errors.ts";
import type { Database, RowOf, Tx } from "../store/port.ts";
import { asBuilder } from "../store/queries/code-builds.ts";
import {
  aliasesOf,
  cascadeCounts,
  changedSince,
  dropVersions,
  eraseEntity,
  eraseRows,
  extent,
  type Forgotten,
  type HolderTable,
  holders,
  lockEntity,
  mayMention,
  type OtherTable,
  observationIdsOf,
  others,
  othersThatMayMention,
  type Places,
  versionsThatMayMention,
} from "../store/queries/forgetting.ts";
import type { Audit } from "./audit.ts";
import { findEntity, type ResolvedEntity } from "./entities/resolve.ts";
import { inSlices, type PaceOfCall } from "./pace.ts";

/** Pages looked through in one transaction. A page holds some twenty short memories; 32 take some 10 ms, and fewer would cost more around than within. */
const PAGES = { first: 32, least: 32, most: 512 };
/** Surveys that an entity may change its names under, before the call is refused. */
const MOST_SURVEYS = 5;
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
  /** Its names that no text was searched for, since they are too short. */
  readonly notSought: readonly string[];
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
  readonly paceOf: PaceOfCall;
}

type Table = HolderTable | OtherTable;

/** Who may speak of an entity, as found before the transaction that acts on it. */
interface Survey {
  readonly entityId: string;
  readonly names: readonly string[];
  readonly horizon: string;
  /** Places of rows. */
  readonly found: ReadonlyMap<Table, readonly string[]>;
}

interface Plan extends Erasure {
  readonly what: Forgotten;
  readonly rows: ReadonlyMap<HolderTable, readonly string[]>;
  readonly histories: readonly Parameters<typeof dropVersions>[0][];
}

const nothing: Erasure = { entity: undefined, counts: {}, samples: {}, remaining: [], notSought: [] };
const tables = Object.keys(holders).filter((name): name is HolderTable => Object.hasOwn(holders, name));
const allTables: readonly Table[] = [...tables, ...others];

const sameNames = (a: readonly string[], b: readonly string[]) => a.length === b.length && a.every((name, at) => name === b[at]);

export function createForgetting({ db, audit, onErased, paceOf }: ForgettingParts): Forgetting {
  const resolve = async (tx: Tx, ctx: CallContext, rawName: string): Promise<ResolvedEntity | undefined> => {
    // What a build of code has not shown yet is forgotten like the rest.
    await tx.first(asBuilder({ mode: "on" }));
    return await findEntity(tx, cleanName(rawName, "entity_name"), ctx.scope, { normalized: false });
  };

  const describe = async (tx: Tx, entity: ResolvedEntity): Promise<{ readonly names: readonly string[]; readonly what: Forgotten }> => {
    const entityId = entity.id;
    const names = [entity.name, ...(await tx.all(aliasesOf({ entityId }))).map((alias) => alias.name)];
    const what = {
      entityId,
      projectId: entity.projectId,
      observationIds: (await tx.all(observationIdsOf({ entityId }))).map((row) => row.id),
      names: names.flatMap(lowered),
      patterns: likePatterns(names),
    };
    return { names, what };
  };

  /** Places of rows, among these, that may speak of it. */
  const speaking = async (tx: Tx, of: Table, what: Forgotten, places: Places): Promise<readonly string[]> => {
    const rows =
      of === "brain_observations"
        ? [...(await tx.all(othersThatMayMention({ of, what, places }))), ...(await tx.all(versionsThatMayMention({ what, places })))]
        : of === "brain_episodes" || of === "brain_entities"
          ? await tx.all(othersThatMayMention({ of, what, places }))
          : await tx.all(mayMention({ of, what, places, lock: false }));
    return rows.map(({ row }) => row);
  };

  /** Reads every text that there is, a slice a transaction. Undefined where nothing has the name. */
  const survey = async (ctx: CallContext, rawName: string): Promise<Survey | undefined> => {
    const begun = await db.read(ctx, async (tx) => {
      const entity = await resolve(tx, ctx, rawName);
      return entity && { ...(await describe(tx, entity)), extents: await tx.all(extent({ tables: allTables })) };
    });
    const horizon = begun?.extents[0]?.horizon;
    if (begun === undefined || horizon === undefined) return undefined;
    const { names, what, extents } = begun;
    const pace = paceOf(ctx.id);
    const found = new Map<Table, readonly string[]>();
    for (const of of allTables) {
      const pages = extents.find(({ table }) => table === of)?.pages ?? 0;
      const rows: string[] = [];
      let from = 0;
      if (pages > 0)
        await inSlices(pace, ctx.signal, PAGES, async (size) => {
          const places = { from, to: Math.min(pages, from + size) };
          const some = await db.read(ctx, async (tx) => {
            await tx.first(asBuilder({ mode: "on" }));
            return await speaking(tx, of, what, places);
          });
          rows.push(...some);
          from = places.to;
          return from < pages;
        });
      found.set(of, rows);
    }
    await pace.turn(ctx.signal);
    return { entityId: what.entityId, names, horizon, found };
  };

  /**
   * @param lock keeps what was found as it is until the transaction ends.
   * @returns `again` where the entity is another one, or is called otherwise, than the survey looked for.
   */
  const look = async (tx: Tx, ctx: CallContext, rawName: string, lock: boolean, surveyed: Survey): Promise<Plan | "again" | undefined> => {
    const entity = await resolve(tx, ctx, rawName);
    if (entity === undefined) return undefined;
    const entityId = entity.id;
    // Somebody else erased it while this waited: what has the name now, if anything, is another entity.
    if (lock && (await tx.first(lockEntity({ entityId }))) === undefined) return "again";
    const { names, what } = await describe(tx, entity);
    if (entityId !== surveyed.entityId || !sameNames(names, surveyed.names)) return "again";
    const isMention = mentionOf(names);
    const fresh = async (of: Table) => (await tx.all(changedSince({ table: of, horizon: surveyed.horizon }))).map(({ row }) => row);
    /** What may speak of it as of now; with `lock` until nothing comes that is not held. */
    const placesOf = async (of: Table): Promise<readonly string[]> => [
      ...new Set([...(surveyed.found.get(of) ?? []), ...(await fresh(of))]),
    ];
    const held = async (of: HolderTable) => {
      const rows = new Map<string, RowOf<typeof mayMention>>();
      const seen = new Set<string>();
      for (let next = await placesOf(of); next.length > 0; ) {
        for (const row of await tx.all(mayMention({ of, what, places: { rows: next }, lock }))) rows.set(row.row, row);
        for (const place of next) seen.add(place);
        next = lock && db.traits.concurrent ? (await fresh(of)).filter((place) => !seen.has(place)) : [];
      }
      return [...rows.values()].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
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
      const found = (await held(of)).filter((row) => row.belongs || isMention(row.text ?? ""));
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
    const observations = { rows: await placesOf("brain_observations") };
    const histories = (await tx.all(versionsThatMayMention({ what, places: observations }))).flatMap(({ id, versions }) => {
      const dropped = versions.filter((version) => isMention(JSON.stringify(version)));
      return dropped.length === 0 ? [] : [{ id, dropped }];
    });
    count(
      HISTORY,
      histories.length,
      histories.map((row) => row.id),
    );
    const remaining: string[] = [];
    for (const of of others) {
      const places = of === "brain_observations" ? observations : { rows: await placesOf(of) };
      for (const row of await tx.all(othersThatMayMention({ of, what, places }))) if (isMention(row.text)) remaining.push(row.id);
    }
    return {
      entity: entity.name,
      counts: Object.fromEntries([...counts].sort()),
      samples,
      remaining: remaining.sort(),
      notSought: untelling(names),
      what,
      rows,
      histories,
    };
  };

  /** Surveys and acts; once more where the entity was renamed, merged or erased in between. */
  const surveyed = async <T>(ctx: CallContext, name: string, act: (found: Survey) => Promise<T | "again">): Promise<T | undefined> => {
    for (let tries = 0; tries < MOST_SURVEYS; tries++) {
      const found = await survey(ctx, name);
      if (found === undefined) return undefined;
      const done = await act(found);
      if (done !== "again") return done;
    }
    throw busy("The entity changed its names again and again while its mentions were looked for. Nothing was erased. Try again.");
  };

  return {
    plan: async (ctx, name) =>
      (await surveyed(ctx, name, (found) => db.read(ctx, async (tx) => (await look(tx, ctx, name, false, found)) ?? nothing))) ?? nothing,

    async forget(ctx, name, expected) {
      const act = (found: Survey) =>
        db.write(ctx, async (tx) => {
          const plan = await look(tx, ctx, name, true, found);
          if (plan === "again") return plan;
          if (plan === undefined) return { erasure: nothing, erased: false };
          const { counts } = plan;
          const differs = (table: string) => (expected?.[table] ?? 0) !== (counts[table] ?? 0);
          if (expected !== undefined && [...Object.keys(expected), ...Object.keys(counts)].some(differs))
            throw conflict(
              `What would be erased has changed since the plan: it is ${JSON.stringify(counts)} now. Nothing was erased. Look at the plan again, then pass these counts in expect.`,
              { field: "expect", data: { would_erase: counts } },
            );
          for (const [of, rows] of plan.rows) if (rows.length > 0) await tx.run(eraseRows({ of, rows }));
          for (const history of plan.histories) await tx.run(dropVersions(history));
          await tx.run(eraseEntity({ entityId: plan.what.entityId }));
          await audit.record(tx, "forget.entity", {
            name_sha256: new Bun.CryptoHasher("sha256").update(plan.entity ?? "").digest("hex"),
            erased: counts,
          });
          return { erasure: plan, erased: true };
        });
      const { erasure, erased } = (await surveyed(ctx, name, act)) ?? { erasure: nothing, erased: false };
      if (erased) onErased();
      if (erased) ctx.log.warn("an entity was forgotten", { rows: Object.values(erasure.counts).reduce((sum, count) => sum + count, 0) });
      const { entity, counts, samples, remaining, notSought } = erasure;
      return { entity, counts, samples, remaining, notSought };
    },
  };
}
