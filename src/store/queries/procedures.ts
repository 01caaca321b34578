/** Procedures: how things are done, with their record. Lookups by name are exact about the project, lists are not. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { projectOf, type Scope } from "../../kernel/context.ts";
import { float8, json, query, uuid, uuidArray, vectorParam } from "../codecs.ts";
import { inScope, ofScope } from "./predicates.ts";

const Step = z.object({ do: z.string(), run: z.string().optional(), expect: z.string().optional() });
export type Step = z.output<typeof Step>;

const Procedure = z.object({
  id: uuid,
  name: z.string(),
  trigger: z.string(),
  // A bundle of another machine may bring a step that is no step: it is shown as far as it is one.
  steps: z.array(Step.catch({ do: "(unreadable step)" })),
  preconditions: z.string(),
  verification: z.string(),
  successes: z.int(),
  failures: z.int(),
  successesSinceEdit: z.int(),
  failuresSinceEdit: z.int(),
  lastOutcome: z.enum(["success", "failure"]).nullable(),
  projectName: z.string().nullable(),
});
export type Procedure = z.output<typeof Procedure>;

const columns = sql`p.id, p.name, p.trigger_context as trigger, p.steps, p.preconditions, p.verification, p.success_count as successes,
  p.failure_count as failures, p.success_since_edit as "successesSinceEdit", p.failure_since_edit as "failuresSinceEdit",
  p.last_outcome as "lastOutcome", (select j.name from brain_projects as j where j.id = p.project_id) as "projectName"`;

export interface NewProcedure {
  readonly name: string;
  readonly trigger: string;
  readonly steps: readonly Step[];
  readonly preconditions: string;
  readonly verification: string;
}

/**
 * Stores a procedure, or the new texts of the one that has this name. The record stays; what is counted since the edit begins anew when the
 * steps change, the vector is made anew when what it stands for changes, `updated_at` moves only when a text does.
 */
export const putProcedure = query(
  Procedure.extend({ created: z.boolean() }),
  (q: NewProcedure & { id: string; scope: Scope }) => sql`
  insert into brain_procedures as p (id, name, trigger_context, steps, preconditions, verification, project_id)
  values (${q.id}::uuid, ${q.name}::text, ${q.trigger}::text, ${json(q.steps)}, ${q.preconditions}::text, ${q.verification}::text,
          ${projectOf(q.scope)}::uuid)
  on conflict on constraint uq_procedure_name_project do update
  set trigger_context = excluded.trigger_context, steps = excluded.steps, preconditions = excluded.preconditions, verification = excluded.verification,
      success_since_edit = case when p.steps = excluded.steps then p.success_since_edit else 0 end,
      failure_since_edit = case when p.steps = excluded.steps then p.failure_since_edit else 0 end,
      embedding = case when p.trigger_context = excluded.trigger_context then p.embedding end,
      embedding_model = case when p.trigger_context = excluded.trigger_context then p.embedding_model end,
      updated_at = case
        when (p.trigger_context, p.steps, p.preconditions, p.verification)
          is distinct from (excluded.trigger_context, excluded.steps, excluded.preconditions, excluded.verification) then now()
        else p.updated_at
      end
  returning ${columns}, p.xmax = 0 as created`,
);

export const procedureNamed = query(
  Procedure,
  (q: { name: string; scope: Scope }) => sql`
  select ${columns} from brain_procedures as p where p.name = ${q.name}::text and ${ofScope("p", q.scope)}`,
);

/** Projects that have a procedure of this name; what row security lets through. */
export const projectsWithProcedure = query(
  z.object({ project: z.string() }),
  (q: { name: string }) => sql`
  select j.name as project
  from brain_procedures as p join brain_projects as j on j.id = p.project_id
  where p.name = ${q.name}::text
  order by j.name
  limit 20`,
);

/** Counts one run. The texts keep their date. */
export const countOutcome = query(
  Procedure,
  (q: { name: string; success: boolean; scope: Scope }) => sql`
  update brain_procedures as p
  set success_count = p.success_count + (${q.success}::bool)::int, failure_count = p.failure_count + (not ${q.success}::bool)::int,
      success_since_edit = p.success_since_edit + (${q.success}::bool)::int,
      failure_since_edit = p.failure_since_edit + (not ${q.success}::bool)::int,
      last_outcome = case when ${q.success}::bool then 'success' else 'failure' end, last_used_at = now()
  where p.name = ${q.name}::text and ${ofScope("p", q.scope)}
  returning ${columns}`,
);

export const deleteProcedure = (q: { name: string; scope: Scope }) => sql`
  delete from brain_procedures as p where p.name = ${q.name}::text and ${ofScope("p", q.scope)}`;

/** Last used first, never used last, then by name. */
export const procedureList = query(
  Procedure,
  (q: { scope: Scope; limit: number; offset: number }) => sql`
  select ${columns}
  from brain_procedures as p
  where ${inScope("p", q.scope)}
  order by p.last_used_at desc nulls last, p.name, p.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

/** All of them by id, for a walk. */
export const proceduresAfter = query(
  Procedure,
  (q: { scope: Scope; after: string; limit: number }) => sql`
  select ${columns}
  from brain_procedures as p
  where p.id > ${q.after}::uuid and ${inScope("p", q.scope)}
  order by p.id
  limit ${q.limit}::int`,
);

export const procedureCount = query(
  z.object({ count: z.int() }),
  (q: { scope: Scope }) => sql`select count(*)::int as count from brain_procedures as p where ${inScope("p", q.scope)}`,
);

/** Most procedures that a search weighs: a project has a dozen, a database of many projects some hundred. */
const MOST_WEIGHED = 2_000;

/** What a search weighs; `cosine` where the row has a vector of the running model. Plan: reads the table, which is small by nature. */
export const procedureTexts = query(
  z.object({ id: uuid, name: z.string(), trigger: z.string(), cosine: float8.nullable() }),
  (q: { vector: Float32Array | undefined; label: string; scope: Scope }) => sql`
  select p.id, p.name, p.trigger_context as trigger,
         case when p.embedding_model = ${q.label}::text then 1 - (p.embedding <=> ${vectorParam(q.vector ?? null)}) end as cosine
  from brain_procedures as p
  where ${inScope("p", q.scope)}
  order by p.last_used_at desc nulls last, p.id
  limit ${MOST_WEIGHED}::int`,
);

export const proceduresById = query(
  Procedure,
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select ${columns} from brain_procedures as p where p.id = any(${uuidArray(q.ids)}) and ${inScope("p", q.scope)}`,
);
