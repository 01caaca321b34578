/** Source trees as `codegraph build` reads them, written down short, and what everybody sees of them in the graph. */
import { sql } from "drizzle-orm";
import { codeLanguages } from "../../src/domain/code/languages.ts";
import type { SourceTree } from "../../src/services/codegraph/read.ts";
import type { Database } from "../../src/store/port.ts";
import { rows } from "./statements.ts";

type Symbols = Readonly<Record<string, readonly [kind: string, line: number]>>;

/** A tree from `file::name` to kind and line; edges as pairs of names. */
export function treeOf(symbols: Symbols, calls: readonly [string, string][] = [], imports: readonly [string, string][] = []): SourceTree {
  const found = Object.entries(symbols).map(([name, [kind, line]]) => ({
    name,
    kind,
    file: name.split("::")[0] ?? "",
    firstLine: line,
    lastLine: line + 2,
    signature: `${name.split("::").at(-1)}()`,
  }));
  return {
    under: "",
    languages: codeLanguages,
    skipped: [],
    files: [...new Set(found.map(({ file }) => file))],
    symbols: found,
    calls: calls.map(([from, to]) => ({ from, to })),
    imports: imports.map(([from, to]) => ({ from: `${from}::<module>`, to, external: true })),
  };
}

export const before = treeOf(
  { "src/auth/session.ts::renewToken": ["function", 3], "src/auth/session.ts::Session": ["class", 9], "src/app.ts::main": ["function", 1] },
  [["src/app.ts::main", "src/auth/session.ts::renewToken"]],
  [["src/app.ts", "react"]],
);

/** Names of entities with their types, texts of observations, edges as lines. */
export function readersOf(database: () => Database) {
  const entities = async () =>
    (await rows(database(), sql`select name, entity_type from brain_entities order by name`)).map(
      ({ name, entity_type }) => `${name} (${entity_type})`,
    );
  const contents = async () =>
    (await rows(database(), sql`select content from brain_observations order by content`)).map(({ content }) => content);
  const edges = async () =>
    (
      await rows(
        database(),
        sql`select f.name as f, r.relation_type as t, e.name as e, r.strength, r.provenance from brain_relations as r
          join brain_entities as f on f.id = r.from_entity join brain_entities as e on e.id = r.to_entity order by 1, 2, 3`,
      )
    ).map(({ f, t, e, strength, provenance }) => `${f} ${t} ${e} ${strength} ${provenance}`);
  return { entities, contents, edges };
}
