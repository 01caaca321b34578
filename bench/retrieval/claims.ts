/**
 * What `mode=verify` makes of true and false claims about the public corpus, judge by judge.
 *
 *   bun bench/retrieval/claims.ts [--no-model]
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { Grounding } from "../../src/domain/trust/verify.ts";
import { createEntailment } from "../../src/inference/entailment.ts";
import { locatePairModel } from "../../src/inference/models/locate-pair.ts";
import type { Embedder } from "../../src/inference/port.ts";
import { newId } from "../../src/kernel/ids.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createChunks } from "../../src/services/chunks.ts";
import { createEmbeddingQueue } from "../../src/services/embedding/queue.ts";
import { createVectors } from "../../src/services/embedding/vectors.ts";
import { loadCorpus } from "../../src/services/evaluation/corpus.ts";
import type { Judge } from "../../src/services/judge/judge.ts";
import { createSearch } from "../../src/services/search/search.ts";
import type { Database } from "../../src/store/port.ts";
import { upsertProject } from "../../src/store/queries/projects.ts";
import { certain, judgeWith, scriptedEntailment } from "../../test/support/judge.ts";
import { type CorpusClaim, type CorpusProject, corpusFile, corpusProjects, readClaims, readMemories } from "../support/corpus.ts";
import { benchContext, openBenchDatabase, realEmbedder, withoutModel } from "./bench-database.ts";
import { sharedFolder } from "./eval-sets.ts";
import { remembering } from "./remembering.ts";

const VECTORS_LIMIT_MS = 3_600_000;

async function load(db: Database, embedder: Embedder): Promise<Map<CorpusProject, string>> {
  const projects = new Map<CorpusProject, string>();
  const chunks = createChunks({ thresholdChars: 1_800, sizeChars: 1_400 });
  const queue = createEmbeddingQueue({ db, embedder, vectors: createVectors({ db, embedder, log: silentLogger }), log: silentLogger });
  for (const project of corpusProjects) {
    const made = await db.write(benchContext(), (tx) => tx.first(upsertProject({ name: `claims-${newId()}-${project}` })));
    if (made === undefined) throw new Error("an upsert returned no row");
    projects.set(project, made.id);
    const text = readFileSync(corpusFile(project, "corpus"), "utf8");
    const { withoutVector } = await loadCorpus(
      { db, chunks, queue },
      benchContext({ kind: "project", id: made.id }),
      text,
      VECTORS_LIMIT_MS,
    );
    if (withoutVector > 0 && embedder !== withoutModel) throw new Error(`${withoutVector} memories wait for a vector`);
  }
  await queue.stop();
  return projects;
}

const claims = corpusProjects.flatMap((project) => readClaims(project).map((claim) => ({ ...claim, project })));
const memories = new Map(corpusProjects.flatMap(readMemories).map(({ id, content }) => [content, id]));
const byText = new Map<string, CorpusClaim>(claims.map((claim) => [claim.claim, claim]));

type Said = keyof typeof certain;
/** What a perfect reader says of a memory and a claim, in either order. */
function truth(one: string, other: string): Said {
  const claim = byText.get(other) ?? byText.get(one);
  const memory = memories.get(one) ?? memories.get(other);
  if (claim === undefined || memory === undefined) return "neutral";
  if (memory === claim.said_before_by) return "entails";
  if (memory !== claim.about) return "neutral";
  return claim.holds ? "entails" : "contradicts";
}
const opposite: Readonly<Record<Said, Said>> = {
  entails: "contradicts",
  contradicts: "entails",
  neutral: "neutral",
  undecided: "undecided",
};

function scripted(script: (premise: string, hypothesis: string, turn: number) => Said | "slow"): Judge {
  let turn = 0;
  return judgeWith({
    entailment: scriptedEntailment((premise, hypothesis) => {
      const said = script(premise, hypothesis, turn++);
      return said === "slow" ? undefined : certain[said];
    }),
  });
}

const noiseFolder = mkdtempSync(join(tmpdir(), "mi-claims-"));
for (const file of ["model.onnx", "tokenizer.json", "config.json"])
  copyFileSync(join(sharedFolder(), "models/tiny-nli", file), join(noiseFolder, file));
const noise = await createEntailment({
  find: () => locatePairModel({ slot: "nli", explicitPath: noiseFolder }),
  threads: 1,
  placement: { device: "cpu", arena: false, spinning: false },
  log: silentLogger,
});

const judges: readonly (readonly [string, Judge | undefined])[] = [
  ["none", undefined],
  ["right", scripted(truth)],
  ["undecided", scripted(() => "undecided")],
  ["slow", scripted(() => "slow")],
  ["right, undecided, slow by turns", scripted((p, h, turn) => (turn % 3 === 0 ? truth(p, h) : turn % 3 === 1 ? "undecided" : "slow"))],
  ["chance: contradicts, entails by turns", scripted((_p, _h, turn) => (turn % 2 === 0 ? "contradicts" : "entails"))],
  ["tiny-nli (random weights)", judgeWith({ entailment: noise })],
  ["wrong (told the opposite)", scripted((p, h) => opposite[truth(p, h)])],
];

const embedder = process.argv.includes("--no-model") ? withoutModel : await realEmbedder();
const { db } = await openBenchDatabase(embedder === withoutModel ? "claims-words" : "claims", { anew: true });
const projects = await load(db, embedder);
const { db: asked } = remembering(db);

const git = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"]).stdout.toString().trim();
console.log(
  `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, commit ${git}, engine embedded, ` +
    `corpus bench/corpus (${memories.size} memories, ${claims.length} claims), model ${embedder === withoutModel ? "none" : embedder.label}`,
);

type Level = Grounding["level"];
const confirmed = new Set<Level>(["verified", "partial", "weak"]);
const kinds = [
  ["true", claims.filter(({ holds }) => holds)],
  ["false", claims.filter(({ holds, said_before_by }) => !holds && said_before_by === undefined)],
  ["outdated", claims.filter(({ said_before_by }) => said_before_by !== undefined)],
] as const;

console.log(
  `\n${"judge".padEnd(38)} ${"claims".padEnd(9)} ${["n", "confirmed", "contradicted", "unknown", "evidence seen"].map((c) => c.padStart(14)).join("")}`,
);
for (const [name, judge] of judges) {
  const { verify } = createSearch({ db: asked, embedder, fusion: "scores", entityLeg: true, judge });
  for (const [kind, chosen] of kinds) {
    const levels: Level[] = [];
    let seen = 0;
    for (const { claim, project, about } of chosen) {
      const { grounding, evidence } = await verify(benchContext({ kind: "project", id: projects.get(project) ?? "" }), claim);
      levels.push(grounding);
      if (evidence.slice(0, judge?.maxPairs ?? evidence.length).some(({ id }) => id === about)) seen++;
    }
    const share = (count: number) => `${count} (${Math.round((100 * count) / chosen.length)} %)`.padStart(14);
    const count = (is: (level: Level) => boolean) => share(levels.filter(is).length);
    console.log(
      `${name.padEnd(38)} ${kind.padEnd(9)} ${String(chosen.length).padStart(14)}` +
        `${count((level) => confirmed.has(level))}${count((level) => level === "contradicted")}${count((level) => level === "unknown")}${share(seen)}`,
    );
  }
}
console.log("\nconfirmed: verified, partial or weak. evidence seen: the memory that decides the claim was among what the judge may read.");
console.log("outdated: false today, and an older memory still says it.");
await noise.close();
rmSync(noiseFolder, { recursive: true, force: true });
await embedder.close();
await db[Symbol.asyncDispose]();
