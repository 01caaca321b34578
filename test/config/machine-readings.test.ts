import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { availableMb, cgroupLimitMb, modelWeightMb } from "../../src/config/machine-readings.ts";

const files =
  (content: Readonly<Record<string, string>>) =>
  (path: string): string | undefined =>
    content[path];
const MIB = 1_048_576;

describe("the cgroup limit, version 2", () => {
  const self = { "/proc/self/cgroup": "0::/user.slice/app.service\n" };
  test("high counts where max is none", () => {
    expect(
      cgroupLimitMb(
        files({
          ...self,
          "/sys/fs/cgroup/user.slice/app.service/memory.max": "max\n",
          "/sys/fs/cgroup/user.slice/app.service/memory.high": "4718592000\n",
        }),
      ),
    ).toBe(4_500);
  });
  test("both max is no limit", () => {
    expect(
      cgroupLimitMb(
        files({
          ...self,
          "/sys/fs/cgroup/user.slice/app.service/memory.max": "max",
          "/sys/fs/cgroup/user.slice/app.service/memory.high": "max",
        }),
      ),
    ).toBeUndefined();
  });
  test("the smallest on the way down wins, and it usually sits on an ancestor", () => {
    const leaf = { "/sys/fs/cgroup/user.slice/app.service/memory.max": String(4_096 * MIB) };
    expect(cgroupLimitMb(files({ ...self, ...leaf, "/sys/fs/cgroup/user.slice/memory.max": String(2_048 * MIB) }))).toBe(2_048);
    expect(cgroupLimitMb(files({ ...self, ...leaf }))).toBe(4_096);
  });
  test("in a container with a namespace of its own the root has the limit, whatever the path says", () => {
    expect(cgroupLimitMb(files({ "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": String(512 * MIB) }))).toBe(512);
    expect(cgroupLimitMb(files({ "/proc/self/cgroup": "0::/../../docker/abc\n", "/sys/fs/cgroup/memory.max": String(512 * MIB) }))).toBe(
      512,
    );
  });
});

describe("the cgroup limit, version 1", () => {
  const self = { "/proc/self/cgroup": "12:cpu,cpuacct:/x\n5:memory:/docker/abc\n0::/\n" };
  test("is read from the memory controller, ancestors too", () => {
    expect(cgroupLimitMb(files({ ...self, "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": String(1_024 * MIB) }))).toBe(1_024);
    expect(cgroupLimitMb(files({ ...self, "/sys/fs/cgroup/memory/memory.limit_in_bytes": String(256 * MIB) }))).toBe(256);
  });
  test("its largest number means none", () => {
    expect(
      cgroupLimitMb(files({ ...self, "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "9223372036854771712" })),
    ).toBeUndefined();
  });
});

test("no cgroup file at all, and one that holds something else, are no limit", () => {
  expect(cgroupLimitMb(files({}))).toBeUndefined();
  expect(cgroupLimitMb(files({ "/proc/self/cgroup": "0::/a", "/sys/fs/cgroup/memory.max": "lots" }))).toBeUndefined();
});

test("available is what the kernel says, not what is free", () => {
  expect(availableMb(files({ "/proc/meminfo": "MemTotal: 8000000 kB\nMemFree: 100000 kB\nMemAvailable:    7331840 kB\n" }))).toBe(7_160);
  expect(availableMb(files({}))).toBeGreaterThan(0);
});

describe("the weight of a model", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "mi-weight-"));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  test("is that of the graph and of the data beside it, under either name", async () => {
    expect(modelWeightMb(directory)).toBeUndefined();
    await writeFile(join(directory, "model.onnx"), Buffer.alloc(MIB));
    expect(modelWeightMb(directory)).toBe(1);
    await writeFile(join(directory, "model.onnx_data"), Buffer.alloc(2 * MIB));
    await writeFile(join(directory, "model.onnx.data"), Buffer.alloc(MIB));
    expect(modelWeightMb(directory)).toBe(4);
  });
  test("of an older cache", async () => {
    await writeFile(join(directory, "model_quantized.onnx"), Buffer.alloc(MIB));
    expect(modelWeightMb(directory)).toBe(1);
  });
});
