/**
 * Storing a source tree in the graph: what is new comes, what moved is rewritten, what the files that were read no longer hold goes. What people wrote
 * about a symbol is nobody's to delete: its entity then stays, and is no code any more. What is new is written in slices that nobody sees, and shows in
 * one moment together with what changes of the old (decision 0154).
 */
import { extensionsOf, sourceKind } from "../../domain/code/languages.ts";
import { type CodeTree, type Edge, fileOf, moduleName, NAME_JOINT, type TreeSymbol } from "../../domain/code/tree.ts";
import { informationDensity, initialImportance } from "../../domain/density.ts";
import { lexicalText } from "../../domain/lexical.ts";
import { nameKey } from "../../domain/names.ts";
import { autoTags } from "../../domain/tags.ts";
import { type CallScope, projectOf } from "../../kernel/context.ts";
import { newId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Database, Tx } from "../../store/port.ts";
import {
  adoptConcepts,
  CODE_CHECK,
  type CodeType,
  codeEdgesFrom,
  codeEntities,
  codeObservations,
  deleteCodeEdges,
  deleteCodeObservations,
  deleteEdgesOfGone,
  deleteLoneEntities,
  entitiesCalled,
  insertCodeEdges,
  insertCodeEntities,
  insertCodeObservations,
  keepAsConcepts,
  strengthenCodeEdges,
  unusedDependencies,
  updateCodeObservations,
} from "../../store/queries/codegraph.ts";
import { clearVectorsOf } from "../../store/queries/entities.ts";
import type { FactMirror } from "../facts.ts";
import type { Pace, PaceOfCall } from "../pace.ts";
import { type Build, createBuilds } from "./build.ts";
import type { SourceTree } from "./read.ts";

export interface StoredTree {
  readonly symbols: number;
  readonly added: number;
  readonly rewritten: number;
  readonly removed: number;
  readonly calls: number;
  readonly imports: number;
}

export interface CodeGraph {
  /**
   * @param owns the tree is the one that the project is named after: a file of it that is not there is gone. Elsewhere it may belong to another tree.
   * @param onRows hears how many of the tree's rows (names, definitions, edges) are in the graph, after each slice
   */
  store(
    ctx: CallScope & { readonly log: Logger },
    tree: SourceTree,
    options: { readonly owns: boolean; readonly onRows?: ((done: number, total: number) => void) | undefined },
  ): Promise<StoredTree>;
}

/** What stays the same when a definition moves: by it a second run finds the observation of the first. */
const identityOf = ({ kind, name, file }: TreeSymbol): string => `${kind} \`${name.slice(file.length + NAME_JOINT.length)}\` in ${file}:`;
const contentOf = (symbol: TreeSymbol): string => `${identityOf(symbol)}${symbol.firstLine}-${symbol.lastLine}\n${symbol.signature}`;
const verificationOf = ({ file }: TreeSymbol): string => `${CODE_CHECK}${file}`;

/** A tree of which less than this share is found again under a project that it is not named after is another tree. */
const SAME_TREE_SHARE = 0.5;

interface Known {
  readonly id: string;
  readonly name: string;
  readonly type: CodeType;
}

/** Files of the graph that this run would have read, had they been there: below its directory, in one of its languages, not passed over. */
function goneFiles(known: readonly Known[], tree: SourceTree, owns: boolean): ReadonlySet<string> {
  const extensions = new Set(tree.languages.flatMap(extensionsOf));
  const passedOver = new Set(tree.skipped.map(([path]) => path));
  const read = new Set(tree.files);
  const expected = new Set(
    known
      .filter(({ type }) => type !== "external_dependency")
      .map(({ name }) => fileOf(name))
      .filter(
        (file) =>
          file.startsWith(tree.under) &&
          sourceKind(file) !== undefined &&
          extensions.has(file.slice(file.lastIndexOf(".") + 1)) &&
          !passedOver.has(file),
      ),
  );
  const missing = [...expected].filter((file) => !read.has(file));
  const isSameTree = owns || expected.size - missing.length >= SAME_TREE_SHARE * expected.size;
  return new Set(isSameTree ? missing : []);
}

export interface CodeGraphParts {
  readonly db: Database;
  readonly facts: FactMirror;
  readonly queue: { poke(): void };
  readonly paceOf: PaceOfCall;
}

/**
 * Rows of the old graph that change in the moment in which the new ones show: some 100 ms. A tree of which more has changed (another branch, every line
 * moved) shows its new rows first, and what is left of the old is rewritten and taken away in slices after it.
 */
const MOST_AT_ONCE = 100;

const RELATIONS = ["uses", "depends_on"] as const;
interface EdgeById {
  readonly from: string;
  readonly to: string;
  readonly relation: (typeof RELATIONS)[number];
}
const endsOf = (edges: readonly EdgeById[]) => ({ from: edges.map(({ from }) => from), to: edges.map(({ to }) => to) });
const keyOf = ({ from, to, relation }: EdgeById) => `${from} ${to} ${relation}`;

export function createCodeGraph({ db, facts, queue, paceOf }: CodeGraphParts): CodeGraph {
  const builds = createBuilds(db);

  /** Ids of every name that the tree needs, made where they are missing. */
  const namesToIds = async (build: Build, ctx: CallScope, known: readonly Known[], tree: CodeTree, written: (rows: number) => void) => {
    const wanted = new Map<string, CodeType>();
    for (const edge of tree.imports) if (edge.external) wanted.set(edge.to, "external_dependency");
    for (const file of tree.files) wanted.set(moduleName(file), "module");
    for (const { name } of tree.symbols) wanted.set(name, "code_symbol");
    const ids = new Map(known.filter(({ name }) => wanted.has(name)).map(({ name, id }) => [name, id]));
    const missing = () => [...wanted].filter(([name]) => !ids.has(name));
    const find = () =>
      build.each(missing(), async (tx, names) => {
        for (const { name, id } of await tx.all(entitiesCalled({ names: names.map(([name]) => name), scope: ctx.scope })))
          ids.set(name, id);
      });
    await find();
    const isCode = new Set(known.map(({ id }) => id));
    // Somebody wrote about a symbol before the tree was read: the entity that came into being by that is the symbol.
    const adopted = [...ids].flatMap(([name, id]) => {
      const type = wanted.get(name);
      return type === undefined || type === "external_dependency" || isCode.has(id)
        ? []
        : [{ id, name, type, lexical: lexicalText(`${name} ${type}`) }];
    });
    await build.each(missing(), async (tx, names) => {
      const rows = names.map(([name, type]) => ({ name, type, nameKey: nameKey(name), lexical: lexicalText(`${name} ${type}`) }));
      const made = await tx.all(insertCodeEntities({ rows, projectId: projectOf(ctx.scope) }));
      const madeIds = made.map(({ id }) => id);
      await build.hide(tx, "entity", madeIds);
      for (const { id, name } of made) ids.set(name, id);
      written(names.length);
    });
    // Another writer made one of them meanwhile.
    await find();
    return { ids, adopted };
  };

  const edgesOf = (edges: readonly Edge[], relation: EdgeById["relation"], ids: ReadonlyMap<string, string>): readonly EdgeById[] => {
    const found = new Map<string, EdgeById>();
    for (const { from: fromName, to: toName } of edges) {
      const [from, to] = [ids.get(fromName), ids.get(toName)];
      // Two names can be one entity by an alias.
      if (from === undefined || to === undefined || from === to) continue;
      const edge = { from, to, relation };
      found.set(keyOf(edge), edge);
    }
    return [...found.values()];
  };

  /** Which observation says what a symbol is, and which says it no longer. */
  const compared = (tree: CodeTree, ids: ReadonlyMap<string, string>, observed: readonly Observed[]) => {
    const unmatched = new Map(observed.map((row) => [row.id, row]));
    const byEntity = Map.groupBy(observed, ({ entityId }) => entityId);
    const fresh: (TreeSymbol & { readonly entityId: string })[] = [];
    const moved: { readonly id: string; readonly content: string }[] = [];
    for (const symbol of tree.symbols) {
      const entityId = ids.get(symbol.name);
      if (entityId === undefined) continue;
      const there = byEntity.get(entityId)?.find(({ content }) => content.startsWith(identityOf(symbol)));
      if (there === undefined) fresh.push({ ...symbol, entityId });
      else {
        unmatched.delete(there.id);
        if (there.content !== contentOf(symbol)) moved.push({ id: there.id, content: contentOf(symbol) });
      }
    }
    return { fresh, moved, unmatched: [...unmatched.values()] };
  };

  return {
    async store(ctx, tree, { owns, onRows }) {
      const pace: Pace = paceOf();
      const total = tree.files.length + 2 * tree.symbols.length + tree.calls.length + tree.imports.length;
      let rows = 0;
      const written = (more: number) => {
        rows += more;
        // External names come on top, and what is there already is not written: near enough for who waits, and never past the end.
        onRows?.(Math.min(rows, total), total);
      };
      const done = await builds.run(ctx, pace, async (build) => {
        const { scope } = ctx;
        const projectId = projectOf(scope);
        const known = await build.pages((tx, after, limit) => tx.all(codeEntities({ scope, after, limit })));
        const observed = await build.pages((tx, after, limit) => tx.all(codeObservations({ scope, after, limit })));
        const { ids, adopted } = await namesToIds(build, ctx, known, tree, written);
        const { fresh, moved, unmatched } = compared(tree, ids, observed);

        await build.each(fresh, async (tx, symbols) => {
          const rows = symbols.map((symbol) => {
            const content = contentOf(symbol);
            const importance = initialImportance("context", informationDensity(content));
            const { entityId } = symbol;
            const words = { lexical: lexicalText(content), tags: autoTags(content) };
            return { id: newId(), entityId, content, verification: verificationOf(symbol), importance, ...words };
          });
          const stored = (await tx.all(insertCodeObservations({ rows, projectId }))).map(({ id }) => id);
          await build.hide(tx, "observation", stored);
          await facts.append(tx, stored, ctx.log);
          written(symbols.length);
        });

        const edges = [...edgesOf(tree.calls, "uses", ids), ...edgesOf(tree.imports, "depends_on", ids)];
        const gone = goneFiles(known, tree, owns);
        const read = new Set([...tree.files, ...gone]);
        const inTree = new Set([...tree.symbols.map(({ name }) => name), ...tree.files.map(moduleName)]);
        const stale = known.filter(({ name, type }) => type !== "external_dependency" && read.has(fileOf(name)) && !inTree.has(name));
        const staleIds = new Set(stale.map(({ id }) => id));
        const readIds = new Set([...inTree].flatMap((name) => ids.get(name) ?? []));
        // Of what is gone, and of a symbol that became another kind of thing.
        const outdated = unmatched.filter(({ entityId }) => staleIds.has(entityId) || readIds.has(entityId));

        const there: (EdgeById & { readonly id: string })[] = [];
        await build.each([...readIds], async (tx, from) => {
          there.push(...(await tx.all(codeEdgesFrom({ ids: from }))));
        });
        const before = new Set(there.map(keyOf));
        const found = new Set(edges.map(keyOf));
        const staleEdges = there.filter((edge) => !found.has(keyOf(edge)));
        for (const relation of RELATIONS)
          await build.each(
            edges.filter((edge) => edge.relation === relation && !before.has(keyOf(edge))),
            async (tx, slice) => {
              const made = await tx.all(insertCodeEdges({ ...endsOf(slice), relation, projectId }));
              const madeIds = made.map(({ id }) => id);
              await build.hide(tx, "relation", madeIds);
              written(slice.length);
            },
          );

        /** What changes of the old, in an order in which each part may be cut in slices. */
        const changes: readonly Change[] = [
          changeOf(adopted, adopt),
          changeOf(moved, (tx, rows) => rewrite(tx, rows, ctx.log)),
          changeOf(outdated, (tx, rows) => tx.run(deleteCodeObservations(rows.map(({ id }) => id)))),
          changeOf(staleEdges, (tx, rows) => tx.run(deleteCodeEdges(rows.map(({ id }) => id)))),
          changeOf(stale, removeGone),
        ];
        const isFew = changes.reduce((sum, { count }) => sum + count, 0) <= MOST_AT_ONCE;
        await build.show(async (tx) => {
          for (const change of isFew ? changes : []) await change.atOnce(tx);
        });
        for (const change of isFew ? [] : changes) await change.inSlices(build);
        // An edge that somebody weakened, or guessed before it was read.
        for (const relation of RELATIONS)
          await build.each(
            edges.filter((edge) => edge.relation === relation),
            async (tx, slice) => {
              await tx.run(strengthenCodeEdges({ ...endsOf(slice), relation }));
            },
          );
        const used = new Set(edges.map(({ to }) => to));
        await build.each(
          known.filter(({ id, type }) => type === "external_dependency" && !used.has(id)),
          async (tx, slice) => {
            const unused = (await tx.all(unusedDependencies({ ids: slice.map(({ id }) => id) }))).map(({ id }) => id);
            if (unused.length > 0) await tx.all(deleteLoneEntities({ ids: unused }));
          },
        );
        return {
          symbols: tree.symbols.length,
          added: fresh.length,
          rewritten: moved.length,
          removed: stale.filter(({ type }) => type === "code_symbol").length,
          calls: edges.filter(({ relation }) => relation === "uses").length,
          imports: edges.filter(({ relation }) => relation === "depends_on").length,
        };
      });
      if (done.added + done.rewritten > 0) queue.poke();
      return done;
    },
  };

  async function rewrite(tx: Tx, moved: readonly { readonly id: string; readonly content: string }[], log: Logger): Promise<void> {
    await tx.run(updateCodeObservations(moved.map((row) => ({ ...row, lexical: lexicalText(row.content), tags: autoTags(row.content) }))));
    const changed = moved.map(({ id }) => id);
    await facts.close(tx, changed, "corrected");
    await facts.append(tx, changed, log);
  }
}

interface Observed {
  readonly id: string;
  readonly entityId: string;
  readonly content: string;
}

interface Change {
  readonly count: number;
  atOnce(tx: Tx): Promise<unknown>;
  inSlices(build: Build): Promise<void>;
}

function changeOf<T>(rows: readonly T[], make: (tx: Tx, rows: readonly T[]) => Promise<unknown>): Change {
  return {
    count: rows.length,
    atOnce: async (tx) => {
      if (rows.length > 0) await make(tx, rows);
    },
    inSlices: (build) =>
      build.each(rows, async (tx, slice) => {
        await make(tx, slice);
      }),
  };
}

async function adopt(
  tx: Tx,
  rows: readonly { readonly id: string; readonly name: string; readonly type: CodeType; readonly lexical: string }[],
): Promise<void> {
  for (const { id } of await tx.all(adoptConcepts({ rows }))) for (const statement of clearVectorsOf(id)) await tx.run(statement);
}

async function removeGone(tx: Tx, stale: readonly Known[]): Promise<void> {
  const ids = stale.map(({ id }) => id);
  await tx.run(deleteEdgesOfGone(ids));
  const deleted = new Set((await tx.all(deleteLoneEntities({ ids }))).map(({ id }) => id));
  const kept = stale.filter(({ id }) => !deleted.has(id));
  if (kept.length === 0) return;
  await tx.run(keepAsConcepts(kept.map(({ id, name }) => ({ id, lexical: lexicalText(`${name} concept`) }))));
  for (const { id } of kept) for (const statement of clearVectorsOf(id)) await tx.run(statement);
}
