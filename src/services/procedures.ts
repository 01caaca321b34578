/** Procedural memory (`tools-cognition.md` §8): what to do, ranked by whether it worked. Reading changes nothing. */
import { cleanName } from "../domain/names.ts";
import { relevantRecipes, UNRELATED_TEXTS } from "../domain/retrieval/recipes.ts";
import { wilsonLowerBound } from "../domain/strength/reliability.ts";
import type { Embedder } from "../inference/port.ts";
import type { CallContext } from "../kernel/context.ts";
import { signalUntil } from "../kernel/deadline.ts";
import { causeChain, notFound } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Database, Tx } from "../store/port.ts";
import {
  countOutcome,
  deleteProcedure,
  type NewProcedure,
  type Procedure,
  procedureCount,
  procedureList,
  procedureNamed,
  proceduresById,
  procedureTexts,
  projectsWithProcedure,
  putProcedure,
} from "../store/queries/procedures.ts";
import type { Page } from "./observations/observations.ts";
import { embedQuestion, type FreshVectors } from "./search/arms/vector.ts";

export type { NewProcedure, Procedure, Step } from "../store/queries/procedures.ts";

/** So many candidates for each row wanted: the record decides among them. */
const CANDIDATES_PER_ROW = 4;
/** Share of the time a call has left that the texts of comparison may take, once a model. */
const EMBED_SHARE = 0.4;

/** Lower bound of the share of runs that succeed, 0–1; the one measure of a recipe, wherever recipes are ranked. */
export const reliabilityOf = ({ successes, failures }: Pick<Procedure, "successes" | "failures">): number =>
  wilsonLowerBound(successes, failures);

export interface FoundProcedure extends Procedure {
  /** 0.5–1, relative to the best hit. */
  readonly likeness: number;
}

export interface FoundProcedures {
  readonly rows: readonly FoundProcedure[];
  readonly total: number;
  /** Why meaning was not searched; undefined where it was, or where nobody could expect it. */
  readonly lost: string | undefined;
}

export interface Procedures {
  /** Stores a recipe, or new texts of the one with this name; its record stays. */
  put(ctx: CallContext, procedure: NewProcedure): Promise<Procedure & { readonly created: boolean }>;
  /** @throws MemoryError `not_found`; without a project it says which projects have the name. */
  get(ctx: CallContext, name: string): Promise<Procedure>;
  outcome(ctx: CallContext, name: string, success: boolean): Promise<Procedure>;
  remove(ctx: CallContext, name: string): Promise<{ readonly name: string }>;
  /** Those that the question means, the most reliable first, ties by name. */
  search(ctx: CallContext, query: string, page: Page): Promise<FoundProcedures>;
  list(ctx: CallContext, page: Page): Promise<{ readonly rows: readonly Procedure[]; readonly total: number }>;
}

export interface ProceduresParts {
  readonly db: Database;
  readonly embedder: Embedder;
  /** Told after each commit that stored a text. */
  readonly queue: { poke(): void } & FreshVectors;
}

async function missing(tx: Tx, ctx: CallContext, name: string, untouched: string): Promise<Error> {
  const elsewhere = ctx.scope.kind === "project" ? [] : (await tx.all(projectsWithProcedure({ name }))).map(({ project }) => project);
  return elsewhere.length === 0
    ? notFound("procedure", name, {
        where: "(within current project scope)",
        next: `${untouched} cuba_receta action=list shows what there is.`,
      })
    : notFound("procedure", name, {
        where: `without a project; it exists in ${elsewhere.join(", ")}`,
        next: `${untouched} Choose the project with cuba_jornada start project=… or cuba_proyecto switch.`,
      });
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);

export function createProcedures({ db, embedder, queue }: ProceduresParts): Procedures {
  let background: { readonly label: string; readonly vectors: readonly Float32Array[] } | undefined;

  /** Cosines of a question with texts that nobody has a recipe for; embedded once a model. Empty where they cannot be had in time. */
  const unrelatedTo = async (ctx: CallContext, vector: Float32Array): Promise<number[]> => {
    const { label } = embedder;
    try {
      if (background?.label !== label) {
        using limit = signalUntil(ctx.deadline.share(EMBED_SHARE), ctx.signal);
        background = { label, vectors: await embedder.embed(UNRELATED_TEXTS, "passage", limit.signal) };
      }
      return background.vectors.map((other) => dot(vector, other));
    } catch (cause) {
      if (ctx.signal.aborted) throw cause;
      ctx.log.warn("recipes are searched by words alone", { cause: causeChain(cause) });
      return [];
    }
  };

  const found = async (
    ctx: CallContext,
    rawName: string,
    untouched: string,
    find: (tx: Tx, name: string) => Promise<Procedure | undefined>,
    mode: "read" | "write",
  ) => {
    const name = cleanName(rawName, "name");
    return await db[mode](ctx, async (tx) => {
      const procedure = await find(tx, name);
      if (procedure === undefined) throw await missing(tx, ctx, name, untouched);
      return procedure;
    });
  };

  return {
    async put(ctx, procedure) {
      const name = cleanName(procedure.name, "name");
      const stored = await db.write(ctx, (tx) => tx.first(putProcedure({ ...procedure, name, id: newId(), scope: ctx.scope })));
      if (stored === undefined) throw new Error("an insert returned no row");
      queue.poke();
      return stored;
    },

    get: (ctx, rawName) =>
      found(ctx, rawName, "Nothing was read.", (tx, name) => tx.first(procedureNamed({ name, scope: ctx.scope })), "read"),

    outcome: (ctx, rawName, success) =>
      found(ctx, rawName, "Nothing was counted.", (tx, name) => tx.first(countOutcome({ name, success, scope: ctx.scope })), "write"),

    async remove(ctx, rawName) {
      const name = cleanName(rawName, "name");
      await db.write(ctx, async (tx) => {
        if ((await tx.run(deleteProcedure({ name, scope: ctx.scope }))) === 0) throw await missing(tx, ctx, name, "Nothing was deleted.");
      });
      return { name };
    },

    async search(ctx, query, { limit, offset }) {
      const question = await embedQuestion(ctx, embedder, query, queue);
      const vector = "vector" in question ? question.vector : undefined;
      const unrelated = vector === undefined ? [] : await unrelatedTo(ctx, vector);
      return await db.read(ctx, async (tx) => {
        const { scope } = ctx;
        const texts = await tx.all(procedureTexts({ vector, label: embedder.label, scope }));
        const meant = relevantRecipes(
          query,
          texts.map(({ id, name, trigger, cosine }) => ({ id, text: `${name} ${trigger}`, cosine: cosine ?? undefined })),
          unrelated,
        ).slice(0, CANDIDATES_PER_ROW * (offset + limit));
        const likeness = new Map(meant.map((each) => [each.id, each.likeness]));
        const rows = (await tx.all(proceduresById({ ids: [...likeness.keys()], scope }))).map((row) => ({
          ...row,
          likeness: likeness.get(row.id) ?? 0,
        }));
        rows.sort((a, b) => reliabilityOf(b) - reliabilityOf(a) || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1));
        const { state } = embedder.status();
        return {
          rows: rows.slice(offset, offset + limit),
          total: rows.length,
          lost: "lost" in question && state !== "missing" ? question.lost : undefined,
        };
      });
    },

    list: (ctx, page) =>
      db.read(ctx, async (tx) => ({
        rows: await tx.all(procedureList({ scope: ctx.scope, ...page })),
        total: (await tx.first(procedureCount({ scope: ctx.scope })))?.count ?? 0,
      })),
  };
}
