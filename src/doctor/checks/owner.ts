import { fail, ok, outsideCheck, warn } from "../check.ts";

export default outsideCheck("owner", async ({ owner, version, dataDirectory }) => {
  switch (owner.kind) {
    case "none":
      return ok(`no daemon runs for ${dataDirectory}; the next client starts one`);
    case "dead":
      return ok(`process ${owner.pid} is gone and left its lock; the next client takes over`);
    case "silent":
      return fail(
        `process ${owner.pid ?? "?"} holds ${dataDirectory} and does not answer`,
        "It is stopped, starting or overloaded. Look at it, or end it; the next client takes over.",
      );
    case "answers": {
      const how = owner.how === "auto" ? "started by a client" : `serve on ${owner.address ?? "its socket"}`;
      const detail = `process ${owner.pid}, version ${owner.version}, ${how}`;
      return owner.version === version
        ? ok(detail)
        : warn(`${detail}; this program is ${version}`, "Restart serve, or close the clients: the next one starts the newer program.");
    }
  }
});
