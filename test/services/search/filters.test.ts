import { beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { newId } from "../../../src/kernel/ids.ts";
import { eachEngine } from "../../support/engines.ts";
import {
  callContext,
  embedderOf,
  faroOver,
  LABEL,
  rowsOf,
  seedEntity,
  seedEpisode,
  seedError,
  seedObservation,
  seedProject,
  seedRelation,
  vectorOf,
} from "../../support/search.ts";

/** What a row of the world is like; a search may show it only where its filters say so. */
interface Placed {
  readonly id: string;
  readonly project: string | null;
  readonly at: string;
  readonly served: boolean;
  readonly tags: readonly string[];
  readonly kind: string;
}

const OLD = "2024-01-10T00:00:00Z";
const NEW = "2025-06-10T00:00:00Z";
const WORDS = "marmalade lighthouse";
const QUESTIONS = [WORDS, "how does marmalade depend on the lighthouse", "Lighthouse", "overview of marmalade", "marmelade"];
const MEANING = vectorOf({ 1: 1 });

eachEngine("no leg of a search shows a row outside of project, window, trust or tag", (engine) => {
  const rows: Placed[] = [];
  const projects: (string | null)[] = [null];

  beforeAll(async () => {
    const { db } = engine;
    await db.reset();
    projects.push(await seedProject(db, "A"), await seedProject(db, "B"));
    for (const project of projects) {
      for (const name of ["Lighthouse", "Marmalade", "Harbour"]) {
        const id = newId();
        await seedEntity(db, { id, name, project });
        rows.push({ id, project, at: "now", served: true, tags: [], kind: "entity" });
      }
      await seedRelation(db, { from: "Lighthouse", to: "Marmalade", project });
      await seedRelation(db, { from: "Marmalade", to: "Harbour", project });
      for (const at of [OLD, NEW])
        for (const trust of ["trusted", "quarantined"] as const) {
          for (const type of ["fact", "superseded"])
            for (const tags of [[], ["red"]]) {
              const id = await seedObservation(db, {
                entity: tags.length > 0 ? "Harbour" : "Lighthouse",
                content: `${WORDS} ${rows.length}`,
                project,
                trust,
                type,
                tags,
                createdAt: at,
                vector: MEANING,
                chunks: [{ content: `${WORDS} piece`, vector: MEANING }],
              });
              rows.push({ id, project, at, served: trust === "trusted" && type === "fact", tags, kind: "observation" });
            }
          const seed = { project, trust, createdAt: at };
          const episode = await seedEpisode(db, {
            ...seed,
            entity: "Lighthouse",
            content: `${WORDS} episode ${rows.length}`,
            vector: MEANING,
          });
          rows.push({ id: episode, project, at, served: trust === "trusted", tags: [], kind: "episode" });
          const error = await seedError(db, { ...seed, message: `${WORDS} broke ${rows.length}` });
          rows.push({ id: error, project, at, served: trust === "trusted", tags: [], kind: "error" });
        }
    }
  }, 120_000);

  test("whatever the flags", async () => {
    const { db } = engine;
    const embedder = embedderOf(Object.fromEntries(QUESTIONS.map((question) => [question, MEANING])));
    const searches = (["scores", "rrf"] as const).map((fusion) => faroOver(db, { embedder, fusion }));
    const flags = fc.record({
      query: fc.constantFrom(...QUESTIONS),
      scope: fc.constantFrom("all", "entities", "observations", "errors"),
      diversify: fc.boolean(),
      enable_bm25: fc.boolean(),
      associative: fc.boolean(),
      include_unscoped: fc.boolean(),
      limit: fc.constantFrom(1, 10, 50),
      window: fc.constantFrom({}, { after: "2025-01-01T00:00:00Z" }, { before: "2025-01-01T00:00:00Z" }),
      tagged: fc.boolean(),
      project: fc.constantFrom(0, 1, 2),
      fusion: fc.constantFrom(0, 1),
    });
    let shown = 0;
    await fc.assert(
      fc.asyncProperty(flags, async ({ window, tagged, project, fusion, ...args }) => {
        const id = projects[project] ?? null;
        const scope = id === null ? ({ kind: "none" } as const) : ({ kind: "project", id } as const);
        const canTag = args.scope === "all" || args.scope === "observations";
        const answer = await searches[fusion]?.ask(
          { ...args, ...window, ...(tagged && canTag ? { tags: "red" } : {}), track_access: false, max_tokens: 100_000 },
          callContext({ scope }),
        );
        expect(answer).not.toHaveProperty("degraded");
        for (const row of rowsOf(answer ?? {})) {
          shown++;
          const placed = rows.find((each) => each.id === row.id);
          expect(placed).toBeDefined();
          if (placed === undefined) continue;
          expect(placed.served).toBe(true);
          if (id !== null) expect([id, ...(args.include_unscoped ? [null] : [])]).toContain(placed.project);
          if ("after" in window) expect([NEW, "now"]).toContain(placed.at);
          if ("before" in window) expect(placed.at).toBe(OLD);
          if (tagged && canTag) expect(placed.tags).toEqual(["red"]);
          if (args.scope !== "all") expect(`${placed.kind}s`.replace("entitys", "entities")).toBe(args.scope);
        }
      }),
      { numRuns: 60 },
    );
    expect(shown).toBeGreaterThan(100);
    expect(LABEL).toBe("test-model/name-type-1");
  }, 120_000);

  test("an old row that only a keyword finds is not there when the window begins later, by any arm", async () => {
    const { ask } = faroOver(engine.db, { embedder: embedderOf({ Lighthouse: MEANING }) });
    for (const query of ["Lighthouse", "how is Lighthouse related to Harbour"])
      for (const associative of [true, false]) {
        const answer = await ask({ query, associative, after: "2025-01-01T00:00:00Z", limit: 50, max_tokens: 100_000 });
        expect(rowsOf(answer).length).toBeGreaterThan(0);
        for (const row of rowsOf(answer)) expect(rows.find((each) => each.id === row.id)?.at).not.toBe(OLD);
      }
  });

  test("a tag narrows to observations that carry it, whatever else matches", async () => {
    const { ask } = faroOver(engine.db);
    const found = rowsOf(await ask({ query: WORDS, tags: "red", format: "verbose", limit: 50, max_tokens: 100_000 }));
    expect(found.length).toBe(6);
    for (const row of found) expect(row).toMatchObject({ type: "observation", matched_tag: "red", tags: ["red"] });
    expect(rowsOf(await ask({ query: WORDS, tags: "re" }))).toEqual([]);
  });

  test("neighbours and connections stay in the project", async () => {
    const { db } = engine;
    const only = await seedProject(db, "C");
    await seedEntity(db, { name: "Lighthouse", project: only });
    await seedEntity(db, { name: "Quay", project: only });
    await seedRelation(db, { from: "Lighthouse", to: "Quay", project: only });
    await seedObservation(db, { entity: "Quay", content: "boats moor here", project: only });
    const answer = await faroOver(db).ask(
      { query: "how does Lighthouse depend on Quay" },
      callContext({ scope: { kind: "project", id: only } }),
    );
    expect(JSON.stringify(answer)).not.toContain("Marmalade");
    expect(answer).toMatchObject({
      query_class: "multi_hop",
      graph_backend: "postgres",
      graph_paths: [{ n: ["Lighthouse", "Quay"], r: ["uses"], s: 0.5 }],
    });
    expect(answer.graphrag_context).toContainEqual({
      entity: "Lighthouse",
      neighbors: [{ name: "Quay", relation: "uses", importance: 0.5 }],
    });
  });
});
