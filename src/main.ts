/** The program: no argument speaks MCP on stdio, the first word of others is a command. The only file that ends the process. */
const [word, ...rest] = process.argv.slice(2);

/** Each road is loaded when it is taken: a bridge never parses the server. */
async function run(): Promise<number> {
  if (word === undefined) return await (await import("./app/stdio.ts")).runStdio();
  if (word === "daemon" && rest.length === 0) return await (await import("./app/daemon.ts")).runAutoDaemon();
  const [{ runCli }, { processHost }] = await Promise.all([import("./cli/run.ts"), import("./app/host.ts")]);
  return await runCli([word, ...rest], processHost());
}

process.exitCode = await run();
// Nothing is left to do; a timer or a socket of a library must not keep the process.
process.exit();

export {};
