/** What a directory says of itself: asks git where there is git, and never fails because there is none. */
import { realpath, stat } from "node:fs/promises";
import type { WorkspaceFacts } from "../../domain/projects.ts";
import { git } from "./git.ts";

async function real(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return path;
  }
}

/**
 * Facts of the workspace around `directory`. A directory that is not on this machine is known by machine and path.
 * @param machine label of the caller's machine where it is another one.
 */
export async function inspectWorkspace(directory: string, machine: string | undefined): Promise<WorkspaceFacts> {
  const here = machine === undefined ? await stat(directory).catch(() => undefined) : undefined;
  if (here === undefined || !here.isDirectory()) return { top: directory, rootCommit: undefined, remote: undefined, machine };
  const found = await git(directory, ["rev-parse", "--path-format=absolute", "--show-toplevel", "--is-shallow-repository"]);
  const [top, shallow] = found?.split("\n") ?? [];
  if (top === undefined || top === "") return { top: await real(directory), rootCommit: undefined, remote: undefined, machine };
  const [first, remote] = await Promise.all([
    shallow === "false" ? git(directory, ["rev-list", "--max-parents=0", "--first-parent", "HEAD"]) : undefined,
    git(directory, ["config", "--get", "remote.origin.url"]),
  ]);
  // A first-parent line has one root; the last line is it should git ever print more.
  const rootCommit = first?.split("\n").at(-1);
  return {
    top: await real(top),
    rootCommit: rootCommit === "" ? undefined : rootCommit,
    remote: remote === "" ? undefined : remote,
    machine,
  };
}
