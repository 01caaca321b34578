/** Names whose letters a copy writes otherwise than the name does: none of them is left. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { newId } from "../../src/kernel/ids.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver } from "../support/graph.ts";
import { project, row, rows } from "../support/statements.ts";

const SECRET = "prefers the corner office with the yellow blinds";

eachEngine("cuba_forget, however a name is written", (engine) => {
  beforeEach(() => engine.db.reset());

  test.each([
    ['Zyx "Mira" Quandt', 'ZYX "MIRA" QUANDT'],
    [String.raw`C:\Zyx\Mira`, String.raw`c:\zyx\mira`],
    ["Ángel Zyñandú", "ÁNGEL ZYÑANDÚ".normalize("NFD")],
    ["Дмитрий Козлов", "ДМИТРИЙ КОЗЛОВ"],
    ["İzyx Ofisi", "İZYX OFİSİ"],
    ["Zyx Mira", "zyx\nmira"],
  ])("no copy of %s is left for how its letters are written, and what stays is listed", async (name, written) => {
    const mine = await project(engine.db);
    const call = graphOver(engine.db).caller({ kind: "project", id: mine });
    await call("cuba_cronica", { action: "add", entity_name: name, content: SECRET });
    for (const as of [name, written]) {
      await call("cuba_alarma", {
        error_type: "Timeout",
        error_message: `a call ${newId()} failed`,
        context: { notes: [`since Monday\n${as}`] },
      });
      await call("cuba_receta", {
        action: "add",
        name: `refund ${newId()}`,
        trigger_context: "a refund",
        steps: [{ do: `write to ${as}` }],
      });
      await call("cuba_artefacto", { action: "put", path: `notes/${newId()}.md`, content: `lead: ${as}` });
      const { id } = await call("cuba_cronica", { action: "add", entity_name: `payments ${newId()}`, content: `Ask ${as} about refunds` });
      await call("cuba_eco", { action: "correct", observation_id: id, correction: "Ask the office about refunds" });
      await rows(
        engine.db,
        sql`insert into brain_handler_failures (tool, error, elapsed_ms) values ('cuba_alma', ${`got ${JSON.stringify(as)}`}::text, 1)`,
      );
      await rows(
        engine.db,
        sql`insert into brain_sessions (session_name, goals, project_id) values ('w', jsonb_build_array(${`call ${as}`}::text), ${mine}::uuid)`,
      );
      await rows(
        engine.db,
        sql`insert into brain_facts (subject, predicate, object, project_id) values (${as}::text, 'is', 'x', ${mine}::uuid)`,
      );
    }
    const theirs = await call("cuba_cronica", { action: "add", entity_name: "payments", content: `Ask ${written} about Mondays` });
    const done = await call("cuba_forget", { entity_name: name, confirm: true });
    expect(done.erased).toMatchObject({
      brain_artifacts: 2,
      brain_errors: 2,
      brain_handler_failures: 2,
      brain_procedures: 2,
      brain_sessions: 2,
      previous_versions: 2,
    });
    expect(done.remaining_mentions).toEqual([theirs.id]);
    expect(await row(engine.db, sql`select count(*)::int as n from brain_facts where object = 'x'`)).toEqual({ n: 0 });
  });

  test.each([
    ["api", "Gateway of payments"],
    ["量子", "Gateway of payments"],
    ["Gateway of payments", "gwp"],
  ])("%s: a name that is too short to be looked for in texts is told, and nothing that has it inside goes", async (name, other) => {
    const short = name.length < 4 ? name : other;
    const mine = await project(engine.db);
    const call = graphOver(engine.db).caller({ kind: "project", id: mine });
    await call("cuba_cronica", { action: "add", entity_name: name, content: SECRET });
    if (short === other)
      await rows(
        engine.db,
        sql`insert into brain_entity_aliases (entity_id, alias_text) select id, ${short}::text from brain_entities where name = ${name}::text`,
      );
    await call("cuba_cronica", { action: "add", entity_name: `${short}计算机-gateway`, content: "answers on port 80" });
    await call("cuba_alarma", { error_type: "Timeout", error_message: `the ${short} failed` });
    const told = expect.stringContaining(`'${short}'`);
    const plan = await call("cuba_forget", { entity_name: name });
    expect(plan.not_reachable).toContainEqual(told);
    const done = await call("cuba_forget", { entity_name: name, confirm: true });
    expect(done).toMatchObject({ entity_deleted: true, erased: { brain_entities: 1 } });
    expect(done.erased).not.toHaveProperty("brain_errors");
    expect(done.not_reachable).toContainEqual(told);
    expect((done.not_reachable as string[]).filter((line) => line.includes("'"))).toHaveLength(1);
  });
});
