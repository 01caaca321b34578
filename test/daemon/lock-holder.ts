/** A process of the tests: takes the owner lock of the directory in its first argument, says `owned` or `held`, and keeps it until killed. */
import { acquireOwnerLock } from "../../src/daemon/owner-lock.ts";
import { daemonPaths } from "../../src/daemon/paths.ts";

const [dataDir = "", mode = ""] = process.argv.slice(2);
const paths = daemonPaths({ dataDir, temporaryDir: "/tmp", platform: process.platform, uid: 0 });
const got = await acquireOwnerLock({ paths, version: "1.0.0", address: "auto" });
let child: ReturnType<typeof Bun.spawn> | undefined;
if (got.kind === "owned" && mode === "with-child") child = Bun.spawn(["sleep", "60"], { stdio: ["ignore", "ignore", "ignore"] });
process.stdout.write(`${got.kind} ${child?.pid ?? ""}\n`);
if (got.kind === "owned") setInterval(() => {}, 60_000);
