/** An embedded database for measurements, kept under the system's temporary folder from run to run, and the real embedder with its vectors kept too. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adoptModel } from "../../scripts/adopt-model.ts";
import { createEmbedder } from "../../src/inference/embedder.ts";
import { locateEmbeddingModel } from "../../src/inference/models/locate.ts";
import type { Embedder } from "../../src/inference/port.ts";
import type { CallContext, Scope } from "../../src/kernel/context.ts";
import { noDeadline } from "../../src/kernel/deadline.ts";
import { unavailable } from "../../src/kernel/errors.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { installedAssets } from "../../src/store/embedded/assets.ts";
import { digestOf, migrate } from "../../src/store/migrate.ts";
import { grants, migrations } from "../../src/store/migrations.ts";
import { openEmbedded } from "../../src/store/pglite.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { sharedFolder } from "./eval-sets.ts";

export const benchFolder = (): string => {
  const folder = join(tmpdir(), "memory-industry-bench");
  mkdirSync(folder, { recursive: true });
  return folder;
};

/** Changes with the schema: a database of another one is made anew. */
export const schemaDigest = new Bun.CryptoHasher("sha256").update(migrations.map(digestOf).join("\n")).digest("hex").slice(0, 12);

export const benchContext = (scope: Scope = { kind: "everything" }): CallContext => ({
  id: "bench",
  client: "bench",
  bound: false,
  principal: { kind: "owner" },
  scope,
  session: undefined,
  deadline: noDeadline,
  signal: new AbortController().signal,
  sampling: undefined,
  progress: () => {},
  log: silentLogger,
});

/** Opens the embedded database of this name and schema. `fresh`: it was empty. */
export async function openBenchDatabase(name: string, options: { readonly anew?: boolean } = {}) {
  const directory = join(benchFolder(), `${name}-${schemaDigest}`);
  if (options.anew) rmSync(directory, { recursive: true, force: true });
  const fresh = !existsSync(join(directory, "PG_VERSION"));
  const db = await openEmbedded({ directory, assets: await installedAssets({ initdb: fresh }), nodeName: "bench", create: fresh });
  if (fresh) await db.asOwner((connection) => migrate(connection, migrations, grants));
  return { db, fresh, directory };
}

/** Opens a database of this name on a server, made where it is missing or of another schema. */
export async function openBenchServer(adminUrl: string, name: string) {
  const database = `mi_bench_${name.replaceAll(/[^a-z0-9]/g, "_")}_${schemaDigest}`;
  const admin = openPostgres({ url: adminUrl, nodeName: "bench" });
  const fresh = await admin.asOwner(async (connection) => {
    const { rows } = await connection.query("select 1 as found from pg_database where datname = $1::text", [database]);
    if (rows.length > 0) return false;
    await connection.script(`create database ${database}`);
    return true;
  });
  await admin[Symbol.asyncDispose]();
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  const db = openPostgres({ url: url.href, role: "cuba_app", nodeName: "bench" });
  if (fresh) await db.asOwner((connection) => migrate(connection, migrations, grants));
  return { db, fresh };
}

/** No model installed. */
export const withoutModel: Embedder = {
  label: "none",
  dimensions: 384,
  status: () => ({ state: "missing", reason: "no embedding model is installed." }),
  warm: () => {},
  embed: async () => {
    throw unavailable("no embedding model is installed.");
  },
  close: async () => {},
};

const DIGEST_BYTES = 32;

/** The product's embedder over the real model of the shared folder; each text costs one run of the model once in the life of the cache. */
export async function realEmbedder(): Promise<Embedder> {
  const model = join(benchFolder(), "models");
  await adoptModel(join(sharedFolder(), "models/multilingual-e5-small"), model);
  const embedder = await createEmbedder({
    find: () => locateEmbeddingModel({ explicitPath: model, overrides: {} }),
    threads: 1,
    log: silentLogger,
  });
  const path = join(benchFolder(), `${embedder.label.replaceAll("/", "-")}.cache`);
  const rowBytes = DIGEST_BYTES + embedder.dimensions * 4;
  const stored = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const known = new Map<string, Float32Array>();
  for (let at = 0; at + rowBytes <= stored.length; at += rowBytes)
    known.set(
      stored.subarray(at, at + DIGEST_BYTES).toString("hex"),
      new Float32Array(new Uint8Array(stored.subarray(at + DIGEST_BYTES, at + rowBytes)).buffer),
    );
  return {
    ...embedder,
    status: () => ({ state: "ready", model: embedder.label }),
    embed: async (texts, role, signal) => {
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        const digest = new Bun.CryptoHasher("sha256").update(`${role}\n${text}`).digest();
        const key = Buffer.from(digest).toString("hex");
        const cached = known.get(key);
        if (cached !== undefined) {
          vectors.push(cached);
          continue;
        }
        const [vector] = await embedder.embed([text], role, signal);
        if (vector === undefined) throw unavailable("the model gave no vector");
        known.set(key, vector);
        appendFileSync(path, Buffer.concat([digest, Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)]));
        vectors.push(vector);
      }
      return vectors;
    },
  };
}
