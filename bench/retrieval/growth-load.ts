/**
 * Fills an empty database with a corpus in minutes where the write path would need an hour: rows in batches with their triggers off, then what the triggers
 * would have kept (the index of words, the signs of vectors) from all rows at once, in the order of the index. The content is the same.
 */
import { informationDensity, initialImportance } from "../../src/domain/density.ts";
import { lexicalText } from "../../src/domain/lexical.ts";
import { nameKey } from "../../src/domain/names.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { Connection } from "../../src/store/connection.ts";
import { arrayLiteral, vectorLiteral } from "../../src/store/wire.ts";
import type { Memory } from "./eval-sets.ts";

const BATCH_ROWS = 1_000;
const TABLES = ["brain_entities", "brain_observations"] as const;
/** Indexes that are faster to build than to fill. */
const BUILT_AFTERWARDS = ["idx_entities_trgm"];

export interface VectorSource {
  readonly label: string;
  of(text: string): Float32Array;
}

export async function bulkLoad(connection: Connection, memories: readonly Memory[], vectors?: VectorSource): Promise<void> {
  const { rows: indexes } = await connection.query(
    "select indexname as name, indexdef as definition from pg_indexes where indexname = any($1::text[])",
    [arrayLiteral(BUILT_AFTERWARDS)],
  );
  // One transaction: a load that is broken off leaves an empty database, and no slow half of one.
  await connection.script("set statement_timeout = 0; begin");
  for (const { name } of indexes) await connection.script(`drop index ${String(name)}`);
  for (const table of TABLES) await connection.script(`alter table ${table} disable trigger user`);

  const ids = new Map([...new Set(memories.map(({ entity }) => entity))].map((name) => [name, newId()]));
  const names = [...ids.keys()];
  await connection.query(
    "insert into brain_entities (id, name, name_key, lexical) select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[])",
    [
      arrayLiteral([...ids.values()]),
      arrayLiteral(names),
      arrayLiteral(names.map(nameKey)),
      arrayLiteral(names.map((name) => lexicalText(`${name} concept`))),
    ],
  );
  for (let at = 0; at < memories.length; at += BATCH_ROWS) {
    const batch = memories.slice(at, at + BATCH_ROWS);
    await connection.query(
      `insert into brain_observations (id, entity_id, content, lexical, importance, embedding, embedding_model)
       select n.id, n.entity_id, n.content, n.lexical, n.importance, n.vector::vector, case when n.vector is not null then $6::text end
       from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $7::float8[]) as n(id, entity_id, content, lexical, vector, importance)`,
      [
        arrayLiteral(batch.map(({ id }) => id)),
        arrayLiteral(batch.map(({ entity }) => ids.get(entity) ?? null)),
        arrayLiteral(batch.map(({ content }) => content)),
        arrayLiteral(batch.map(({ content }) => lexicalText(content))),
        arrayLiteral(batch.map(({ content }) => (vectors === undefined ? null : vectorLiteral(vectors.of(content))))),
        vectors?.label ?? null,
        arrayLiteral(batch.map(({ content }) => String(initialImportance("fact", informationDensity(content))))),
      ],
    );
  }
  await connection.script(`
    set work_mem = '64MB'; set maintenance_work_mem = '64MB';
    insert into brain_postings (term, kind, project_key, row_id, tf, length)
    select w.term, r.kind, brain_project_key(r.project_id), r.id, w.tf, brain_word_count(r.own) + coalesce(brain_word_count(r.name), 0)
    from (
      select 1 as kind, o.project_id, o.id, o.search_vector as own, e.search_vector as name
      from brain_observations as o join brain_entities as e on e.id = o.entity_id
      union all select 2, e.project_id, e.id, e.search_vector, null from brain_entities as e
    ) as r cross join lateral brain_words_of(r.own, r.name) as w
    order by 1, 2, 3, 4;
    insert into brain_posting_totals (kind, project_key, slot, row_count, word_count, changes)
    select p.kind, p.project_key, 0, count(*), sum(p.length), 1
    from (select distinct kind, project_key, row_id, length from brain_postings) as p group by p.kind, p.project_key`);
  for (const table of TABLES) await connection.script(`alter table ${table} enable trigger user`);
  for (const { definition } of indexes) await connection.script(String(definition));
  if (vectors !== undefined) await connection.query("select brain_fit_vectors($1::text, 2000)", [vectors.label]);
  await connection.script("commit");
  for (const table of ["brain_postings", "brain_vector_signs", ...TABLES]) await connection.query(`vacuum analyze ${table}`);
  await connection.script("reset work_mem; reset maintenance_work_mem; reset statement_timeout; checkpoint");
}
