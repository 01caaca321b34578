/** Git repositories for tests, made without anybody's configuration. */
import path from "node:path";

/** Runs git in `directory`. @throws Error with git's own words. */
export async function git(directory: string, ...args: string[]): Promise<void> {
  const child = Bun.spawn({
    cmd: ["git", "-C", directory, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", ...args],
    stdout: "ignore",
    stderr: "pipe",
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
  });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`git ${args.join(" ")}: ${said}`);
}

/** A repository with one commit, which no other has. */
export async function repository(directory: string, remote: string | undefined): Promise<string> {
  await Bun.write(path.join(directory, "README"), `${directory} ${remote ?? ""}`);
  await git(directory, "init");
  if (remote !== undefined) await git(directory, "remote", "add", "origin", remote);
  await git(directory, "add", ".");
  await git(directory, "commit", "-m", `first of ${directory}`);
  return directory;
}
