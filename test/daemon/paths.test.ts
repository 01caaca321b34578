import { describe, expect, test } from "bun:test";
import { daemonPaths, withoutPassword } from "../../src/daemon/paths.ts";

const place = { dataDir: "/home/a/.local/share/memory-industry", temporaryDir: "/tmp", platform: "linux", uid: 1000 } as const;

describe("where a daemon's files lie", () => {
  test("the embedded database's daemon has plain names beside it, and the directory itself is guarded", () => {
    expect(daemonPaths(place)).toEqual({
      dataDir: "/home/a/.local/share/memory-industry",
      lock: "/home/a/.local/share/memory-industry/daemon.lock",
      socket: "/home/a/.local/share/memory-industry/daemon.sock",
      socketDir: undefined,
      log: "/home/a/.local/share/memory-industry/daemon.log",
      guardedDir: "/home/a/.local/share/memory-industry",
    });
  });

  test("two databases never share a daemon, one database with two passwords does", () => {
    const named = (databaseUrl: string) => daemonPaths({ ...place, databaseUrl }).lock;
    const one = named("postgres://cuba:one@db.example/brain");
    expect(one).toMatch(/\/daemon-[0-9a-f]{16}\.lock$/);
    expect(named("postgres://cuba:two@db.example/brain")).toBe(one);
    expect(named("postgres://cuba@db.example/brain")).toBe(one);
    expect(named("postgres://cuba:one@db.example/other")).not.toBe(one);
    expect(named("postgres://cuba:one@db2.example/brain")).not.toBe(one);
    expect(named("postgres://eve:one@db.example/brain")).not.toBe(one);
    expect(daemonPaths({ ...place, databaseUrl: "postgres://cuba@db.example/brain" }).guardedDir).toBeUndefined();
  });

  test.each([
    ["postgres://u:p@h:5432/db?sslmode=require", "postgres://u@h:5432/db?sslmode=require"],
    ["postgres://u:p@ss@h/db", "postgres://u@h/db"],
    ["postgres://u:p@h1:1,h2:2/db?target_session_attrs=read-write", "postgres://u@h1:1,h2:2/db?target_session_attrs=read-write"],
    ["postgres://u@h/db?password=x&sslmode=require", "postgres://u@h/db?sslmode=require"],
    ["postgres://u@h/db?sslmode=require&password=x", "postgres://u@h/db?sslmode=require"],
    ["postgres://h/db", "postgres://h/db"],
  ])("%s without its password", (url, bare) => {
    expect(withoutPassword(url)).toBe(bare);
  });

  test("a socket path over the system's limit moves to the runtime directory, under a digest of its own", () => {
    const deep = (name: string) => ({ ...place, dataDir: `/home/a/${"d".repeat(90)}/${name}`, runtimeDir: "/run/user/1000" });
    const { socket, socketDir, lock } = daemonPaths(deep("x"));
    expect(socketDir).toBe("/run/user/1000/memory-industry");
    expect(socket).toMatch(/^\/run\/user\/1000\/memory-industry\/[0-9a-f]{16}\.sock$/);
    expect(lock).toBe(`/home/a/${"d".repeat(90)}/x/daemon.lock`);
    expect(daemonPaths(deep("y")).socket).not.toBe(socket);
  });

  test("the limit counts bytes: 107 on Linux, 103 on macOS", () => {
    // "/" + directory + "/daemon.sock": 12 bytes of name.
    const dir = (bytes: number) => `/${"d".repeat(bytes - 13)}`;
    expect(daemonPaths({ ...place, dataDir: dir(107) }).socketDir).toBeUndefined();
    expect(daemonPaths({ ...place, dataDir: dir(108) }).socketDir).toBe("/tmp/memory-industry-1000");
    expect(daemonPaths({ ...place, platform: "darwin", dataDir: dir(103) }).socketDir).toBeUndefined();
    expect(daemonPaths({ ...place, platform: "darwin", dataDir: dir(104) }).socketDir).toBe("/tmp/memory-industry-1000");
    expect(daemonPaths({ ...place, dataDir: `/${"界".repeat(40)}` }).socketDir).toBe("/tmp/memory-industry-1000");
  });

  test("directories that are too long themselves are passed over", () => {
    const paths = daemonPaths({ ...place, dataDir: dirOf(200), runtimeDir: dirOf(100), temporaryDir: dirOf(100) });
    expect(paths.socketDir).toBe("/tmp/memory-industry-1000");
  });

  test("Windows has a pipe named after the directory, whatever its case", () => {
    const windows = (dataDir: string) => daemonPaths({ ...place, platform: "win32", dataDir });
    expect(windows("C:\\Users\\Jane Doe\\MemoryIndustry").socket).toMatch(/^\\\\\.\\pipe\\memory-industry-[0-9a-f]{16}$/);
    expect(windows("C:\\Users\\Jane Doe\\MemoryIndustry").lock).toBe("C:\\Users\\Jane Doe\\MemoryIndustry\\daemon.lock");
    expect(windows("c:\\users\\jane doe\\memoryindustry").socket).toBe(windows("C:\\Users\\Jane Doe\\MemoryIndustry").socket);
  });
});

const dirOf = (bytes: number) => `/${"d".repeat(bytes - 1)}`;
