import type { SocketAddress } from "../../kernel/kinds.ts";
import { command } from "../define.ts";
import { commandLine } from "../output.ts";

/** `npm start`: the server, and what to do with it in a few lines. */
export default command({
  name: "start",
  summary: "run the server and say how to use it",
  needs: "nothing",
  writes: "database",
  internal: true,
  args: {},
  run: async (_args, { host, out }) => {
    const running = host.runningServer();
    if (running !== undefined) {
      out.line(welcome(`MemoryIndustry already runs at ${running.url}/mcp (process ${running.pid}); nothing was started.`, host.typed));
      return 0;
    }
    const wanted = host.installation().httpAddress.value;
    const free = await isFree(wanted);
    const address = free ? wanted : { ...wanted, port: 0 };
    const remark = free ? "" : `\nPort ${wanted.port} is taken by another program, so this is another one.`;
    await host.serve({
      address,
      autoStarted: false,
      onReady: (url, database) => {
        const away =
          database === "up"
            ? ""
            : "\nIts database cannot be reached at the moment: nothing is stored until it can, and each call tries again.";
        out.line(welcome(`MemoryIndustry is running at ${url}/mcp. Ctrl-C stops it; the memories stay.${remark}${away}`, host.typed));
      },
    });
    return 0;
  },
});

/** True where nobody listens there. A free port may be taken a moment later; then serve says so itself. */
async function isFree({ host, port }: SocketAddress): Promise<boolean> {
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}

function welcome(state: string, typed: readonly string[]): string {
  const run = (...words: string[]) => commandLine(typed, words);
  return `
${state}

Connect a client, then restart it:
  Claude Code  ${run("setup", "claude", "--apply")}
  Cursor       ${run("setup", "cursor", "--apply")}
  Codex        ${run("setup", "codex", "--apply")}

Try it: tell your agent "remember that the API gateway listens on port 9090",
open a new session and ask "which port does the gateway use?". Or from here:
  ${run("save", "API gateway", "listens on port 9090")}
  ${run("search", "which port does the gateway use")}
`;
}
