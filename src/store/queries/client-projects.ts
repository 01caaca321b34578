/** Which project a client chose, kept for the process after this one. Control plane: callers run with scope `everything`. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { floatArray, query, textArray, uuid } from "../codecs.ts";

/** `switch`: `cuba_proyecto switch` without a session · `root`: a workspace root that came over HTTP, where none can be asked for again. */
export const keptSources = ["switch", "root"] as const;
export type KeptSource = (typeof keptSources)[number];

export const keepClientProject = (q: { clientKey: string; source: KeptSource; projectId: string }) => sql`
  insert into brain_client_projects (client_key, source, project_id)
  values (${q.clientKey}::text, ${q.source}::text, ${q.projectId}::uuid)
  on conflict (client_key, source) do update set project_id = excluded.project_id, last_seen_at = now()`;

/** What a client chose, where it was seen lately. */
export const keptProjectsOf = query(
  z.object({ source: z.enum(keptSources), id: uuid, name: z.string() }),
  (q: { clientKey: string; maxIdleHours: number }) => sql`
  select c.source, p.id, p.name
  from brain_client_projects as c
  join brain_projects as p on p.id = c.project_id
  where c.client_key = ${q.clientKey}::text and c.last_seen_at > now() - make_interval(hours => ${q.maxIdleHours}::int)
  order by c.source`,
);

/** Writes when each client was last seen; those who chose nothing have no row. */
export const clientsSeen = (seen: readonly { readonly clientKey: string; readonly idleSecs: number }[]) => sql`
  update brain_client_projects as c
  set last_seen_at = greatest(c.last_seen_at, now() - make_interval(secs => s.idle))
  from unnest(${textArray(seen.map(({ clientKey }) => clientKey))}, ${floatArray(seen.map(({ idleSecs }) => idleSecs))}) as s(client_key, idle)
  where c.client_key = s.client_key`;

export const forgetClientProjects = (clientKey: string) => sql`
  delete from brain_client_projects where client_key = ${clientKey}::text`;

/** Deletes what nobody came back for, and of this machine what is more than `most`, the longest unseen first. Rows that others hold wait for the next time. */
export const trimClientProjects = (q: { machine: string; maxIdleHours: number; most: number }) => sql`
  with surplus as (
    select client_key, source from brain_client_projects
    where starts_with(client_key, ${`${q.machine}/`}::text)
    order by last_seen_at desc, client_key, source
    offset ${q.most}::int
  ), going as (
    select c.client_key, c.source from brain_client_projects as c
    where c.last_seen_at <= now() - make_interval(hours => ${q.maxIdleHours}::int)
      or (c.client_key, c.source) in (select client_key, source from surplus)
    order by c.client_key, c.source
    for update skip locked
  )
  delete from brain_client_projects as c using going as g where c.client_key = g.client_key and c.source = g.source`;
