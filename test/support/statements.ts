/** Short forms for tests that speak SQL: one statement, one transaction, as `cuba_app`. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { CallScope } from "../../src/kernel/context.ts";
import { newId } from "../../src/kernel/ids.ts";
import { query } from "../../src/store/codecs.ts";
import { storeFault } from "../../src/store/failures.ts";
import type { Database, Tx } from "../../src/store/port.ts";
import { testScope } from "./engines.ts";

const anyRow = z.record(z.string(), z.unknown());
export type AnyRow = z.infer<typeof anyRow>;

const statement = query(anyRow, (text: SQL) => text);

/** All rows of one statement inside an open transaction. */
export const rowsIn = (tx: Tx, text: SQL): Promise<AnyRow[]> => tx.all(statement(text));

/** All rows of one statement in a transaction of its own. */
export const rows = (db: Database, text: SQL, ctx: CallScope = testScope()): Promise<AnyRow[]> => db.write(ctx, (tx) => rowsIn(tx, text));

/** The first row; fails the test where there is none. */
export async function row(db: Database, text: SQL, ctx: CallScope = testScope()): Promise<AnyRow> {
  const [first] = await rows(db, text, ctx);
  if (first === undefined) throw new Error("the statement returned no row");
  return first;
}

/** The SQLSTATE with which `work` fails, `"none"` where it succeeds. */
export async function stateOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    return storeFault(error)?.state ?? String(error);
  }
}

export async function project(db: Database, name = `project ${newId()}`): Promise<string> {
  return String((await row(db, sql`insert into brain_projects (name) values (${name}::text) returning id`)).id);
}

export async function entity(db: Database, projectId: string | null = null, name = `entity ${newId()}`): Promise<string> {
  const made = await row(db, sql`insert into brain_entities (name, project_id) values (${name}::text, ${projectId}::uuid) returning id`);
  return String(made.id);
}

export interface ObservationParts {
  readonly content?: string;
  readonly type?: string;
  readonly project?: string | null;
  readonly lexical?: string | null;
}

export async function observation(db: Database, entityId: string, parts: ObservationParts = {}): Promise<string> {
  const made = await row(
    db,
    sql`insert into brain_observations (entity_id, content, observation_type, project_id, lexical)
        values (${entityId}::uuid, ${parts.content ?? "water boils at 100 degrees"}::text, ${parts.type ?? "fact"}::text,
                ${parts.project ?? null}::uuid, ${parts.lexical ?? null}::text)
        returning id`,
  );
  return String(made.id);
}
