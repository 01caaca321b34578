/** Whether the source tree of a project, as it was last read, holds a path or a symbol. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { moduleName, NAME_JOINT } from "../../domain/code/tree.ts";
import type { Scope } from "../../kernel/context.ts";
import { query, textArray } from "../codecs.ts";
import { fixed, ofScope } from "./predicates.ts";
import { kindNumber } from "./search-filters.ts";

interface Named {
  /** What a text says. */
  readonly name: string;
  /** A word of it that the index of words holds. */
  readonly word: string;
}

/** What the name of a module ends in, behind that of its file. */
const MODULE_END = moduleName("");
const EXTENSION = String.raw`\.([a-z]+)${MODULE_END}$`;

/** Extensions of the files in the tree. Plan: the index by type; a tree has one module a file. */
export const extensionsInTree = query(
  z.object({ extension: z.string() }),
  (q: { scope: Scope }) => sql`
  select distinct substring(e.name from ${EXTENSION}::text) as extension
  from brain_entities as e
  where e.entity_type = 'module' and ${ofScope("e", q.scope)} and e.name ~ ${EXTENSION}::text
  order by 1`,
);

const entitiesWith = (projectId: string) => sql`
    from brain_postings as p join brain_entities as e on e.id = p.row_id
    where p.term = n.word and p.kind = ${fixed(kindNumber.entity)} and p.project_key = ${projectId}::uuid`;

const asked = (names: readonly Named[]) =>
  sql`unnest(${textArray(names.map(({ name }) => name))}, ${textArray(names.map(({ word }) => word))}) as n(name, word)`;

/**
 * The paths that a file of the tree has, whole or as its end, or that something outside of the tree is called by.
 * Plan: one range of the index of words a path; equality is leakproof, so row security lets it be used (decision 0080).
 */
export const pathsInTree = query(
  z.object({ name: z.string() }),
  (q: { scope: Scope; projectId: string; paths: readonly Named[] }) => sql`
  select n.name from ${asked(q.paths)}
  where exists (
    select ${entitiesWith(q.projectId)}
      and ((e.entity_type = 'module' and (e.name = n.name || ${MODULE_END}::text
          or right(e.name, length(n.name) + ${fixed(MODULE_END.length + 1)}) = '/' || n.name || ${MODULE_END}::text))
        or (e.entity_type = 'external_dependency' and e.name in (n.name, regexp_replace(n.name, '\\.[a-z]+$', '')))))
  order by n.name`,
);

/** The symbols that the tree defines somewhere. Plan: as above. */
export const symbolsInTree = query(
  z.object({ name: z.string() }),
  (q: { scope: Scope; projectId: string; symbols: readonly Named[] }) => sql`
  select n.name from ${asked(q.symbols)}
  where exists (
    select ${entitiesWith(q.projectId)}
      and e.entity_type = 'code_symbol' and right(e.name, length(n.name) + ${fixed(NAME_JOINT.length)}) = ${NAME_JOINT}::text || n.name)
  order by n.name`,
);
