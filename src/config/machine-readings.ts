/** What the governor reads of this machine: the cgroup's limit, the memory that new work can have, the weight of model files. Linux where it says so. */
import { readFileSync, statSync } from "node:fs";
import { freemem } from "node:os";
import { join, posix } from "node:path";

const MEBIBYTE = 1_048_576;
const V2_ROOT = "/sys/fs/cgroup";
const V1_ROOT = "/sys/fs/cgroup/memory";
/** cgroup v1 writes "no limit" as the largest page-aligned number; no machine has this much. */
const NO_LIMIT_BYTES = 2 ** 60;

/** Text of a file, undefined where there is none. */
export type ReadText = (path: string) => string | undefined;

const readText: ReadText = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
};

/**
 * The smallest limit from the root of the cgroup file system down to this process, MiB; undefined without one. The limit usually sits on an ancestor;
 * `memory.high` counts too, since the kernel reclaims there (2.56 GiB were seen in swap under 4,500 M).
 */
export function cgroupLimitMb(read: ReadText = readText): number | undefined {
  const lines = (read("/proc/self/cgroup") ?? "").split("\n");
  const unified = lines.find((line) => line.startsWith("0::"))?.slice("0::".length);
  const v1 = lines.map((line) => line.split(":")).find(([, controllers = ""]) => controllers.split(",").includes("memory"))?.[2];
  const limits = [
    ...(unified === undefined
      ? []
      : along(V2_ROOT, unified).flatMap((folder) => ["memory.max", "memory.high"].map((name) => posix.join(folder, name)))),
    ...(v1 === undefined ? [] : along(V1_ROOT, v1).map((folder) => posix.join(folder, "memory.limit_in_bytes"))),
  ].flatMap((path) => {
    const text = read(path)?.trim() ?? "";
    const bytes = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return bytes < NO_LIMIT_BYTES ? [bytes] : [];
  });
  return limits.length === 0 ? undefined : Math.floor(Math.min(...limits) / MEBIBYTE);
}

/** The folders from `root` to `root/path`. In a container with a namespace of its own the path may lead nowhere; then the root's files count. */
function along(root: string, path: string): string[] {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== "..");
  return [root, ...segments.map((_, at) => posix.join(root, ...segments.slice(0, at + 1)))];
}

/** Memory that new work can have, MiB: what the kernel estimates, else what is free. */
export function availableMb(read: ReadText = readText): number {
  const found = /^MemAvailable:\s+(\d+) kB/m.exec(read("/proc/meminfo") ?? "");
  return found === null ? Math.round(freemem() / MEBIBYTE) : Math.round(Number(found[1]) / 1024);
}

const GRAPH_FILES = ["model.onnx", "model_quantized.onnx"];

/** Graph and external data of a model directory, MiB; undefined where it holds no model. A graph of 614 KB had 4.23 GiB of data beside it. */
export function modelWeightMb(directory: string): number | undefined {
  const sizeOf = (name: string) => statSync(join(directory, name), { throwIfNoEntry: false })?.size;
  for (const graph of GRAPH_FILES) {
    const size = sizeOf(graph);
    if (size !== undefined) return (size + (sizeOf(`${graph}_data`) ?? 0) + (sizeOf(`${graph}.data`) ?? 0)) / MEBIBYTE;
  }
  return undefined;
}
