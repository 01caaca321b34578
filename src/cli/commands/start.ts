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
    const wanted = host.installation().httpAddress.value;
    const address = (await isFree(wanted)) ? wanted : { ...wanted, port: 0 };
    await host.serve({ address, autoStarted: false, onListening: (url) => out.line(welcome(url, host.program)) });
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

function welcome(url: string, program: readonly string[]): string {
  const run = (...words: string[]) => commandLine(program, words);
  return `
MemoryIndustry is running at ${url}/mcp. Ctrl-C stops it; the memories stay.

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
