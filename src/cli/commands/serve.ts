import { usage } from "../../kernel/errors.ts";
import { address } from "../../kernel/kinds.ts";
import { maybePositional } from "../arguments.ts";
import { command } from "../define.ts";

export default command({
  name: "serve",
  summary: "run the daemon with its HTTP port, until it is told to stop",
  needs: "nothing",
  writes: "database",
  args: { addr: maybePositional(address, "ip:port to listen on; else CUBA_HTTP_ADDR, else 127.0.0.1:8787") },
  details: ["Off loopback a token is required: CUBA_HTTP_TOKEN, at least 32 characters."],
  run: async ({ addr }, { host }) => {
    const { httpAddress } = host.installation();
    // A wrong variable is not the fault of an argument that nobody typed, so it is named.
    if (addr === undefined && httpAddress.unreadable !== undefined)
      throw usage(httpAddress.unreadable.problem, { field: httpAddress.unreadable.variable });
    await host.serve({ address: addr ?? httpAddress.value, autoStarted: false });
    return 0;
  },
});
