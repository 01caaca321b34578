/** What a memory says of code that is gone is marked wherever it is served, and only where the tree is known. */
import { beforeEach, expect, test } from "bun:test";
import { silentLogger } from "../../../src/kernel/logger.ts";
import { createCodeReferences } from "../../../src/services/codegraph/references.ts";
import { createCodeGraph } from "../../../src/services/codegraph/store.ts";
import { createFactMirror } from "../../../src/services/facts.ts";
import { createCalls, paceBehind } from "../../../src/services/pace.ts";
import { createRecall } from "../../../src/services/recall.ts";
import { eachEngine, inProject, testScope } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { callContext, faroOver } from "../../support/search.ts";
import { project } from "../../support/statements.ts";

eachEngine("code that is gone", (engine) => {
  beforeEach(() => engine.db.reset());
  const references = () => createCodeReferences({ db: engine.db });
  const missing = (projectId: string, ...texts: (string | null)[]) =>
    references().missing({ ...inProject(projectId), log: silentLogger }, texts);
  /** Reads a tree of these symbols; its files follow from them. */
  const build = (projectId: string, ...names: string[]) => {
    const files = [...new Set(names.map((name) => name.split("::")[0] ?? ""))];
    return createCodeGraph({
      db: engine.db,
      facts: createFactMirror({ enabled: true }),
      queue: { poke: () => {} },
      paceOf: paceBehind(createCalls()),
    }).store(
      { ...inProject(projectId), log: silentLogger },
      {
        under: "",
        languages: ["typescript", "python"],
        skipped: [],
        files,
        symbols: names.map((name) => ({
          name,
          kind: "function",
          file: name.split("::")[0] ?? "",
          firstLine: 1,
          lastLine: 2,
          signature: "f()",
        })),
        calls: [],
        imports: [{ from: `${files[0]}::<module>`, to: "react-dom/client", external: true }],
      },
      { owns: true },
    );
  };
  const MEMORY = "Auth lives in `src/auth/session.ts`, function `renewToken`";

  test("paths and symbols that the tree does not hold are named, whole paths and their ends", async () => {
    const p = await project(engine.db);
    await build(p, "src/auth/tokens.ts::refreshToken", "src/app.ts::main");
    expect(
      await missing(
        p,
        MEMORY,
        "function `refreshToken` of src/auth/tokens.ts and auth/tokens.ts",
        "`renewToken` was in src/auth/tokens.ts",
        "react-dom/client.js renders",
        "nothing about code",
        null,
      ),
    ).toEqual([["src/auth/session.ts", "renewToken"], [], ["renewToken"], [], [], []]);
    // The end of another name is no end of a path.
    expect(await missing(p, "h/tokens.ts", "h/app.ts")).toEqual([["h/tokens.ts"], ["h/app.ts"]]);
  });

  test("nothing is said without a tree, for another language, another project, or no project at all", async () => {
    const [p, other] = [await project(engine.db), await project(engine.db)];
    expect(await missing(p, MEMORY)).toEqual([[]]);
    await build(p, "src/app.ts::main");
    expect(await missing(p, "the worker is in workers/mail.py")).toEqual([[]]);
    expect(await missing(other, MEMORY)).toEqual([[]]);
    expect(await references().missing({ ...testScope(), log: silentLogger }, [MEMORY])).toEqual([[]]);
  });

  test("a search, a verification and recall carry the mark, and hide nothing", async () => {
    const p = await project(engine.db);
    const ctx = callContext({ scope: { kind: "project", id: p } });
    const ask = (args: Record<string, unknown>) => faroOver(engine.db).ask(args, ctx);
    await graphOver(engine.db).caller(ctx.scope)("cuba_cronica", {
      action: "add",
      entity_name: "Auth",
      content: MEMORY,
      observation_type: "decision",
    });
    const faro = () => ask({ query: "where is auth, which function renews the token" });
    expect(JSON.stringify(await faro())).not.toContain("not_in_tree");
    await build(p, "src/auth/tokens.ts::refreshToken");
    const found = await faro();
    const row = (Array.isArray(found.results) ? found.results : []).find(({ c }: { c?: unknown }) => c === MEMORY);
    expect(row).toMatchObject({ c: MEMORY, not_in_tree: ["src/auth/session.ts", "renewToken"] });
    expect(found.not_in_tree_note).toContain("codegraph build");
    const verified = await ask({ mode: "verify", query: "`renewToken` is in src/auth/session.ts" });
    expect(verified.claim_not_in_tree).toEqual(["src/auth/session.ts", "renewToken"]);
    const [evidence] = Array.isArray(verified.evidence) ? verified.evidence : [];
    expect(evidence).toMatchObject({ content: MEMORY, not_in_tree: ["src/auth/session.ts", "renewToken"] });
    const recalled = await createRecall({ db: engine.db, references: references() }).recall(
      { ...inProject(p), log: silentLogger },
      { project: undefined, maxTokens: 900 },
    );
    expect(recalled.text).toContain(`- Auth: ${MEMORY} [not in the source tree any more: src/auth/session.ts, renewToken]`);
    await build(p, "src/auth/session.ts::renewToken");
    expect(JSON.stringify(await faro())).not.toContain("not_in_tree");
  });

  test("a comparison that fails costs nobody an answer", async () => {
    const broken = createCodeReferences({ db: { ...engine.db, read: () => Promise.reject(new Error("away")) } });
    expect(await broken.missing({ ...inProject(await project(engine.db)), log: silentLogger }, [MEMORY])).toEqual([[]]);
  });
});
