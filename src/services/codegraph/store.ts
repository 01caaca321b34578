/**
 * Storing a source tree in the graph, in one transaction: what is new comes, what moved is rewritten, what the files that were read no longer
 * hold goes. What people wrote about a symbol is nobody's to delete: its entity then stays, and is no code any more.
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
  codeEntities,
  codeObservations,
  deleteCodeObservations,
  deleteEdgesOfGone,
  deleteLoneEntities,
  deleteStaleCodeEdges,
  type EdgeRows,
  entitiesCalled,
  insertCodeEntities,
  insertCodeObservations,
  keepAsConcepts,
  unusedDependencies,
  updateCodeObservations,
  upsertCodeEdges,
} from "../../store/queries/codegraph.ts";
import { clearVectorsOf } from "../../store/queries/entities.ts";
import type { FactMirror } from "../facts.ts";
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
   */
  store(ctx: CallScope & { readonly log: Logger }, tree: SourceTree, options: { readonly owns: boolean }): Promise<StoredTree>;
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

export function createCodeGraph({ db, facts, queue }: { db: Database; facts: FactMirror; queue: { poke(): void } }): CodeGraph {
  /** Ids of every name that the tree needs, made where they are missing. */
  const namesToIds = async (tx: Tx, ctx: CallScope, known: readonly Known[], tree: CodeTree) => {
    const wanted = new Map<string, CodeType>();
    for (const edge of tree.imports) if (edge.external) wanted.set(edge.to, "external_dependency");
    for (const file of tree.files) wanted.set(moduleName(file), "module");
    for (const { name } of tree.symbols) wanted.set(name, "code_symbol");
    const ids = new Map(known.filter(({ name }) => wanted.has(name)).map(({ name, id }) => [name, id]));
    const find = async () => {
      const names = [...wanted.keys()].filter((name) => !ids.has(name));
      for (const { name, id } of names.length === 0 ? [] : await tx.all(entitiesCalled({ names, scope: ctx.scope }))) ids.set(name, id);
    };
    await find();
    const adopted = await adopt(tx, ids, wanted, known);
    for (const id of adopted) for (const statement of clearVectorsOf(id)) await tx.run(statement);
    const rows = [...wanted].flatMap(([name, type]) =>
      ids.has(name) ? [] : [{ name, type, nameKey: nameKey(name), lexical: lexicalText(`${name} ${type}`) }],
    );
    if (rows.length === 0) return ids;
    for (const { id, name } of await tx.all(insertCodeEntities({ rows, projectId: projectOf(ctx.scope) }))) ids.set(name, id);
    // Another writer made one of them meanwhile.
    await find();
    return ids;
  };

  /** Somebody wrote about a symbol before the tree was read: the entity that came into being by that is the symbol. */
  const adopt = async (tx: Tx, ids: ReadonlyMap<string, string>, wanted: ReadonlyMap<string, CodeType>, known: readonly Known[]) => {
    const isCode = new Set(known.map(({ id }) => id));
    const rows = [...ids].flatMap(([name, id]) => {
      const type = wanted.get(name);
      return type === undefined || type === "external_dependency" || isCode.has(id)
        ? []
        : [{ id, name, type, lexical: lexicalText(`${name} ${type}`) }];
    });
    return rows.length === 0 ? [] : (await tx.all(adoptConcepts({ rows }))).map(({ id }) => id);
  };

  const edgeRows = (edges: readonly Edge[], ids: ReadonlyMap<string, string>): EdgeRows => {
    const pairs = new Map<string, readonly [string, string]>();
    for (const { from, to } of edges) {
      const [a, b] = [ids.get(from), ids.get(to)];
      // Two names can be one entity by an alias.
      if (a !== undefined && b !== undefined && a !== b) pairs.set(`${a} ${b}`, [a, b]);
    }
    return { from: [...pairs.values()].map(([from]) => from), to: [...pairs.values()].map(([, to]) => to) };
  };

  return {
    async store(ctx, tree, { owns }) {
      const projectId = projectOf(ctx.scope);
      const done = await db.write(ctx, async (tx) => {
        const known = await tx.all(codeEntities({ scope: ctx.scope }));
        const observed = await tx.all(codeObservations({ scope: ctx.scope }));
        const ids = await namesToIds(tx, ctx, known, tree);

        const unmatched = new Map(observed.map((row) => [row.id, row]));
        const byEntity = Map.groupBy(observed, ({ entityId }) => entityId);
        const fresh: TreeSymbol[] = [];
        const moved: { id: string; content: string }[] = [];
        for (const symbol of tree.symbols) {
          const there = byEntity.get(ids.get(symbol.name) ?? "")?.find(({ content }) => content.startsWith(identityOf(symbol)));
          if (there === undefined) fresh.push(symbol);
          else {
            unmatched.delete(there.id);
            if (there.content !== contentOf(symbol)) moved.push({ id: there.id, content: contentOf(symbol) });
          }
        }
        const rows = fresh.flatMap((symbol) => {
          const entityId = ids.get(symbol.name);
          const content = contentOf(symbol);
          const importance = initialImportance("context", informationDensity(content));
          return entityId === undefined
            ? []
            : [
                {
                  id: newId(),
                  entityId,
                  content,
                  verification: verificationOf(symbol),
                  lexical: lexicalText(content),
                  tags: autoTags(content),
                  importance,
                },
              ];
        });
        if (rows.length > 0) {
          await tx.run(insertCodeObservations({ rows, projectId }));
          await facts.append(
            tx,
            rows.map(({ id }) => id),
            ctx.log,
          );
        }
        if (moved.length > 0) {
          await tx.run(
            updateCodeObservations(moved.map((row) => ({ ...row, lexical: lexicalText(row.content), tags: autoTags(row.content) }))),
          );
          const changed = moved.map(({ id }) => id);
          await facts.close(tx, changed, "corrected");
          await facts.append(tx, changed, ctx.log);
        }

        const gone = goneFiles(known, tree, owns);
        const read = new Set([...tree.files, ...gone]);
        const inTree = new Set([...tree.symbols.map(({ name }) => name), ...tree.files.map(moduleName)]);
        const stale = known.filter(({ name, type }) => type !== "external_dependency" && read.has(fileOf(name)) && !inTree.has(name));
        const staleIds = new Set(stale.map(({ id }) => id));
        const readIds = [...inTree].flatMap((name) => ids.get(name) ?? []);
        const readSet = new Set(readIds);
        // Of what is gone, and of a symbol that became another kind of thing.
        const outdated = [...unmatched.values()].filter(({ entityId }) => staleIds.has(entityId) || readSet.has(entityId));
        if (outdated.length > 0) await tx.run(deleteCodeObservations(outdated.map(({ id }) => id)));

        const [uses, dependsOn] = [edgeRows(tree.calls, ids), edgeRows(tree.imports, ids)];
        await tx.run(deleteStaleCodeEdges({ ...uses, relation: "uses", read: readIds }));
        await tx.run(deleteStaleCodeEdges({ ...dependsOn, relation: "depends_on", read: readIds }));
        await removeGone(tx, stale);
        if (uses.from.length > 0) await tx.run(upsertCodeEdges({ ...uses, relation: "uses", projectId }));
        if (dependsOn.from.length > 0) await tx.run(upsertCodeEdges({ ...dependsOn, relation: "depends_on", projectId }));
        const unused = (await tx.all(unusedDependencies({ scope: ctx.scope }))).map(({ id }) => id);
        if (unused.length > 0) await tx.all(deleteLoneEntities({ ids: unused }));
        return {
          symbols: tree.symbols.length,
          added: rows.length,
          rewritten: moved.length,
          removed: stale.filter(({ type }) => type === "code_symbol").length,
          calls: uses.from.length,
          imports: dependsOn.from.length,
        };
      });
      if (done.added + done.rewritten > 0) queue.poke();
      return done;
    },
  };

  async function removeGone(tx: Tx, stale: readonly Known[]): Promise<void> {
    if (stale.length === 0) return;
    const ids = stale.map(({ id }) => id);
    await tx.run(deleteEdgesOfGone(ids));
    const deleted = new Set((await tx.all(deleteLoneEntities({ ids }))).map(({ id }) => id));
    const kept = stale.filter(({ id }) => !deleted.has(id));
    if (kept.length === 0) return;
    await tx.run(keepAsConcepts(kept.map(({ id, name }) => ({ id, lexical: lexicalText(`${name} concept`) }))));
    for (const { id } of kept) for (const statement of clearVectorsOf(id)) await tx.run(statement);
  }
}
