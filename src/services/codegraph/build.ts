/**
 * One build of a source tree: written in slices, so that nobody waits for it, shown all at once (decision 0154). Whoever reads meanwhile sees the graph of
 * before. What a build that was killed has left unseen is taken away by the next one of its project.
 */
import { type CallScope, projectOf } from "../../kernel/context.ts";
import { causeChain, conflict } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Database, Tx } from "../../store/port.ts";
import {
  asBuilder,
  deleteRelations,
  dropMarks,
  endBuild,
  hide,
  openBuild,
  type PendingKind,
  pendingKinds,
  pendingRows,
  projectsWithBuilds,
  showBuild,
  unendedBuilds,
} from "../../store/queries/code-builds.ts";
import { deleteCodeObservations, deleteLoneEntities } from "../../store/queries/codegraph.ts";
import { inSlices, type Pace } from "../pace.ts";

/**
 * Rows of one slice. A definition with its words, fact and marks takes 1 to 2 ms; slices of 50 ms are three times fewer than the usual ones, and between
 * two of them whoever searches without a pause goes first.
 */
const ROWS = { first: 20, most: 400, least: 10, ms: 50 };

export interface Build {
  /** A transaction that sees what the build has written. */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Slices of `items`, others first between two of them. Each is a transaction of its own. */
  each<T>(items: readonly T[], work: (tx: Tx, slice: readonly T[]) => Promise<void>): Promise<void>;
  /** Every page of a list that is read by ascending ids. */
  pages<T extends { readonly id: string }>(page: (tx: Tx, after: string | undefined, limit: number) => Promise<T[]>): Promise<T[]>;
  /** Keeps rows that this transaction has written from everybody else until the build is shown. */
  hide(tx: Tx, kind: PendingKind, ids: readonly string[]): Promise<void>;
  /** Shows them all, and makes `change` in the same moment. */
  show<T>(change: (tx: Tx) => Promise<T>): Promise<T>;
}

/** Rows of one page that is only read. */
const PAGE = 1_000;

/** One lock for each project. Other advisory locks of ours begin with 0x0CBA: a project's id has 8 to b there (RFC 9562, variant), which keeps these apart. */
const lockKey = (projectId: string | null): bigint =>
  BigInt.asIntN(64, 0x0cba_c0de_0000_0000n ^ BigInt(`0x${(projectId ?? "0").replaceAll("-", "").slice(-16)}`));

export interface Builds {
  /**
   * Runs `work` as the only build of the project; one of the same process is waited for.
   * @throws MemoryError `conflict` where another process builds the same project.
   */
  run<T>(ctx: CallScope & { readonly log: Logger }, pace: Pace, work: (build: Build) => Promise<T>): Promise<T>;
  /** Ends what killed processes have begun, in every project; answers in how many. A build that runs holds its lock and is left alone. */
  endAbandoned(ctx: CallScope, pace: Pace): Promise<number>;
}

export function createBuilds(db: Database): Builds {
  const running = new Map<string, Promise<unknown>>();

  const buildOf = (ctx: CallScope, pace: Pace, id: string, mode: "on" | "clear"): Build => {
    const write: Build["write"] = (work) =>
      db.write(ctx, async (tx) => {
        await tx.first(asBuilder({ mode }));
        return await work(tx);
      });
    return {
      write,
      async each(items, work) {
        let at = 0;
        if (items.length === 0) return;
        await inSlices(pace, ctx.signal, ROWS, async (size) => {
          const slice = items.slice(at, at + size);
          await write((tx) => work(tx, slice));
          at += slice.length;
          return at < items.length;
        });
      },
      async pages(page) {
        const found: Awaited<ReturnType<typeof page>> = [];
        await inSlices(pace, ctx.signal, { first: PAGE, most: PAGE, least: PAGE }, async (limit) => {
          const rows = await write((tx) => page(tx, found.at(-1)?.id, limit));
          found.push(...rows);
          return rows.length === limit;
        });
        return found;
      },
      async hide(tx, kind, ids) {
        if (ids.length > 0) await tx.run(hide({ build: id, kind, ids }));
      },
      show: (change) =>
        write(async (tx) => {
          await tx.run(showBuild(id));
          return await change(tx);
        }),
    };
  };

  /** Ends builds that somebody began: what was shown stays, what was not goes. */
  const clear = async (ctx: CallScope, pace: Pace) => {
    const clearing = buildOf(ctx, pace, "", "clear");
    const unended = await clearing.write((tx) => tx.all(unendedBuilds({ projectId: projectOf(ctx.scope) })));
    for (const { id, isOpen } of unended) {
      await inSlices(pace, ctx.signal, ROWS, (limit) =>
        clearing.write(async (tx) => {
          const marked = await tx.all(pendingRows({ build: id, limit }));
          if (marked.length === 0) return false;
          const of = (kind: PendingKind) => marked.filter((row) => row.kind === pendingKinds[kind]).map((row) => row.id);
          if (isOpen) {
            await tx.run(deleteRelations(of("relation")));
            await tx.run(deleteCodeObservations(of("observation")));
            await tx.all(deleteLoneEntities({ ids: of("entity") }));
          }
          await tx.run(dropMarks(marked.map((row) => row.id)));
          return true;
        }),
      );
      await clearing.write((tx) => tx.run(endBuild(id)));
    }
  };

  const alone = async <T>(ctx: CallScope & { readonly log: Logger }, pace: Pace, work: (build: Build) => Promise<T>): Promise<T> => {
    const projectId = projectOf(ctx.scope);
    await using lock = await db.tryLock(lockKey(projectId));
    if (lock === undefined)
      throw conflict("Another process is reading code into this project. Nothing was written. Run the command again when it is done.");
    await clear(ctx, pace);
    const id = newId();
    const build = buildOf(ctx, pace, id, "on");
    // Whoever gives the build up does not give up the clearing behind it.
    const uncancelled = { ...ctx, signal: new AbortController().signal };
    try {
      await build.write((tx) => tx.run(openBuild({ id, projectId })));
      const done = await work(build);
      await clear(uncancelled, pace);
      return done;
    } catch (error) {
      // Failed or cancelled: what was not shown goes now where it can, else with the next build.
      await clear(uncancelled, pace).catch((cause: unknown) => {
        ctx.log.warn("what a failed build of code had written stays unseen until the next one takes it away", { cause: causeChain(cause) });
      });
      throw error;
    }
  };

  return {
    async endAbandoned(ctx, pace) {
      let ended = 0;
      for (const { projectId } of await db.read(ctx, (tx) => tx.all(projectsWithBuilds({})))) {
        await using lock = await db.tryLock(lockKey(projectId));
        if (lock === undefined) continue;
        await clear({ ...ctx, scope: projectId === null ? { kind: "none" } : { kind: "project", id: projectId } }, pace);
        ended += 1;
      }
      return ended;
    },
    async run(ctx, pace, work) {
      const key = projectOf(ctx.scope) ?? "";
      const before = running.get(key);
      const mine = (before ?? Promise.resolve()).catch(() => undefined).then(() => alone(ctx, pace, work));
      running.set(key, mine);
      try {
        return await mine;
      } finally {
        if (running.get(key) === mine) running.delete(key);
      }
    },
  };
}
