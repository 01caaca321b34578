/** A program to compile: opens the embedded database and runs a model with nothing but what lies inside it, then says in JSON what it saw. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { openAssets } from "../../src/app/assets.ts";
import { createEmbedder } from "../../src/inference/embedder.ts";
import { locateEmbeddingModel } from "../../src/inference/models/locate.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { openEmbedded } from "../../src/store/pglite.ts";

const [command, database = "", cacheRoot = "", model = ""] = process.argv.slice(2);
const say = (answer: unknown) => process.stdout.write(`${JSON.stringify(answer)}\n`);

if (command === "environment") {
  say({ secret: process.env.SECRET_OF_A_PROJECT ?? null });
} else if (command === "embed") {
  const [, explicitPath, runtimeRoot = "", text = ""] = process.argv.slice(2);
  const find = () => locateEmbeddingModel({ explicitPath, overrides: {} });
  const embedder = await createEmbedder({
    find,
    runtimeDirectory: openAssets().runtimeDirectory(runtimeRoot),
    threads: 1,
    log: silentLogger,
  });
  const [vector] = await embedder.embed([text], "passage", AbortSignal.timeout(60_000));
  await embedder.close();
  say([...(vector ?? [])]);
} else {
  const assets = openAssets();
  const db = await openEmbedded({ directory: database, assets: await assets.engine(cacheRoot), nodeName: "test" });
  const statement = sql`select '[1,2]'::vector <-> '[1,1]' as distance, similarity('abc', 'abd')::float8 as similarity, current_user::text as role`;
  const schema = z.object({ distance: z.number(), similarity: z.number(), role: z.string() });
  const scope = { principal: { kind: "owner" }, scope: { kind: "none" }, signal: new AbortController().signal } as const;
  const row = await db.read(scope, (tx) => tx.first({ schema, statement }));
  await db[Symbol.asyncDispose]();
  Reflect.set(globalThis, Symbol.for("memory-industry.onnxruntime.directory"), assets.runtimeDirectory(cacheRoot));
  const { InferenceSession } = await import("onnxruntime-node");
  const session = await InferenceSession.create(model);
  say({ compiled: assets.compiled, row, inputs: session.inputNames });
}
