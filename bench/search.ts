/** One search at 10,000 memories, words alone and with vectors, embedded: `bun bench/search.ts`. The same measurement as bench/growth.ts at one size. */
for (const extra of [[], ["--vectors"]]) {
  const run = Bun.spawnSync([process.execPath, `${import.meta.dir}/growth.ts`, "--sizes", "10000", ...extra, ...process.argv.slice(2)], {
    stdout: "inherit",
    stderr: "inherit",
  });
  if (run.exitCode !== 0) process.exitCode = run.exitCode;
}

export {};
