/** One npm package at one version, brought by npm, its tarball checked against a digest that stands in this repository. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.ts";

const CACHE = join(root, ".cache", "packages");

/** The digest that bun.lock names for `name@version`. @throws Error where it names none. */
export function lockedIntegrity(name: string, version: string): string {
  const line = readFileSync(join(root, "bun.lock"), "utf8")
    .split("\n")
    .find((candidate) => candidate.includes(`["${name}@${version}"`));
  const integrity = /"(sha512-[^"]+)"/.exec(line ?? "")?.[1];
  if (integrity === undefined) throw new Error(`bun.lock names no digest for ${name}@${version}`);
  return integrity;
}

/**
 * The folder of the unpacked package. npm is asked for the tarball and not to install it, since it refuses what is made for another platform.
 * @throws Error when npm cannot bring it, or when its digest is another; nothing of it is kept then.
 */
export function npmPackage(name: string, version: string, integrity: string): string {
  const folder = join(CACHE, `${name.replace("/", "-").replace("@", "")}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const work = mkdtempSync(join(CACHE, "part-"));
  try {
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const packed = Bun.spawnSync([npm, "pack", "--silent", "--pack-destination", work, `${name}@${version}`], {
      cwd: work,
      stderr: "inherit",
    });
    const tarball = readdirSync(work).find((file) => file.endsWith(".tgz"));
    if (packed.exitCode !== 0 || tarball === undefined) throw new Error(`npm could not bring ${name}@${version}`);
    const digest = `sha512-${createHash("sha512")
      .update(readFileSync(join(work, tarball)))
      .digest("base64")}`;
    if (digest !== integrity) throw new Error(`${name}@${version} has the digest ${digest}, expected ${integrity}; it was removed`);
    const unpacked = Bun.spawnSync(["tar", "-xzf", tarball], { cwd: work, stderr: "inherit" });
    if (unpacked.exitCode !== 0) throw new Error(`could not unpack ${name}@${version}`);
    renameSync(join(work, "package"), folder);
    return folder;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
