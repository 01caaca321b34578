import { describe, expect, test } from "bun:test";
import { requirePath, resolvePaths } from "../../src/config/paths.ts";

const linux = { platform: "linux", workingDirectory: "/repo" };
const mac = { platform: "darwin", workingDirectory: "/repo" };
const windows = { platform: "win32", workingDirectory: "D:\\repo" };

describe("the home directory", () => {
  test("HOME wins over USERPROFILE, which counts alone; blank is unset", () => {
    expect(resolvePaths({ HOME: "/home/ana", USERPROFILE: "/other" }, linux).home).toBe("/home/ana");
    expect(resolvePaths({ HOME: " ", USERPROFILE: "C:\\Users\\Jane Doe" }, windows).home).toBe("C:\\Users\\Jane Doe");
  });
  test("HOMEDRIVE and HOMEPATH do not count", () => {
    expect(resolvePaths({ HOMEDRIVE: "H:", HOMEPATH: "\\jane" }, windows).home).toBeUndefined();
  });
  test("without one nothing falls back to the working directory, and writing is an error that names both variables", () => {
    const paths = resolvePaths({}, linux);
    expect([paths.dataDir, paths.cacheRoot, paths.configDir, paths.undoDir]).toEqual([undefined, undefined, undefined, undefined]);
    expect(() => requirePath(paths, "undoDir")).toThrow(/HOME and USERPROFILE are both unset.*nothing was written.*CUBA_UNDO_DIR/);
  });
});

describe("where things lie", () => {
  test("on Linux: XDG data directory, else ~/.local/share", () => {
    expect(resolvePaths({ HOME: "/home/ana" }, linux)).toMatchObject({
      dataDir: "/home/ana/.local/share/memory-industry",
      cacheRoot: "/home/ana/.cache/memory-industry",
      legacyCacheRoot: "/home/ana/.cache/cuba-memorys",
      configDir: "/home/ana/.config/memory-industry",
      serviceEnvDir: "/home/ana/.config/memory-industry",
      undoDir: "/home/ana/.cache/memory-industry/undo",
    });
    expect(resolvePaths({ HOME: "/home/ana", XDG_DATA_HOME: "/data" }, linux).dataDir).toBe("/data/memory-industry");
  });
  test("a relative XDG directory is invalid and does not count", () => {
    expect(resolvePaths({ HOME: "/home/ana", XDG_DATA_HOME: "data" }, linux).dataDir).toBe("/home/ana/.local/share/memory-industry");
  });
  test("on macOS: Application Support", () => {
    expect(resolvePaths({ HOME: "/Users/ana" }, mac).dataDir).toBe("/Users/ana/Library/Application Support/MemoryIndustry");
  });
  test("on Windows: Local and Roaming application data, blanks in user names kept", () => {
    const profile = "C:\\Users\\Jane Doe";
    expect(resolvePaths({ USERPROFILE: profile }, windows)).toMatchObject({
      dataDir: `${profile}\\AppData\\Local\\MemoryIndustry`,
      configDir: `${profile}\\AppData\\Roaming\\memory-industry`,
      serviceEnvDir: `${profile}\\AppData\\Local\\MemoryIndustry`,
    });
    expect(resolvePaths({ USERPROFILE: profile, LOCALAPPDATA: "E:\\Local" }, windows).dataDir).toBe("E:\\Local\\MemoryIndustry");
  });
});

describe("paths that a person typed", () => {
  test("~/ is the home directory, since a client's file has no shell", () => {
    expect(resolvePaths({ HOME: "/home/项目 ana" }, linux, { dataDir: "~/mem ory" }).dataDir).toBe("/home/项目 ana/mem ory");
  });
  test("a relative one counts from the working directory", () => {
    expect(resolvePaths({ HOME: "/home/ana" }, linux, { dataDir: "mem", undoDir: "../undo" })).toMatchObject({
      dataDir: "/repo/mem",
      undoDir: "/undo",
    });
  });
  test("they work without a home directory", () => {
    expect(requirePath(resolvePaths({}, linux, { undoDir: "/tmp/undo" }), "undoDir")).toBe("/tmp/undo");
  });
});
