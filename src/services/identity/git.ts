/** Asking git, where there is git: nothing of a repository is run, and its absence is no failure. */

/** Longest wait for one git command, milliseconds: walking a very long history for its first commit may take longer, and the remote names the project as well. */
const GIT_TIMEOUT_MS = 2_000;

/** Output of a git command in `directory`, without blanks around it; undefined where it fails, is missing or takes too long. */
export async function git(directory: string, args: readonly string[], timeoutMs = GIT_TIMEOUT_MS): Promise<string | undefined> {
  try {
    const child = Bun.spawn({
      // A repository must not choose programs for us to run.
      cmd: ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", directory, ...args],
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      timeout: timeoutMs,
    });
    const text = await new Response(child.stdout).text();
    return (await child.exited) === 0 ? text.trim() : undefined;
  } catch {
    // No git on PATH: a directory without a repository is known by its path.
    return undefined;
  }
}
