/** The migrations of this build, embedded: `bun build --compile` carries these imports inside the executable. */
import { readdir } from "node:fs/promises";
import path from "node:path";
import foundation from "../../drizzle/0001_foundation.sql" with { type: "text" };
import tables from "../../drizzle/0002_tables.sql" with { type: "text" };
import functions from "../../drizzle/0003_functions.sql" with { type: "text" };
import security from "../../drizzle/0004_security.sql" with { type: "text" };
import sync from "../../drizzle/0005_sync.sql" with { type: "text" };
import cubes from "../../drizzle/0006_cubes.sql" with { type: "text" };
import textMarks from "../../drizzle/0007_text_marks.sql" with { type: "text" };
import postings from "../../drizzle/0008_postings.sql" with { type: "text" };
import similarErrors from "../../drizzle/0009_similar_errors.sql" with { type: "text" };
import importanceOrder from "../../drizzle/0010_importance_order.sql" with { type: "text" };
import supersededBy from "../../drizzle/0011_superseded_by.sql" with { type: "text" };
import readAgain from "../../drizzle/0012_read_again.sql" with { type: "text" };
import leanerInserts from "../../drizzle/0013_leaner_inserts.sql" with { type: "text" };
import vectorSigns from "../../drizzle/0014_vector_signs.sql" with { type: "text" };
import movingProjects from "../../drizzle/0015_moving_projects.sql" with { type: "text" };
import noVectorIndexes from "../../drizzle/0016_no_vector_indexes.sql" with { type: "text" };
import codeBuilds from "../../drizzle/0017_code_builds.sql" with { type: "text" };
import clientProjects from "../../drizzle/0018_client_projects.sql" with { type: "text" };
import grantStatements from "../../drizzle/grants.sql" with { type: "text" };
import type { Migration } from "./migrate.ts";

/** In the order of their numbers; a test compares this list with the directory. */
export const migrations: readonly Migration[] = [
  { name: "0001_foundation", sql: foundation },
  { name: "0002_tables", sql: tables },
  { name: "0003_functions", sql: functions },
  { name: "0004_security", sql: security },
  { name: "0005_sync", sql: sync },
  { name: "0006_cubes", sql: cubes },
  { name: "0007_text_marks", sql: textMarks },
  { name: "0008_postings", sql: postings },
  { name: "0009_similar_errors", sql: similarErrors },
  { name: "0010_importance_order", sql: importanceOrder },
  { name: "0011_superseded_by", sql: supersededBy },
  { name: "0012_read_again", sql: readAgain },
  { name: "0013_leaner_inserts", sql: leanerInserts },
  { name: "0014_vector_signs", sql: vectorSigns },
  { name: "0015_moving_projects", sql: movingProjects },
  { name: "0016_no_vector_indexes", sql: noVectorIndexes },
  { name: "0017_code_builds", sql: codeBuilds },
  { name: "0018_client_projects", sql: clientProjects },
];

/** Privileges of `cuba_app`; run after the migrations and after a restore. */
export const grants: string = grantStatements;

/** The migrations of a `drizzle/` directory, for tools that run from source. */
export async function readMigrations(directory: string): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => /^\d{4}_[a-z0-9_]+\.sql$/.test(file)).sort();
  return Promise.all(
    files.map(async (file) => ({ name: path.basename(file, ".sql"), sql: await Bun.file(path.join(directory, file)).text() })),
  );
}
